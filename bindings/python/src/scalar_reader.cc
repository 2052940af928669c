#include "scalar_reader.h"

#include <cstring>
#include <string_view>

#include "tuneonce/tensor_view.h"

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
      value = PyFloat_AsDouble(object_);
      if (value == -1 && PyErr_Occurred() != nullptr) return Refuse("a number");
    }
    return parameter_.dtype == DType::kFloat32 ? Put(static_cast<float>(value)) : Put(value);
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
    if (parameter_.dtype == DType::kUInt64) {
      PyObject* index = PyNumber_Index(object_);
      if (index == nullptr) return Refuse("an int");
      unsigned long long value = PyLong_AsUnsignedLongLong(index);
      Py_DECREF(index);
      return PyErr_Occurred() != nullptr ? Refuse("an int") : Put(static_cast<std::uint64_t>(value));
    }
    long long value = PyLong_AsLongLong(object_);
    if (value == -1 && PyErr_Occurred() != nullptr) return Refuse("an int");
    return PutInteger(value);
  }

 private:
  template <typename T>
  bool Put(T value) {
    *word_ = 0;
    std::memcpy(word_, &value, sizeof(value));
    return true;
  }

  bool PutInteger(long long value) {
    std::size_t bytes = DTypeBytes(parameter_.dtype);
    bool is_unsigned =
        parameter_.dtype == DType::kUInt8 || parameter_.dtype == DType::kUInt16 || parameter_.dtype == DType::kUInt32;
    long long most = bytes >= 8 ? INT64_MAX : (1ll << (8 * bytes - (is_unsigned ? 0 : 1))) - 1;
    long long least = is_unsigned ? 0 : -most - 1;
    if (value < least || value > most) {
      PyErr_Format(PyExc_OverflowError, "kernel '%s', parameter '%s': %lld does not fit %s", kernel_.c_str(),
                   parameter_.name.c_str(), value, std::string(DTypeName(parameter_.dtype)).c_str());
      return false;
    }
    *word_ = 0;
    std::memcpy(word_, &value, bytes);  // Little-endian.
    return true;
  }

  /// Says so, unless another error than a type's is set (a number that does not fit, say).
  bool Refuse(const char* expected) {
    if (PyErr_Occurred() == nullptr || PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
      PyErr_Format(PyExc_TypeError, "kernel '%s', parameter '%s': expected %s, got %s", kernel_.c_str(),
                   parameter_.name.c_str(), expected, Py_TYPE(object_)->tp_name);
    }
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
    case DType::kFloat32:
    case DType::kFloat64:
      return reader.ReadFloat();
    case DType::kBool:
      return reader.ReadBool();
    default:
      return reader.ReadInteger();
  }
}

}  // namespace tuneonce::python
