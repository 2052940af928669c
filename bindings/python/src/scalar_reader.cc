#include "scalar_reader.h"

#include <cstring>
#include <limits>
#include <string_view>

#include "strict_value.h"
#include "tuneonce/arguments.h"

namespace tuneonce::python {
namespace {

/// A tensor or array: it has a value that a conversion would fetch, from a GPU too, which waits for it.
bool IsTensor(PyObject* object) {
  return PyObject_HasAttrString(object, "__dlpack__") != 0 ||
         PyObject_HasAttrString(object, "__cuda_array_interface__") != 0;
}

/// numpy's truth value: of no type that Python knows.
bool IsNumpyBool(PyObject* object) {
  std::string_view type = Py_TYPE(object)->tp_name;
  return type == "numpy.bool" || type == "numpy.bool_";
}

/// numpy's complex numbers, whose conversion to float drops the imaginary part.
bool IsNumpyComplex(PyObject* object) {
  std::string_view type = Py_TYPE(object)->tp_name;
  return type.rfind("numpy.complex", 0) == 0 || type == "numpy.clongdouble";
}

class Reader {
 public:
  Reader(const std::string& kernel, const Parameter& parameter, PyObject* object, std::uint64_t* word)
      : kernel_(kernel), parameter_(parameter), object_(object), word_(word) {}

  bool ReadFloat() {
    double value = 0;
    if (PyFloat_CheckExact(object_)) {
      value = PyFloat_AS_DOUBLE(object_);
    } else {
      if (PyLong_CheckExact(object_) == 0 && IsTensor(object_)) return Refuse("a number, no tensor");
      if (IsNumpyComplex(object_)) return Refuse("a real number");
      value = PyFloat_AsDouble(object_);
      if (value == -1 && PyErr_Occurred() != nullptr) return Refuse("a number");
    }
    *word_ = 0;
    if (EncodeScalar(parameter_.dtype, value, word_)) return true;
    return RefuseValue();
  }

  bool ReadBool() {
    if (PyBool_Check(object_) != 0) return Put(object_ == Py_True);
    if (IsNumpyBool(object_)) return Put(PyObject_IsTrue(object_) == 1);
    if (PyLong_CheckExact(object_) != 0) {  // 0 and 1, as C has them.
      long value = PyLong_AsLong(object_);
      if (PyErr_Occurred() == nullptr && (value == 0 || value == 1)) return Put(value == 1);
      PyErr_Clear();
    }
    return Refuse("True or False");
  }

  bool ReadInteger() {
    if (PyLong_CheckExact(object_) == 0 && IsTensor(object_)) return Refuse("an int, no tensor");
    PyObject* index = PyNumber_Index(object_);
    if (index == nullptr) return Refuse("an int");
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index, &overflow);
    bool fits = overflow == 0;
    if (parameter_.dtype == DType::kUInt64 && overflow > 0) {
      fits = Put(std::uint64_t{PyLong_AsUnsignedLongLong(index)}) && PyErr_Occurred() == nullptr;
    } else if (fits) {
      fits = PutInteger(value);
    }
    Py_DECREF(index);
    return fits || RefuseValue();
  }

 private:
  template <typename T>
  bool Put(T value) {
    *word_ = 0;
    std::memcpy(word_, &value, sizeof(value));
    return true;
  }

  bool PutInteger(long long value) {
    switch (parameter_.dtype) {
      case DType::kInt8:
        return PutInteger<std::int8_t>(value);
      case DType::kUInt8:
        return PutInteger<std::uint8_t>(value);
      case DType::kInt16:
        return PutInteger<std::int16_t>(value);
      case DType::kUInt16:
        return PutInteger<std::uint16_t>(value);
      case DType::kInt32:
        return PutInteger<std::int32_t>(value);
      case DType::kUInt32:
        return PutInteger<std::uint32_t>(value);
      case DType::kInt64:
        return Put(value);
      case DType::kUInt64:
        return value >= 0 && Put(value);
      case DType::kAny:
      case DType::kBool:
      case DType::kFloat8E4M3:
      case DType::kFloat8E5M2:
      case DType::kFloat16:
      case DType::kBFloat16:
      case DType::kFloat32:
      case DType::kFloat64:
        return false;
    }
    return false;
  }

  template <typename Integer>
  bool PutInteger(long long value) {
    using Limits = std::numeric_limits<Integer>;
    return value >= Limits::min() && value <= Limits::max() && Put(static_cast<Integer>(value));
  }

  /// The object is of another type, unless an error of its own is set.
  bool Refuse(const char* expected) {
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_OverflowError) != 0) return RefuseValue();
    if (PyErr_Occurred() == nullptr || PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      PyErr_Format(PyExc_TypeError, "kernel '%s', parameter '%s': expected %s, got %s", kernel_.c_str(),
                   parameter_.name.c_str(), expected, Py_TYPE(object_)->tp_name);
    }
    return false;
  }

  /// The parameter's dtype does not hold the number.
  bool RefuseValue() {
    PyErr_Clear();
    const std::string shown = ShownValue(object_);
    PyErr_Format(PyExc_OverflowError, "kernel '%s', parameter '%s': %s does not fit %s", kernel_.c_str(),
                 parameter_.name.c_str(), shown.c_str(), std::string(DTypeName(parameter_.dtype)).c_str());
    return false;
  }

  const std::string& kernel_;
  const Parameter& parameter_;
  PyObject* object_;
  std::uint64_t* word_;
};

}  // namespace

bool ReadScalar(const std::string& kernel, const Parameter& parameter, PyObject* object, std::uint64_t* word) {
  Reader reader(kernel, parameter, object, word);
  switch (parameter.dtype) {
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return reader.ReadFloat();
    case DType::kBool:
      return reader.ReadBool();
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kUInt16:
    case DType::kInt32:
    case DType::kUInt32:
    case DType::kInt64:
    case DType::kUInt64:
      return reader.ReadInteger();
    case DType::kAny:  // No kernel's: a scalar has a dtype.
      break;
  }
  PyErr_Format(PyExc_SystemError, "kernel '%s', parameter '%s' has no dtype", kernel.c_str(), parameter.name.c_str());
  return false;
}

}  // namespace tuneonce::python
