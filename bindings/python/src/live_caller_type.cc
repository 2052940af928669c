#include "live_caller_type.h"

#include <structmember.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "call_guard.h"
#include "live_caller.h"
#include "python_status.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

/// The memory of a `_GridCaller` or `_FunctionCaller` of Python's.
struct CallerObject {
  PyObject_HEAD LiveCaller* caller;  ///< Null before _set_up.
  vectorcallfunc vectorcall;         ///< Set by SetUp where the kernel is called as a function.
};

/// `kernel[grid]`, which is called with the kernel's arguments.
struct GridObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* kernel;
  PyObject* grid;
};

LiveCaller* LiveCallerOf(PyObject* kernel) { return reinterpret_cast<CallerObject*>(kernel)->caller; }

LiveCaller& SetUpCaller(PyObject* kernel) {
  if (LiveCallerOf(kernel) == nullptr) throw py::type_error("the kernel was not set up");
  return *LiveCallerOf(kernel);
}

PyTypeObject* grid_type = nullptr;
PyTypeObject* function_type = nullptr;

PyObject* CallGrid(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  auto* bound = reinterpret_cast<GridObject*>(self);
  return LiveCallerOf(bound->kernel)->Call(bound->grid, arguments, PyVectorcall_NARGS(flags), keywords);
}

PyObject* BindGrid(PyObject* kernel, PyObject* grid) {
  if (LiveCallerOf(kernel) == nullptr) {
    PyErr_SetString(PyExc_TypeError, "the kernel was not set up");
    return nullptr;
  }
  auto* bound = PyObject_New(GridObject, grid_type);
  if (bound == nullptr) return nullptr;
  bound->vectorcall = CallGrid;
  Py_INCREF(kernel);
  Py_INCREF(grid);
  bound->kernel = kernel;
  bound->grid = grid;
  return reinterpret_cast<PyObject*>(bound);
}

void DeallocGrid(PyObject* self) {
  auto* bound = reinterpret_cast<GridObject*>(self);
  Py_XDECREF(bound->kernel);
  Py_XDECREF(bound->grid);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

/// Called for a kernel that nothing but its own instances refers to.
int ClearCaller(PyObject* self) {
  delete std::exchange(reinterpret_cast<CallerObject*>(self)->caller, nullptr);
  return 0;
}

void DeallocCaller(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  ClearCaller(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int TraverseCaller(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return LiveCallerOf(self) == nullptr ? 0 : LiveCallerOf(self)->Traverse(visit, arg);
}

PyObject* CallFunction(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  return LiveCallerOf(self)->Call(nullptr, arguments, PyVectorcall_NARGS(flags), keywords);
}

PyObject* CallFunctionBeforeSetUp(PyObject*, PyObject* const*, std::size_t, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "the kernel was not set up");
  return nullptr;
}

PyObject* NewFunction(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = type->tp_alloc(type, 0);
  if (made != nullptr) reinterpret_cast<CallerObject*>(made)->vectorcall = CallFunctionBeforeSetUp;
  return made;
}

PyObject* SetUp(PyObject* self, PyObject* arguments) {
  return Guarded([&]() -> py::object {
    auto [parameters, device, keywords] =
        py::reinterpret_borrow<py::tuple>(arguments).cast<std::tuple<py::list, std::string, py::dict>>();
    const bool is_function = PyObject_TypeCheck(self, function_type) != 0;
    auto caller = std::make_unique<LiveCaller>(self, parameters, device, keywords, is_function);
    auto* object = reinterpret_cast<CallerObject*>(self);
    delete std::exchange(object->caller, caller.release());
    object->vectorcall = CallFunction;
    return py::none();
  });
}

/// Artifacts of the store hold what the next process needs beside the record.
Fingerprint StoreKeyOf(const std::string& name) { return Fingerprinter().Add("live call").Add(name).Finish(); }

PyObject* FindStored(PyObject* self, PyObject* name) {
  return Guarded([&]() -> py::object {
    std::shared_ptr<RecordStore> store = SetUpCaller(self).store();
    const Fingerprint key = StoreKeyOf(py::cast<std::string>(name));
    std::optional<Result<std::optional<Artifact>>> found;
    {
      py::gil_scoped_release release;
      found.emplace(store->GetArtifact(key));
    }
    if (!found->ok() || !(**found))
      return py::none();  // A store that cannot be read is reported by the lookup of records.
    return py::bytes((**found)->image);
  });
}

PyObject* PutIntoStore(PyObject* self, PyObject* arguments) {
  return Guarded([&]() -> py::object {
    auto [name, content] = py::reinterpret_borrow<py::tuple>(arguments).cast<std::pair<std::string, std::string>>();
    std::shared_ptr<RecordStore> store = SetUpCaller(self).store();
    Artifact artifact;
    artifact.image = content;
    artifact.symbol = "live call";
    artifact.toolchain = "live call";
    artifact.key = StoreKeyOf(name);
    py::gil_scoped_release release;
    // A store that cannot be written is reported where records are put.
    const Status ignored = store->PutArtifact(artifact.key, artifact);
    (void)ignored;
    py::gil_scoped_acquire acquire;
    return py::none();
  });
}

PyObject* IsDisabled(PyObject* self, PyObject*) {
  return Guarded([&]() -> py::object { return py::bool_(SetUpCaller(self).is_disabled()); });
}

PyObject* LastLaunch(PyObject* self, PyObject*) {
  return Guarded([&]() -> py::object {
    const LiveInstance* last = SetUpCaller(self).last();
    if (last == nullptr) return py::none();
    return py::make_tuple(last->description(), last->last_config());
  });
}

PyMethodDef caller_methods[] = {
    {"_set_up", SetUp, METH_VARARGS, "Sets the parameters, the device and the keywords of TunedKernel."},
    {"_find_stored", FindStored, METH_O, "Returns the bytes that the store has by this name, or None."},
    {"_store", PutIntoStore, METH_VARARGS, "Puts bytes into the store by a name."},
    {"_is_disabled", IsDisabled, METH_NOARGS, "Returns whether nothing is measured or stored."},
    {"_last_launch", LastLaunch, METH_NOARGS,
     "Returns (description, index of the config) of the last launch, or None."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CallerObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyMemberDef grid_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(GridObject, vectorcall), READONLY, nullptr},
                              {nullptr, 0, 0, 0, nullptr}};

}  // namespace

void AddLiveCaller(py::module_& module) {
  PyType_Slot grid_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(DeallocGrid)},
                              {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_members, grid_members},
                              {0, nullptr}};
  PyType_Spec grid_spec = {"tuneonce._tuneonce._LiveGrid", sizeof(GridObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, grid_slots};
  grid_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&grid_spec));
  if (grid_type == nullptr) throw py::error_already_set();
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(DeallocCaller)},
                         {Py_tp_traverse, reinterpret_cast<void*>(TraverseCaller)},
                         {Py_tp_clear, reinterpret_cast<void*>(ClearCaller)},
                         {Py_mp_subscript, reinterpret_cast<void*>(BindGrid)},
                         {Py_tp_methods, caller_methods},
                         {0, nullptr}};
  constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  PyType_Spec spec = {"tuneonce._tuneonce._GridCaller", sizeof(CallerObject), 0, kFlags, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  module.add_object("_GridCaller", py::reinterpret_steal<py::object>(type));
  PyType_Slot function_slots[] = {{Py_tp_new, reinterpret_cast<void*>(NewFunction)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(DeallocCaller)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(TraverseCaller)},
                                  {Py_tp_clear, reinterpret_cast<void*>(ClearCaller)},
                                  {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                  {Py_tp_members, function_members},
                                  {Py_tp_methods, caller_methods},
                                  {0, nullptr}};
  PyType_Spec function_spec = {"tuneonce._tuneonce._FunctionCaller", sizeof(CallerObject), 0,
                               kFlags | Py_TPFLAGS_HAVE_VECTORCALL, function_slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&function_spec));
  if (function_type == nullptr) throw py::error_already_set();
  module.attr("_FunctionCaller") = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(function_type));
}

}  // namespace tuneonce::python
