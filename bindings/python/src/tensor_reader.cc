#include "tensor_reader.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace tuneonce::python {
namespace {

/// Types whose exchange tables are remembered: a framework's tensor, its parameter, and what a few more frameworks of a
/// process have.
constexpr std::size_t kRememberedTypes = 8;

constexpr char kReadOnly[] = "the array is read-only";

/// The newest version of `__cuda_array_interface__` whose fields are read here: its streams came with version 3.
constexpr long kCudaArrayVersion = 3;

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
  // Tables of another major version may lead to an older one.
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
  if (remembered[last].type == type) return remembered[last].api;  // Usually one comparison per argument.
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

/// A buffer's element format, as the struct module writes it: one letter, behind a sign of the byte order and alignment
/// where these are not the C compiler's ("=f": a field of packed records, an unaligned view, an array of JAX's). The
/// letter's size is `size`, whatever its sign.
DType DTypeOfFormat(std::string_view format, Py_ssize_t size) {
  const bool is_native = size == 1 || format.find_first_of(">!") == std::string_view::npos;
  if (format.size() == 2 && std::string_view("@=<^>!").find(format[0]) != std::string_view::npos)
    format.remove_prefix(1);
  if (format.size() != 1 || !is_native) return DType::kAny;
  const char letter = format[0];
  DlTypeCode code = std::strchr("bhilqn", letter) != nullptr   ? kDlInt
                    : std::strchr("BHILQN", letter) != nullptr ? kDlUInt
                    : std::strchr("efd", letter) != nullptr    ? kDlFloat
                                                               : kDlBool;
  if (code == kDlBool && letter != '?') return DType::kAny;
  return DTypeOfDl(DlType{code, static_cast<std::uint8_t>(8 * size), 1});
}

/// The dtype of that name in ml_dtypes, whose "float8_e4m3" is another one than ours.
DType DTypeOfName(std::string_view name) {
  return name == "bfloat16"        ? DType::kBFloat16
         : name == "float8_e4m3fn" ? DType::kFloat8E4M3
         : name == "float8_e5m2"   ? DType::kFloat8E5M2
                                   : DType::kAny;
}

/// The names that a call looks up, made once: making and hashing one takes longer than finding what it names.
struct Names {
  PyObject* cuda_array_interface = PyUnicode_InternFromString("__cuda_array_interface__");
  PyObject* dlpack = PyUnicode_InternFromString("__dlpack__");
  PyObject* typestr = PyUnicode_InternFromString("typestr");
  PyObject* shape = PyUnicode_InternFromString("shape");
  PyObject* strides = PyUnicode_InternFromString("strides");
  PyObject* data = PyUnicode_InternFromString("data");
  PyObject* version = PyUnicode_InternFromString("version");
  PyObject* mask = PyUnicode_InternFromString("mask");
  PyObject* stream = PyUnicode_InternFromString("stream");

  static const Names& Get() {  // Needs the GIL.
    static const auto* const names = new Names;
    return *names;
  }
};

/// Returns the attribute, or null: without an exception where the object lacks it, else with the one that was raised.
PyObject* FindAttribute(PyObject* object, PyObject* name) {
  PyObject* found = PyObject_GetAttr(object, name);
  if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) PyErr_Clear();
  return found;
}

/// True for numpy's masked arrays, whose buffer has the masked elements, too. Where one is, numpy.ma was imported.
bool IsMasked(PyObject* object) {
  if (std::strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") == 0) return false;
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* masked = PyDict_GetItemString(modules, "numpy.ma");
  PyObject* type = masked == nullptr ? nullptr : PyObject_GetAttrString(masked, "MaskedArray");
  const int is_masked = type == nullptr ? 0 : PyObject_IsInstance(object, type);
  Py_XDECREF(type);
  if (is_masked < 0 || type == nullptr) PyErr_Clear();
  return is_masked > 0;
}

bool TypeError(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  return false;
}

}  // namespace

std::string TensorRef::MemoryName() const {
  if (on_cuda()) return "CUDA";
  if (on_host()) return "host";
  switch (device_.type) {
    case kDlRocm:
      return "ROCm";
    case kDlOneApi:
      return "oneAPI";
    case kDlMetal:
      return "Metal";
    case kDlVulkan:
      return "Vulkan";
    default:
      return "other (DLPack device type " + std::to_string(device_.type) + ")";
  }
}

bool TensorRef::RefuseDl(const DlTensor& tensor) {
  if (tensor.ndim > kMaxRank) {
    return TypeError("a tensor of rank " + std::to_string(tensor.ndim) + "; at most " + std::to_string(kMaxRank) +
                     " is possible");
  }
  return TypeError("a tensor of a dtype that kernels do not take (DLPack code " + std::to_string(tensor.dtype.code) +
                   ", " + std::to_string(tensor.dtype.bits) + " bits)");
}

bool TensorRef::FromDl(const DlTensor& tensor) {
  view_.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view_.dtype = DTypeOfDl(tensor.dtype);
  if (tensor.ndim > kMaxRank || view_.dtype == DType::kAny) return RefuseDl(tensor);
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
  std::int64_t signs = 0;  // Negative if an extent or stride is.
  bool empty = false;
  for (std::size_t d = 0; d < static_cast<std::size_t>(view_.rank); ++d) {
    last += (view_.shape[d] - 1) * view_.strides[d];
    empty |= view_.shape[d] == 0;
    signs |= view_.shape[d] | view_.strides[d];
  }
  view_.bytes = empty ? 0 : static_cast<std::size_t>(last + 1) * element;
  return signs >= 0 || CheckLayout();
}

bool TensorRef::CheckLayout() {
  bool empty = false;
  int backwards = -1;  // A dimension in which the view goes back from its first element.
  for (int d = 0; d < view_.rank; ++d) {
    auto i = static_cast<std::size_t>(d);
    if (view_.shape[i] < 0) {
      return TypeError("dimension " + std::to_string(d) + " has the negative extent " + std::to_string(view_.shape[i]));
    }
    empty |= view_.shape[i] == 0;
    if (view_.strides[i] < 0 && view_.shape[i] > 1) backwards = d;
  }
  if (backwards < 0 || empty) return true;
  return TypeError("dimension " + std::to_string(backwards) + " has the negative stride " +
                   std::to_string(view_.strides[static_cast<std::size_t>(backwards)]) + ": pass a copy");
}

bool TensorRef::SetStride(int dimension, std::int64_t bytes, std::int64_t row_major, std::int64_t element) {
  auto i = static_cast<std::size_t>(dimension);
  if (view_.shape[i] <= 1 && bytes % element != 0) bytes = row_major;
  view_.strides[i] = bytes / element;
  if (bytes % element == 0) return true;
  return TypeError("dimension " + std::to_string(dimension) + " has a stride of " + std::to_string(bytes) +
                   " bytes, which is not a multiple of the elements' " + std::to_string(element) + ": pass a copy");
}

bool TensorRef::FromDlpack(PyObject* object) {
  PyObject* method = PyObject_GetAttr(object, Names::Get().dlpack);
  if (method == nullptr) return false;
  PyObject* arguments = PyTuple_New(0);
  PyObject* keywords = Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
  if (arguments != nullptr && keywords != nullptr) capsule_ = PyObject_Call(method, arguments, keywords);
  if (capsule_ == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // From before DLPack 1.0.
    PyErr_Clear();
    capsule_ = PyObject_CallNoArgs(method);
  }
  Py_XDECREF(keywords);
  Py_XDECREF(arguments);
  Py_DECREF(method);
  if (capsule_ == nullptr) return false;
  // The capsule is not consumed, so its own destructor frees its content after the call.
  if (PyCapsule_IsValid(capsule_, "dltensor")) {
    read_only_ =
        "the array may be read-only, which its __dlpack__ cannot state before DLPack 1.0; pass a numpy array of its "
        "memory";
    return FromDl(static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule_, "dltensor"))->tensor);
  }
  if (PyCapsule_IsValid(capsule_, "dltensor_versioned")) {
    auto* managed = static_cast<DlManagedTensorVersioned*>(PyCapsule_GetPointer(capsule_, "dltensor_versioned"));
    if ((managed->flags & kDlReadOnly) != 0) read_only_ = kReadOnly;
    if ((managed->flags & kDlIsCopied) != 0) read_only_ = "__dlpack__ gave a copy of the array";
    if (managed->version.major == 1) return FromDl(managed->tensor);
  }
  return TypeError("__dlpack__ gave a capsule of an unknown version");
}

bool TensorRef::FromBuffer(PyObject* object) {
  if (PyObject_GetBuffer(object, &buffer_, PyBUF_RECORDS_RO) != 0) return false;
  const char* format = buffer_.format == nullptr ? "B" : buffer_.format;  // The default of the buffer protocol.
  view_.data = buffer_.buf;
  view_.dtype = DTypeOfFormat(format, buffer_.itemsize);
  if (view_.dtype == DType::kAny) {
    return TypeError(
        std::string("an array of a dtype that kernels do not take (format '") + format + "'" +
        (std::strpbrk(format, ">!") != nullptr ? ", which is big-endian: pass a copy in native order)" : ")"));
  }
  if (buffer_.ndim > kMaxRank) return TypeError("an array of more than " + std::to_string(kMaxRank) + " dimensions");
  view_.rank = buffer_.ndim;
  std::int64_t row_major = buffer_.itemsize;
  for (int d = buffer_.ndim; d-- > 0;) {
    view_.shape[static_cast<std::size_t>(d)] = buffer_.shape[d];
    const std::int64_t stride = buffer_.strides != nullptr ? buffer_.strides[d] : row_major;  // Null from ctypes.
    if (!SetStride(d, stride, row_major, buffer_.itemsize)) return false;
    row_major *= buffer_.shape[d];
  }
  if (buffer_.readonly != 0) read_only_ = kReadOnly;
  return SetBytes(static_cast<std::size_t>(buffer_.itemsize));
}

bool TensorRef::FromNamedDType(PyObject* object) {
  PyObject* type = PyObject_GetAttrString(object, "dtype");
  PyObject* name = type == nullptr ? nullptr : PyObject_GetAttrString(type, "name");
  Py_XDECREF(type);
  const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8(name);
  const DType dtype = text == nullptr ? DType::kAny : DTypeOfName(text);
  Py_XDECREF(name);
  if (PyErr_Occurred() != nullptr) return false;
  if (dtype == DType::kAny) return TypeError("an array of a dtype that kernels do not take");
  PyObject* bits = PyObject_CallMethod(object, "view", "s", DTypeBytes(dtype) == 2 ? "uint16" : "uint8");
  if (bits == nullptr) return false;
  const bool is_read = FromBuffer(bits);
  Py_DECREF(bits);  // The buffer holds it.
  view_.dtype = dtype;
  return is_read;
}

bool TensorRef::ReadStream(PyObject* interface) {
  PyObject* stream = PyDict_GetItem(interface, Names::Get().stream);
  if (stream == nullptr || stream == Py_None) return true;
  if (!PyLong_Check(stream)) return TypeError("the stream of __cuda_array_interface__ must be an int or None");
  void* handle = PyLong_AsVoidPtr(stream);
  if (PyErr_Occurred() != nullptr) return false;
  producer_stream_ = static_cast<CUstream>(handle);  // The driver's own names of the default streams are 1 and 2.
  if (producer_stream_ != nullptr) return true;
  return TypeError(
      "the stream of __cuda_array_interface__ is 0, which is ambiguous: use 1 for the legacy default stream, or 2 for "
      "the per-thread one");
}

bool TensorRef::FromCudaArrayInterface(PyObject* interface) {
  capsule_ = interface;  // Kept for the call.
  if (!PyDict_Check(interface)) return TypeError("__cuda_array_interface__ is not a dict");
  const Names& names = Names::Get();
  PyObject* type = PyDict_GetItem(interface, names.typestr);
  PyObject* shape = PyDict_GetItem(interface, names.shape);
  PyObject* strides = PyDict_GetItem(interface, names.strides);
  PyObject* data = PyDict_GetItem(interface, names.data);
  PyObject* version = PyDict_GetItem(interface, names.version);
  if (type == nullptr || !PyUnicode_Check(type) || shape == nullptr || !PyTuple_Check(shape) || data == nullptr ||
      !PyTuple_Check(data) || PyTuple_Size(data) != 2 || version == nullptr || !PyLong_Check(version)) {
    return TypeError("__cuda_array_interface__ has no proper version, typestr, shape and data");
  }
  const long version_number = PyLong_AsLong(version);
  if (PyErr_Occurred() != nullptr) return false;
  if (version_number > kCudaArrayVersion) {
    return TypeError("__cuda_array_interface__ is of version " + std::to_string(version_number) + ", and " +
                     std::to_string(kCudaArrayVersion) + " is the newest that is known: pass the array by DLPack");
  }
  if (PyTuple_Size(shape) > kMaxRank) {
    return TypeError("an array of more than " + std::to_string(kMaxRank) + " dimensions");
  }
  PyObject* mask = PyDict_GetItem(interface, names.mask);
  if (mask != nullptr && mask != Py_None) {
    return TypeError("__cuda_array_interface__ has a mask, which kernels do not take: pass an array without one");
  }
  const int is_read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1));
  if (is_read_only < 0 || !ReadStream(interface)) return false;
  if (is_read_only != 0) read_only_ = kReadOnly;
  const char* type_text = PyUnicode_AsUTF8(type);
  if (type_text == nullptr) return false;
  view_.dtype = DTypeOfTypeString(type_text);
  if (view_.dtype == DType::kAny) {
    return TypeError(std::string("an array of a dtype that kernels do not take (typestr '") + type_text + "')");
  }
  auto element = static_cast<std::int64_t>(DTypeBytes(view_.dtype));
  view_.rank = static_cast<int>(PyTuple_Size(shape));
  const bool has_strides = strides != nullptr && strides != Py_None;
  if (has_strides && (PyTuple_Check(strides) == 0 || PyTuple_Size(strides) != view_.rank)) {
    return TypeError(
        "the strides of __cuda_array_interface__ must be None or a tuple of ints, one for each dimension: "
        "pass None for a row-major array");
  }
  std::int64_t row_major = element;
  for (int d = view_.rank; d-- > 0;) {
    auto i = static_cast<std::size_t>(d);
    view_.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    const std::int64_t stride = has_strides ? PyLong_AsLongLong(PyTuple_GetItem(strides, d)) : row_major;
    if (PyErr_Occurred() != nullptr || !SetStride(d, stride, row_major, element)) return false;
    row_major *= view_.shape[i];
  }
  view_.data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
  device_ = DlDevice{kDlCuda, -1};  // The index is unknown, so that of the context is used.
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
  if (PyObject* interface = FindAttribute(object, Names::Get().cuda_array_interface))
    return FromCudaArrayInterface(interface);
  if (PyErr_Occurred() != nullptr) return false;
  if (PyObject_CheckBuffer(object) != 0) {
    if (IsMasked(object)) {
      return TypeError("a masked array, and kernels do not take masks: pass its .data, or .filled(value)");
    }
    if (FromBuffer(object)) return true;
  } else if (PyObject* method = FindAttribute(object, Names::Get().dlpack)) {
    Py_DECREF(method);
  } else if (PyErr_Occurred() == nullptr) {
    TypeError(std::string("expected a tensor (torch, DLPack, __cuda_array_interface__ or numpy), got ") +
              Py_TYPE(object)->tp_name);
  }
  return ReadOtherwise(object);
}

bool TensorRef::ReadOtherwise(PyObject* object) {
  for (auto read : {&TensorRef::FromDlpack, &TensorRef::FromNamedDType}) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    Release();
    read_only_ = nullptr;
    const bool is_read = (this->*read)(object);
    // The first failure is reported, unless this one is no Exception: a signal handler's, which ends the call.
    if (!is_read && type != nullptr && PyErr_ExceptionMatches(PyExc_Exception) != 0) {
      PyErr_Restore(type, value, trace);
      continue;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    if (is_read || PyErr_ExceptionMatches(PyExc_Exception) == 0) return is_read;
  }
  return false;
}

}  // namespace tuneonce::python
