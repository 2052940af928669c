#include "tuned_kernel_type.h"

#include <structmember.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bundle_type.h"
#include "call_guard.h"
#include "kernel_call.h"
#include "policy_keywords.h"
#include "python_status.h"
#include "strict_value.h"
#include "tuned_kernel_object.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"

namespace tuneonce::python {
namespace {

namespace py = pybind11;

PyObject* Vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  std::optional<CUstream> stream;
  if (!ReadStream("a tuned kernel", arguments, count, keywords, &stream)) return nullptr;
  return CallerOf(self).Call(arguments, count, stream);
}

/// Returns the first two arguments, given by position or by name. Throws a TypeError for missing or additional ones.
std::pair<py::object, py::object> BundleAndDevice(PyObject* arguments, PyObject* keywords) {
  py::object read[] = {py::object(), py::str("cuda")};
  const char* const names[] = {"bundle", "device"};
  Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  if (count > 2) throw py::type_error("TunedKernel takes bundle and device by position, the others by name");
  for (Py_ssize_t i = 0; i < 2; ++i) {
    PyObject* named = keywords == nullptr ? nullptr : PyDict_GetItemString(keywords, names[i]);
    if (named != nullptr && i < count) throw py::type_error(std::string("TunedKernel got two values for ") + names[i]);
    if (named != nullptr) read[i] = py::reinterpret_borrow<py::object>(named);
    if (i < count) read[i] = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(arguments, i));
  }
  if (!read[0]) throw py::type_error("TunedKernel needs a bundle: a Bundle, a folder or a name");
  return {read[0], read[1]};
}

PyObject* New(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return Guarded([&]() -> py::object {
    auto [bundle, device_name] = BundleAndDevice(arguments, keywords);
    Device device = ValueOrThrow(OpenDevice(TextOf("device", device_name)));
    KernelKeywords read = ReadKernelKeywords(keywords);
    std::optional<Bundle> loaded;
    const Bundle& which =
        py::isinstance<Bundle>(bundle) ? bundle.cast<const Bundle&>() : loaded.emplace(LoadBundle(bundle));
    std::unique_ptr<KernelCaller> caller = ValueOrThrow(KernelCaller::Create(which, device, std::move(read.policy)));
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) throw py::error_already_set();
    auto* object = reinterpret_cast<TunedKernelObject*>(self);
    object->vectorcall = Vectorcall;
    object->caller = caller.release();
    object->observer = read.observer.get();
    return py::reinterpret_steal<py::object>(self);
  });
}

PyObject* Repr(PyObject* self) {
  return PyUnicode_FromFormat("<tuneonce.TunedKernel '%s'>", CallerOf(self).kernel().definition().name().c_str());
}

/// For Python's cycle collector: an observer may know its kernel.
int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  PythonObserver* observer = reinterpret_cast<TunedKernelObject*>(self)->observer;
  if (observer != nullptr) Py_VISIT(observer->object());
  return 0;
}

int Clear(PyObject* self) {
  PythonObserver* observer = reinterpret_cast<TunedKernelObject*>(self)->observer;
  if (observer != nullptr) observer->Clear();
  return 0;
}

void Dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  KernelCaller* caller = reinterpret_cast<TunedKernelObject*>(self)->caller;
  // Unloading may wait for the device.
  Py_BEGIN_ALLOW_THREADS;
  delete caller;
  Py_END_ALLOW_THREADS;
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(TunedKernelObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

/// With a signature, as Python reads it from the first lines.
std::string Doc() {
  return "TunedKernel(bundle, device='cuda', *" + KernelKeywordsSignature() +
         R"()
--

A kernel that tunes itself once per key and then launches at the cost of a plain launch.

bundle: a Bundle, its folder, or its name. Call the kernel with the tensors and scalars of the bundle, in order, and
optionally stream=: by default the framework's current stream.
device: 'cuda', 'cuda:1', 'cpu'.
)" + KernelKeywordsDoc();
}

PyTypeObject* kernel_type = nullptr;

}  // namespace

KernelCaller* FindCaller(py::handle object) {
  bool is_kernel = kernel_type != nullptr && PyObject_TypeCheck(object.ptr(), kernel_type) != 0;
  return is_kernel ? &CallerOf(object.ptr()) : nullptr;
}

void AddTunedKernel(py::module_& module) {
  std::string doc = Doc();  // Python copies it.
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(New)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
                         {Py_tp_repr, reinterpret_cast<void*>(Repr)},
                         {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_methods, tuned_kernel_methods},
                         {Py_tp_getset, tuned_kernel_properties},
                         {Py_tp_members, members},
                         {Py_tp_doc, doc.data()},
                         {0, nullptr}};
  PyType_Spec spec = {"tuneonce.TunedKernel", sizeof(TunedKernelObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw py::error_already_set();
  kernel_type = reinterpret_cast<PyTypeObject*>(type);  // The module keeps it.
  module.add_object("TunedKernel", py::reinterpret_steal<py::object>(type));
}

}  // namespace tuneonce::python
