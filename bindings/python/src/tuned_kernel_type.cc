#include "tuned_kernel_type.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <structmember.h>

#include <cstddef>
#include <memory>

#include "choice_object.h"
#include "kernel_call.h"
#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "python_status.h"
#include "store/memory_store.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/search_options.h"
#include "tuneonce/sqlite_store.h"
#include "tuneonce/timer.h"
#include "warmup_all.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

struct TunedKernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  KernelCaller* caller;
};

KernelCaller& CallerOf(PyObject* self) { return *reinterpret_cast<TunedKernelObject*>(self)->caller; }

/// Runs what may throw pybind11's or C++ exceptions, for C functions.
template <typename Function>
PyObject* Guarded(Function function) {
  try {
    return function().release().ptr();
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

/// The stream of `what(*args, stream=...)`, if one is given. False with an exception set.
bool ReadStream(const char* what, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords,
                std::optional<CUstream>* stream) {
  if (keywords != nullptr && PyTuple_GET_SIZE(keywords) > 0) {
    if (PyTuple_GET_SIZE(keywords) != 1 ||
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "stream") != 0) {
      PyErr_Format(PyExc_TypeError, "%s takes its arguments by position; the only keyword is stream", what);
      return false;
    }
    PyObject* given = arguments[count];
    if (given != Py_None) {
      try {
        *stream = StreamOf(given);
      } catch (py::error_already_set& e) {
        e.restore();
        return false;
      } catch (const py::builtin_exception& e) {
        e.set_error();
        return false;
      }
    }
  }
  return true;
}

PyObject* Vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  std::optional<CUstream> stream;
  if (!ReadStream("a tuned kernel", arguments, count, keywords, &stream)) return nullptr;
  return CallerOf(self).Call(arguments, count, stream);
}

PyObject* WarmupWith(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  std::optional<CUstream> stream;
  if (!ReadStream("warmup_with", arguments, count, keywords, &stream)) return nullptr;
  return CallerOf(self).WarmupWith(arguments, count, stream);
}

PyObject* RetuneWith(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  std::optional<CUstream> stream;
  if (!ReadStream("retune_with", arguments, count, keywords, &stream)) return nullptr;
  return CallerOf(self).RetuneWith(arguments, count, stream);
}

AutotunePolicy::Mode ModeNamed(const std::string& name) {
  if (name == "tune") return AutotunePolicy::Mode::kTune;
  if (name == "tune_in_background") return AutotunePolicy::Mode::kTuneInBackground;
  if (name == "stored_only") return AutotunePolicy::Mode::kStoredOnly;
  if (name == "baseline_only") return AutotunePolicy::Mode::kBaselineOnly;
  throw py::value_error("mode is 'tune', 'tune_in_background', 'stored_only' or 'baseline_only', not '" + name + "'");
}

AutotunePolicy::OnTuneError OnTuneErrorNamed(const std::string& name) {
  if (name == "use_baseline") return AutotunePolicy::OnTuneError::kUseBaseline;
  if (name == "raise") return AutotunePolicy::OnTuneError::kReturn;
  throw py::value_error("on_tune_error is 'use_baseline' or 'raise', not '" + name + "'");
}

RecordMatch MatchNamed(const std::string& name) {
  if (name == "exact") return RecordMatch::kExact;
  if (name == "other_driver") return RecordMatch::kOtherDriver;
  if (name == "other_device") return RecordMatch::kOtherDevice;
  throw py::value_error("weakest_match is 'exact', 'other_driver' or 'other_device', not '" + name + "'");
}

/// What disable_autotune was told, if it was called.
std::optional<bool> all_disabled;

/// Null, for the default one; or if the environment disables tuning, one in which it does not.
std::shared_ptr<Runtime> AnyhowEnabled() {
  if (!Runtime::Default()->environment().disable_autotune) return nullptr;
  static auto* const enabled = [] {
    RuntimeOptions options;
    options.environment = {{"DISABLE_AUTOTUNE", ""}};
    return new std::shared_ptr<Runtime>(ValueOrThrow(Runtime::Create(std::move(options))));
  }();
  return *enabled;
}

std::unique_ptr<KernelCaller> MakeCaller(const py::object& bundle, const std::string& device_name,
                                         const py::object& store, const std::string& mode,
                                         const std::optional<std::string>& timer, bool warm,
                                         const std::string& on_tune_error, const std::string& weakest_match,
                                         const std::string& shared_choice, bool quiet, std::size_t kept_inputs_bytes) {
  AutotunePolicy policy;
  policy.kept_inputs_bytes = kept_inputs_bytes;
  policy.on_tune_error = OnTuneErrorNamed(on_tune_error);
  policy.mode = ModeNamed(mode);
  if (all_disabled == true) policy.mode = AutotunePolicy::Mode::kBaselineOnly;
  if (all_disabled == false) policy.search.runtime = AnyhowEnabled();
  policy.search.quiet = quiet;
  policy.search.cache = warm ? CacheState::kWarm : CacheState::kDefault;
  policy.weakest_match = MatchNamed(weakest_match);
  policy.shared_choice = shared_choice;
  if (timer) policy.search.timer = TimerNamed(*timer);
  if (!store.is_none()) {
    std::string path = py::str(store);
    if (path == "memory") {
      policy.store = std::make_shared<MemoryStore>();
    } else {
      SqliteStoreOptions options;
      options.path = path;
      policy.store = ValueOrThrow(SqliteStore::Open(options));
    }
  }
  std::optional<Bundle> loaded;
  const Bundle* which = nullptr;
  if (py::isinstance<Bundle>(bundle)) {
    which = &bundle.cast<const Bundle&>();
  } else {
    which = &loaded.emplace(LoadBundle(bundle));
  }
  Device device = ValueOrThrow(OpenDevice(device_name));
  return ValueOrThrow(KernelCaller::Create(which->definition(), device, std::move(policy)));
}

PyObject* New(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return Guarded([&]() -> py::object {
    static const py::object* const make = [] {
      // pybind11 reads the keywords; what it returns is a raw pointer in a capsule, taken over below.
      auto function = [](const py::object& bundle, const std::string& device, const py::object& store,
                         const std::string& mode, const std::optional<std::string>& timer, bool warm,
                         const std::string& on_tune_error, const std::string& weakest_match,
                         const std::string& shared_choice, bool quiet, std::size_t kept_inputs_bytes) {
        return py::capsule(MakeCaller(bundle, device, store, mode, timer, warm, on_tune_error, weakest_match,
                                      shared_choice, quiet, kept_inputs_bytes)
                               .release());
      };
      return new py::object(py::cpp_function(
          function, py::name("TunedKernel"), py::arg("bundle"), py::arg("device") = "cuda", py::kw_only(),
          py::arg("store") = py::none(), py::arg("mode") = "tune", py::arg("timer") = py::none(),
          py::arg("warm") = false, py::arg("on_tune_error") = "use_baseline", py::arg("weakest_match") = "exact",
          py::arg("shared_choice") = "", py::arg("quiet") = true,
          py::arg("kept_inputs_bytes") = AutotunePolicy().kept_inputs_bytes));
    }();
    py::object capsule = py::reinterpret_steal<py::object>(PyObject_Call(make->ptr(), arguments, keywords));
    if (!capsule) throw py::error_already_set();
    auto* caller = static_cast<KernelCaller*>(capsule.cast<py::capsule>().get_pointer());
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) {
      delete caller;
      throw py::error_already_set();
    }
    auto* object = reinterpret_cast<TunedKernelObject*>(self);
    object->vectorcall = Vectorcall;
    object->caller = caller;
    return py::reinterpret_steal<py::object>(self);
  });
}

void Dealloc(PyObject* self) {
  KernelCaller* caller = reinterpret_cast<TunedKernelObject*>(self)->caller;
  // Unloading may wait for the device.
  Py_BEGIN_ALLOW_THREADS;
  delete caller;
  Py_END_ALLOW_THREADS;
  Py_TYPE(self)->tp_free(self);
}

PyObject* IsTuned(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  int tuned = CallerOf(self).IsTuned(arguments, count);
  return tuned < 0 ? nullptr : PyBool_FromLong(tuned);
}

/// Runs `run` without the GIL. Throws its error, or what a signal's handler raised meanwhile.
template <typename Function>
void WithoutGil(const Function& run) {
  Status status;
  {
    py::gil_scoped_release release;
    status = run();
  }
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  ThrowIfError(status);
}

PyObject* Warmup(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"shapes", "dtypes", "stream", "on_done", nullptr};
  PyObject *shapes = nullptr, *dtypes = Py_None, *stream = Py_None, *on_done = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OOO:warmup", const_cast<char**>(kNames), &shapes, &dtypes,
                                  &stream, &on_done) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> py::object {
    const KernelDefinition& definition = CallerOf(self).kernel().definition();
    std::vector<TunedKernel::Shape> list = ReadShapes(definition, shapes, dtypes);
    std::function<void(std::size_t, const Status&)> callback;
    if (on_done != Py_None) {
      callback = [&](std::size_t done, const Status& outcome) {
        py::gil_scoped_acquire gil;
        if (PyErr_Occurred() != nullptr) return;  // A signal's handler raised: that ends the warm-up.
        py::object error = outcome.ok() ? py::object(py::none()) : py::object(py::str(outcome.message()));
        py::reinterpret_borrow<py::function>(on_done)(done, error);
      };
    }
    CUstream where = StreamOf(stream);
    WithoutGil([&] { return CallerOf(self).Warmup(where, list, callback); });
    return py::none();
  });
}

PyObject* AtSafePoint(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"stream", nullptr};
  PyObject* stream = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:at_safe_point", const_cast<char**>(kNames), &stream) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> py::object {
    CUstream where = StreamOf(stream);
    WithoutGil([&] { return CallerOf(self).AtSafePoint(where); });
    return py::none();
  });
}

/// One shape, as ReadShapes takes it.
TunedKernel::Shape ShapeFrom(PyObject* self, PyObject* given, PyObject* dtypes) {
  py::list one;
  one.append(py::handle(given));
  return ReadShapes(CallerOf(self).kernel().definition(), one, dtypes).front();
}

PyObject* ChoiceOf(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  std::optional<CUstream> stream;
  if (!ReadStream("choice_of", arguments, count, keywords, &stream)) return nullptr;
  return Guarded([&]() -> py::object {
    Choice choice;
    bool is_shape = count > 0 && count <= 2 && PyDict_Check(arguments[0]) != 0;
    if (!is_shape) {
      if (!CallerOf(self).ChoiceOf(arguments, count, stream, &choice)) throw py::error_already_set();
      return ChoiceObject(choice);
    }
    TunedKernel::Shape shape = ShapeFrom(self, arguments[0], count == 2 ? arguments[1] : Py_None);
    WithoutGil([&] { return CallerOf(self).ChoiceOf(stream.value_or(nullptr), shape, &choice); });
    return ChoiceObject(choice);
  });
}

PyObject* Pin(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"shape", "config", "dtypes", "stored", nullptr};
  PyObject *given = nullptr, *config = nullptr, *dtypes = Py_None;
  int stored = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OO!|Op:pin", const_cast<char**>(kNames), &given, &PyDict_Type,
                                  &config, &dtypes, &stored) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> py::object {
    TunedKernel::Shape shape = ShapeFrom(self, given, dtypes);
    TunedKernel::NamedConfig named = NamedConfigOf(py::reinterpret_borrow<py::dict>(config));
    auto how_long = stored != 0 ? TunedKernel::PinFor::kStore : TunedKernel::PinFor::kProcess;
    WithoutGil([&] {
      return CallerOf(self).InContext([&](TunedKernel& kernel) { return kernel.Pin(shape, named, how_long); });
    });
    return py::none();
  });
}

PyObject* Unpin(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"shape", "dtypes", nullptr};
  PyObject *given = nullptr, *dtypes = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O:unpin", const_cast<char**>(kNames), &given, &dtypes) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> py::object {
    TunedKernel::Shape shape = ShapeFrom(self, given, dtypes);
    WithoutGil([&] { return CallerOf(self).InContext([&](TunedKernel& kernel) { return kernel.Unpin(shape); }); });
    return py::none();
  });
}

PyObject* Retune(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"shape", "dtypes", "stream", nullptr};
  PyObject *given = nullptr, *dtypes = Py_None, *stream = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|OO:retune", const_cast<char**>(kNames), &given, &dtypes,
                                  &stream) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> py::object {
    TunedKernel::Shape shape = ShapeFrom(self, given, dtypes);
    CUstream where = StreamOf(stream);
    WithoutGil([&] { return CallerOf(self).Retune(where, shape); });
    return py::none();
  });
}

PyObject* ReleaseRetired(PyObject* self, PyObject*) {
  Py_BEGIN_ALLOW_THREADS;  // Unloading may wait for the device.
  CallerOf(self).kernel().ReleaseRetired();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* Seal(PyObject* self, PyObject*) {
  CallerOf(self).kernel().Seal();
  Py_RETURN_NONE;
}

PyObject* SealedMisses(PyObject* self, PyObject*) {
  return Guarded([&] { return py::object(py::cast(CallerOf(self).kernel().sealed_misses())); });
}

PyObject* CountersOf(PyObject* self, PyObject*) {
  return Guarded([&]() -> py::object {
    Counters counters = CallerOf(self).kernel().counters();
    py::dict result;
    result["hits"] = counters.hits;
    result["tunes"] = counters.tunes;
    result["stored_hits"] = counters.stored_hits;
    result["waits"] = counters.waits;
    result["stand_ins"] = counters.stand_ins;
    result["sealed_misses"] = counters.sealed_misses;
    result["failed_tunes"] = counters.failed_tunes;
    result["capture_misses"] = counters.capture_misses;
    result["busy_elsewhere"] = counters.busy_elsewhere;
    result["waiting_keys"] = counters.waiting_keys;
    result["pinned_keys"] = counters.pinned_keys;
    result["kept_inputs_bytes"] = counters.kept_inputs_bytes;
    result["inputs_not_kept"] = counters.inputs_not_kept;
    result["loaded_kernels"] = counters.loaded_kernels;
    result["resident_entries"] = counters.resident_entries;
    result["tuning_seconds"] = counters.tuning_seconds;
    result["tuning_gpu_seconds"] = counters.tuning_gpu_seconds;
    return result;
  });
}

PyObject* GetName(PyObject* self, void*) {
  return PyUnicode_FromString(CallerOf(self).kernel().definition().name().c_str());
}

PyObject* GetDims(PyObject* self, void*) {
  return Guarded([&] { return py::object(py::tuple(py::cast(CallerOf(self).kernel().definition().dims()))); });
}

PyMethodDef methods[] = {
    {"is_tuned", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(IsTuned)), METH_FASTCALL,
     "is_tuned(*args) -> bool\n\nTrue if a call with such arguments would launch at once, without a search."},
    {"warmup", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Warmup)), METH_VARARGS | METH_KEYWORDS,
     "warmup(shapes, dtypes=None, stream=None, on_done=None)\n\nTunes or loads ahead: `shapes` are dicts by name of "
     "dims' extents, and where the bundle leaves them open of scalars' values and tensors' dtypes ('float16'); or "
     "sequences of extents in the order of `dims`. `dtypes` {tensor: dtype} is for all shapes; "
     "`on_done(number_done, error_or_None)` after each. Tensors and other scalars hold what the bundle declares."},
    {"warmup_with", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(WarmupWith)), METH_FASTCALL | METH_KEYWORDS,
     "warmup_with(*args, stream=None)\n\nTunes or loads ahead for such a call, on its arguments, without launching: "
     "for "
     "a kernel whose speed depends on its data."},
    {"at_safe_point", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(AtSafePoint)), METH_VARARGS | METH_KEYWORDS,
     "at_safe_point(stream=None)\n\nTunes what waits in mode 'tune_in_background', or looks it up again in "
     "'stored_only'. "
     "Nothing may capture, and no launch of yours may be in flight."},
    {"choice_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(ChoiceOf)), METH_FASTCALL | METH_KEYWORDS,
     "choice_of(*args, stream=None) -> Choice\n\nWhat such a call would run, why, and from where: nothing is launched, "
     "tuned or compiled. Or choice_of(shape, dtypes=None, stream=None), with a dict {dim: extent}."},
    {"pin", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Pin)), METH_VARARGS | METH_KEYWORDS,
     "pin(shape, config, dtypes=None, stored=False)\n\nFrom now on the shape's key runs `config`, {axis: value}: it is "
     "compiled now. stored: the store remembers it, too."},
    {"unpin", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Unpin)), METH_VARARGS | METH_KEYWORDS,
     "unpin(shape, dtypes=None)\n\nUndoes pin, in the store too."},
    {"retune", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Retune)), METH_VARARGS | METH_KEYWORDS,
     "retune(shape, dtypes=None, stream=None)\n\nSearches again, and puts what is found in the place of what is "
     "remembered."},
    {"retune_with", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(RetuneWith)), METH_FASTCALL | METH_KEYWORDS,
     "retune_with(*args, stream=None)\n\nThe same on the arguments of a call, which is not made."},
    {"release_retired", ReleaseRetired, METH_NOARGS,
     "release_retired()\n\nUnloads code that no key runs any more. No graph that holds it may be used again."},
    {"seal", Seal, METH_NOARGS, "seal()\n\nFrom now on nothing is tuned: misses launch the baseline and are counted."},
    {"sealed_misses", SealedMisses, METH_NOARGS, "sealed_misses() -> list of keys missed since seal()"},
    {"counters", CountersOf, METH_NOARGS, "counters() -> dict of what happened since the kernel was made"},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"name", GetName, nullptr, "The kernel's name.", nullptr},
                            {"dims", GetDims, nullptr, "The names of its dims.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TunedKernelObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

constexpr char kDoc[] =
    "TunedKernel(bundle, device='cuda', *, store=None, mode='tune', timer=None, warm=False, "
    "on_tune_error='use_baseline', weakest_match='exact', shared_choice='', quiet=True, kept_inputs_bytes=...)\n\n"
    "A kernel that tunes itself once per key and then launches at the cost of a plain launch.\n\n"
    "bundle: a Bundle or its folder. store: a file, 'memory', or None for the user's default store. Call it with the "
    "tensors and scalars of the bundle, in order, and optionally stream=: by default the framework's current stream.";

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(New)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {Py_tp_members, members},
                       {Py_tp_doc, const_cast<char*>(kDoc)},
                       {0, nullptr}};
PyType_Spec spec = {"tuneonce.TunedKernel", sizeof(TunedKernelObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};

PyTypeObject* kernel_type = nullptr;

}  // namespace

void DisableAutotune(bool disable) { all_disabled = disable; }

Timer* TimerNamed(const std::string& name) {
  static auto* const cupti = new CuptiTimer(Runtime::Default()->cupti());
  static auto* const events = new EventTimer;
  if (name == "cupti") return cupti;
  if (name == "events") return events;
  throw py::value_error("timer is 'cupti' or 'events', not '" + name + "'");
}

CUstream StreamOf(py::handle object) {
  if (object.is_none()) return nullptr;
  if (PyLong_Check(object.ptr()) != 0) return reinterpret_cast<CUstream>(PyLong_AsVoidPtr(object.ptr()));
  if (py::hasattr(object, "__cuda_stream__")) {
    auto pair = object.attr("__cuda_stream__")().cast<std::pair<int, std::uintptr_t>>();
    return reinterpret_cast<CUstream>(pair.second);
  }
  if (py::hasattr(object, "cuda_stream")) {
    return reinterpret_cast<CUstream>(object.attr("cuda_stream").cast<std::uintptr_t>());
  }
  throw py::type_error("a stream is an int, or an object with __cuda_stream__ or cuda_stream");
}

Bundle LoadBundle(const py::object& folder_or_name) {
  if (py::isinstance<py::str>(folder_or_name)) return ValueOrThrow(Bundle::Load(folder_or_name.cast<std::string>()));
  auto folder = py::module_::import("os").attr("fsdecode")(folder_or_name).cast<std::string>();
  if (folder.find('/') == std::string::npos) folder.insert(0, "./");  // pathlib drops it.
  return ValueOrThrow(Bundle::Load(folder));
}

KernelCaller* FindCaller(py::handle object) {
  bool is_kernel = kernel_type != nullptr && PyObject_TypeCheck(object.ptr(), kernel_type) != 0;
  return is_kernel ? &CallerOf(object.ptr()) : nullptr;
}

void AddTunedKernel(py::module_& module) {
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  kernel_type = reinterpret_cast<PyTypeObject*>(type);  // The module keeps it.
  module.add_object("TunedKernel", py::reinterpret_steal<py::object>(type));
}

}  // namespace tuneonce::python
