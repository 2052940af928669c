#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <functional>
#include <string>
#include <vector>

#include "call_guard.h"
#include "kernel_call.h"
#include "launch_plan_object.h"
#include "python_signals.h"
#include "python_text.h"
#include "stream_argument.h"
#include "strict_value.h"
#include "tuned_kernel_object.h"
#include "tuneonce/tuned_kernel.h"
#include "warmup_all.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// A function of any of the signatures that Python has, as its method tables take it.
template <typename Function>
PyCFunction AnyFunction(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
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

PyObject* IsReady(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  int tuned = CallerOf(self).IsReady(arguments, count);
  return tuned < 0 ? nullptr : PyBool_FromLong(tuned);
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
      if (PyCallable_Check(on_done) == 0) ThrowWrongType("on_done", "a function (number_done, error_or_None)", on_done);
      callback = [&](std::size_t done, const Status& outcome) {
        py::gil_scoped_acquire gil;
        CallBack([&] {
          py::object error = outcome.ok() ? py::object(py::none()) : py::object(TextFrom(outcome.message()));
          py::reinterpret_borrow<py::object>(on_done)(done, error);
        });
      };
    }
    CUstream where = StreamOf(stream);
    WithoutGil([&] { return CallerOf(self).Warmup(where, list, callback); });
    return py::none();
  });
}

PyObject* TunePending(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"stream", nullptr};
  PyObject* stream = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:tune_pending", const_cast<char**>(kNames), &stream) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> py::object {
    CUstream where = StreamOf(stream);
    WithoutGil([&] { return CallerOf(self).TunePending(where); });
    return py::none();
  });
}

/// Reads one shape, as ReadShapes does.
TunedKernel::Shape ShapeFrom(PyObject* self, PyObject* given, PyObject* dtypes) {
  py::list one;
  one.append(py::handle(given));
  return ReadShapes(CallerOf(self).kernel().definition(), one, dtypes).front();
}

PyObject* Explain(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  std::optional<CUstream> stream;
  if (!ReadStream("explain", arguments, count, keywords, &stream)) return nullptr;
  return Guarded([&]() -> py::object {
    LaunchPlan plan;
    bool is_shape = count > 0 && count <= 2 && PyDict_Check(arguments[0]) != 0;
    if (!is_shape) {
      if (!CallerOf(self).Explain(arguments, count, stream, &plan)) throw py::error_already_set();
      return LaunchPlanObject(plan);
    }
    TunedKernel::Shape shape = ShapeFrom(self, arguments[0], count == 2 ? arguments[1] : Py_None);
    WithoutGil([&] { return CallerOf(self).Explain(stream.value_or(nullptr), shape, &plan); });
    return LaunchPlanObject(plan);
  });
}

PyObject* Pin(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* const kNames[] = {"shape", "config", "dtypes", "stored", nullptr};
  PyObject *given = nullptr, *config = nullptr, *dtypes = Py_None;
  PyObject* stored = Py_False;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OO!|OO:pin", const_cast<char**>(kNames), &given, &PyDict_Type,
                                  &config, &dtypes, &stored) == 0) {
    return nullptr;
  }
  return Guarded([&]() -> py::object {
    TunedKernel::Shape shape = ShapeFrom(self, given, dtypes);
    TunedKernel::NamedConfig named = NamedConfigOf(py::reinterpret_borrow<py::dict>(config));
    auto how_long = BoolOf("stored", stored) ? TunedKernel::PinFor::kStore : TunedKernel::PinFor::kProcess;
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

PyObject* Freeze(PyObject* self, PyObject*) {
  CallerOf(self).kernel().Freeze();
  Py_RETURN_NONE;
}

PyObject* FrozenMisses(PyObject* self, PyObject*) {
  return Guarded([&] { return py::object(py::cast(CallerOf(self).kernel().frozen_misses())); });
}

PyObject* CountersOf(PyObject* self, PyObject*) {
  return Guarded([&]() -> py::object {
    const Counters counters = CallerOf(self).kernel().counters();
    py::dict result, now;
    auto add = [&](const char* name, auto value) { result[name] = value; };
    VisitFields(add, counters);
    auto add_gauge = [&](const char* name, auto value) { now[name] = value; };
    VisitFields(add_gauge, counters.now);
    result["now"] = now;
    return result;
  });
}

PyObject* GetName(PyObject* self, void*) {
  return PyUnicode_FromString(CallerOf(self).kernel().definition().name().c_str());
}

PyObject* GetDims(PyObject* self, void*) {
  return Guarded([&] { return py::object(py::tuple(py::cast(CallerOf(self).kernel().definition().dims()))); });
}

}  // namespace

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

// Each text begins with the signature in the form that Python reads.
PyMethodDef tuned_kernel_methods[] = {
    {"is_ready", AnyFunction(IsReady), METH_FASTCALL,
     "is_ready($self, /, *args)\n--\n\nReturns whether the next call with such arguments is a hit of a selected "
     "config."},
    {"warmup", AnyFunction(Warmup), METH_VARARGS | METH_KEYWORDS,
     "warmup($self, /, shapes, dtypes=None, stream=None, on_done=None)\n--\n\nTunes or loads these shapes now, so that "
     "their calls "
     "are hits. Each of `shapes` is a dict of dims' extents, with scalars' values and tensors' dtypes ('float16') "
     "that the bundle leaves open, or a sequence of extents in the order of `dims`. `dtypes` {tensor: dtype} applies "
     "to "
     "all shapes. `on_done(number_done, error_or_None)` is called after each, and an exception from it ends the "
     "warm-up. Tensors and other scalars have the values that the bundle declares."},
    {"warmup_with", AnyFunction(WarmupWith), METH_FASTCALL | METH_KEYWORDS,
     "warmup_with($self, /, *args, stream=None)\n--\n\nTunes or loads the key of such a call on its arguments, without "
     "launching, for a kernel whose speed depends on its data."},
    {"tune_pending", AnyFunction(TunePending), METH_VARARGS | METH_KEYWORDS,
     "tune_pending($self, /, stream=None)\n--\n\nTunes all pending keys in mode 'tune_deferred', or looks them "
     "up again in 'stored_only'. No stream may capture, and no launch may be running."},
    {"explain", AnyFunction(Explain), METH_FASTCALL | METH_KEYWORDS,
     "explain($self, /, *args, stream=None)\n--\n\nReturns what such a call would run, why, and where the config "
     "comes from, as a LaunchPlan. Nothing is launched, tuned or compiled. explain(shape, dtypes=None) takes a dict "
     "{dim: "
     "extent} instead."},
    {"pin", AnyFunction(Pin), METH_VARARGS | METH_KEYWORDS,
     "pin($self, /, shape, config, dtypes=None, stored=False)\n--\n\nMakes the shape's key run `config`, {axis: "
     "value}, which is compiled now. With `stored` the store keeps it too."},
    {"unpin", AnyFunction(Unpin), METH_VARARGS | METH_KEYWORDS,
     "unpin($self, /, shape, dtypes=None)\n--\n\nRemoves a pin, in the store too."},
    {"retune", AnyFunction(Retune), METH_VARARGS | METH_KEYWORDS,
     "retune($self, /, shape, dtypes=None, stream=None)\n--\n\nSearches again for the shape's key, and replaces its "
     "config, in the store too."},
    {"retune_with", AnyFunction(RetuneWith), METH_FASTCALL | METH_KEYWORDS,
     "retune_with($self, /, *args, stream=None)\n--\n\nSearches again for the key of such a call, on its "
     "arguments, without launching."},
    {"release_retired", ReleaseRetired, METH_NOARGS,
     "release_retired($self, /)\n--\n\nUnloads code that no key runs any more. No graph that contains it may be "
     "used again."},
    {"freeze", Freeze, METH_NOARGS,
     "freeze($self, /)\n--\n\nEnds all tuning. Later misses run the fallback config and are counted."},
    {"frozen_misses", FrozenMisses, METH_NOARGS,
     "frozen_misses($self, /)\n--\n\nReturns the keys that missed since freeze() outside captures, as a list of "
     "texts."},
    {"counters", CountersOf, METH_NOARGS,
     "counters($self, /)\n--\n\nReturns the counters of events since the kernel was made, as a dict "
     "(tuneonce.Counters)."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef tuned_kernel_properties[] = {{"name", GetName, nullptr, "The kernel's name.", nullptr},
                                         {"dims", GetDims, nullptr, "The names of its dims.", nullptr},
                                         {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace tuneonce::python
