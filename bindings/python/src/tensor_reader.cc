#include "tensor_reader.h"

#include <cstddef>
#include <cstring>
#include <string>

#include "cuda/driver_api.h"

namespace tuneonce::python {
namespace {

/// Types whose exchange tables are remembered: a framework's tensor, its parameter, and what a few more frameworks of a
/// process have.
constexpr std::size_t kRememberedTypes = 8;

/// The exchange table that a type offers, of a version that is known here; or null.
const DlExchangeApi* FindExchangeApi(PyTypeObject* type) {
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (capsule == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  auto* api = static_cast<const DlExchangeApi*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  if (api == nullptr) PyErr_Clear();
  Py_DECREF(capsule);
  // Of another major version: newer tables may lead to an older one.
  while (api != nullptr && api->version.major != 1) api = api->older;
  return api != nullptr && api->tensor_from_object == nullptr ? nullptr : api;
}

/// The exchange table of an object's type, or null: looked up once per type. Needs the GIL; a type that was seen is
/// kept alive while it is remembered, so that its address cannot come back as another's.
const DlExchangeApi* ExchangeApiOf(PyObject* object) {
  struct Remembered {
    PyTypeObject* type;
    const DlExchangeApi* api;
  };
  static Remembered remembered[kRememberedTypes] = {};
  static std::size_t last = 0;
  static std::size_t oldest = 0;
  PyTypeObject* type = Py_TYPE(object);
  if (remembered[last].type == type) return remembered[last].api;  // One compare per argument, as a rule.
  for (std::size_t i = 0; i < kRememberedTypes; ++i) {
    if (remembered[i].type != type) continue;
    last = i;
    return remembered[i].api;
  }
  const DlExchangeApi* api = FindExchangeApi(type);
  PyTypeObject* forgotten = remembered[oldest].type;
  Py_INCREF(type);
  last = oldest;
  remembered[last] = {type, api};
  oldest = (oldest + 1) % kRememberedTypes;
  Py_XDECREF(forgotten);  // Last: it may run code.
  return api;
}

DType DTypeOfDl(DlType type) {
  if (type.lanes != 1) return DType::kAny;
  auto by_size = [&](DType one, DType two, DType four, DType eight) {
    return type.bits == 8    ? one
           : type.bits == 16 ? two
           : type.bits == 32 ? four
           : type.bits == 64 ? eight
                             : DType::kAny;
  };
  switch (type.code) {
    case kDlInt:
      return by_size(DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64);
    case kDlUInt:
      return by_size(DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64);
    case kDlFloat:
      return by_size(DType::kAny, DType::kFloat16, DType::kFloat32, DType::kFloat64);
    case kDlBfloat:
      return by_size(DType::kAny, DType::kBFloat16, DType::kAny, DType::kAny);
    case kDlBool:
      return by_size(DType::kBool, DType::kAny, DType::kAny, DType::kAny);
    case kDlFloat8E4M3Fn:
      return DType::kFloat8E4M3;
    case kDlFloat8E5M2:
      return DType::kFloat8E5M2;
    default:
      return DType::kAny;
  }
}

/// "<f4", "|b1": numpy's type strings, as __cuda_array_interface__ has them too.
DType DTypeOfTypeString(const char* text) {
  if (std::strlen(text) != 3 || text[0] == '>') return DType::kAny;
  int bits = 8 * (text[2] - '0');
  char kind = text[1];
  DlTypeCode code = kind == 'i' ? kDlInt : kind == 'u' ? kDlUInt : kind == 'f' ? kDlFloat : kDlBool;
  if (std::strchr("iufb", kind) == nullptr) return DType::kAny;
  return DTypeOfDl(DlType{code, static_cast<std::uint8_t>(bits), 1});
}

/// A buffer's element format, as the struct module writes it.
DType DTypeOfFormat(const char* format, Py_ssize_t size) {
  if (format == nullptr || std::strlen(format) != 1) return DType::kAny;
  DlTypeCode code = std::strchr("bhilqn", *format) != nullptr   ? kDlInt
                    : std::strchr("BHILQN", *format) != nullptr ? kDlUInt
                    : std::strchr("efd", *format) != nullptr    ? kDlFloat
                                                                : kDlBool;
  if (code == kDlBool && *format != '?') return DType::kAny;
  return DTypeOfDl(DlType{code, static_cast<std::uint8_t>(8 * size), 1});
}

bool TypeError(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  return false;
}

}  // namespace

void TensorRef::Release() {
  Py_XDECREF(capsule_);
  capsule_ = nullptr;
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
}

bool TensorRef::FromDl(const DlTensor& tensor) {
  if (tensor.ndim > kMaxRank) {
    return TypeError("a tensor of rank " + std::to_string(tensor.ndim) + "; at most " + std::to_string(kMaxRank) +
                     " is possible");
  }
  view_.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view_.dtype = DTypeOfDl(tensor.dtype);
  if (view_.dtype == DType::kAny) {
    return TypeError("a tensor of a dtype that kernels do not take (DLPack code " + std::to_string(tensor.dtype.code) +
                     ", " + std::to_string(tensor.dtype.bits) + " bits)");
  }
  view_.rank = tensor.ndim;
  std::int64_t row_major = 1;
  for (int d = tensor.ndim; d-- > 0;) {
    auto i = static_cast<std::size_t>(d);
    view_.shape[i] = tensor.shape[d];
    view_.strides[i] = tensor.strides != nullptr ? tensor.strides[d] : row_major;
    row_major *= tensor.shape[d];
  }
  device_ = tensor.device;
  return SetBytes(tensor.dtype.bits / 8u);
}

bool TensorRef::SetBytes(std::size_t element) {
  std::int64_t last = 0;
  bool empty = false;
  int backwards = -1;  // A dimension in which the view goes back from its first element.
  for (int d = 0; d < view_.rank; ++d) {
    auto i = static_cast<std::size_t>(d);
    last += (view_.shape[i] - 1) * view_.strides[i];
    empty |= view_.shape[i] == 0;
    if (view_.strides[i] < 0 && view_.shape[i] > 1) backwards = d;
  }
  view_.bytes = empty ? 0 : static_cast<std::size_t>(last + 1) * element;
  if (backwards < 0 || empty) return true;
  return TypeError("dimension " + std::to_string(backwards) + " has the negative stride " +
                   std::to_string(view_.strides[static_cast<std::size_t>(backwards)]) + ": pass a copy");
}

bool TensorRef::SetStride(int dimension, std::int64_t bytes, std::int64_t element) {
  view_.strides[static_cast<std::size_t>(dimension)] = bytes / element;
  if (bytes % element == 0) return true;
  return TypeError("dimension " + std::to_string(dimension) + " has a stride of " + std::to_string(bytes) +
                   " bytes, which is no multiple of the elements' " + std::to_string(element) + ": pass a copy");
}

bool TensorRef::FromDlpack(PyObject* object) {
  capsule_ = PyObject_CallMethod(object, "__dlpack__", nullptr);
  if (capsule_ == nullptr) return false;
  // The capsule stays unconsumed: its own destructor frees what it holds, when the call is over.
  if (PyCapsule_IsValid(capsule_, "dltensor")) {
    return FromDl(static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule_, "dltensor"))->tensor);
  }
  if (PyCapsule_IsValid(capsule_, "dltensor_versioned")) {
    auto* managed = static_cast<DlManagedTensorVersioned*>(PyCapsule_GetPointer(capsule_, "dltensor_versioned"));
    if (managed->version.major == 1) return FromDl(managed->tensor);
  }
  return TypeError("__dlpack__ gave a capsule of an unknown version");
}

bool TensorRef::FromBuffer(PyObject* object) {
  if (PyObject_GetBuffer(object, &buffer_, PyBUF_RECORDS_RO) != 0) return false;
  view_.data = buffer_.buf;
  view_.dtype = DTypeOfFormat(buffer_.format, buffer_.itemsize);
  if (view_.dtype == DType::kAny) {
    return TypeError(std::string("an array of a dtype that kernels do not take (format '") +
                     (buffer_.format == nullptr ? "?" : buffer_.format) + "')");
  }
  if (buffer_.ndim > kMaxRank) return TypeError("an array of more than " + std::to_string(kMaxRank) + " dimensions");
  view_.rank = buffer_.ndim;
  for (int d = 0; d < buffer_.ndim; ++d) {
    view_.shape[static_cast<std::size_t>(d)] = buffer_.shape[d];
    if (!SetStride(d, buffer_.strides[d], buffer_.itemsize)) return false;
  }
  is_writable_ = buffer_.readonly == 0;
  return SetBytes(static_cast<std::size_t>(buffer_.itemsize));
}

bool TensorRef::FromCudaArrayInterface(PyObject* interface) {
  capsule_ = interface;  // Kept for the call.
  if (!PyDict_Check(interface)) return TypeError("__cuda_array_interface__ is no dict");
  PyObject* type = PyDict_GetItemString(interface, "typestr");
  PyObject* shape = PyDict_GetItemString(interface, "shape");
  PyObject* strides = PyDict_GetItemString(interface, "strides");
  PyObject* data = PyDict_GetItemString(interface, "data");
  if (type == nullptr || !PyUnicode_Check(type) || shape == nullptr || !PyTuple_Check(shape) || data == nullptr ||
      !PyTuple_Check(data) || PyTuple_Size(data) != 2 || PyTuple_Size(shape) > kMaxRank) {
    return TypeError("__cuda_array_interface__ has no proper typestr, shape and data");
  }
  view_.dtype = DTypeOfTypeString(PyUnicode_AsUTF8(type));
  if (view_.dtype == DType::kAny) return TypeError("an array of a dtype that kernels do not take");
  auto element = static_cast<std::int64_t>(DTypeBytes(view_.dtype));
  view_.rank = static_cast<int>(PyTuple_Size(shape));
  bool has_strides = strides != nullptr && PyTuple_Check(strides) && PyTuple_Size(strides) == view_.rank;
  std::int64_t row_major = element;
  for (int d = view_.rank; d-- > 0;) {
    auto i = static_cast<std::size_t>(d);
    view_.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    if (!SetStride(d, has_strides ? PyLong_AsLongLong(PyTuple_GetItem(strides, d)) : row_major, element)) return false;
    row_major *= view_.shape[i];
  }
  view_.data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
  device_ = DlDevice{kDlCuda, -1};  // Not said; that of the context.
  return PyErr_Occurred() == nullptr && SetBytes(static_cast<std::size_t>(element));
}

bool TensorRef::Read(PyObject* object) {
  Release();
  api_ = ExchangeApiOf(object);
  if (api_ != nullptr) {
    DlTensor tensor;
    if (api_->tensor_from_object(object, &tensor) != 0) return false;
    return FromDl(tensor);
  }
  if (PyObject* interface = PyObject_GetAttrString(object, "__cuda_array_interface__")) {
    return FromCudaArrayInterface(interface);
  }
  PyErr_Clear();
  if (PyObject_CheckBuffer(object)) return FromBuffer(object);
  if (PyObject_HasAttrString(object, "__dlpack__")) return FromDlpack(object);
  return TypeError(std::string("expected a tensor (torch, DLPack, __cuda_array_interface__ or numpy), got ") +
                   Py_TYPE(object)->tp_name);
}

}  // namespace tuneonce::python
