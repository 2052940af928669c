#ifndef TUNEONCE_BINDINGS_PYTHON_INITIALIZED_CASTER_H_
#define TUNEONCE_BINDINGS_PYTHON_INITIALIZED_CASTER_H_

#include <pybind11/pybind11.h>

#include <string>

namespace tuneonce::python {

/// Reads objects of a class of the module, as pybind11's own caster does, and throws a TypeError for one that
/// `T.__new__(T)` made: pybind11 would read memory that no constructor has written. To be the base of type_caster<T>.
template <typename T>
class InitializedCaster : public pybind11::detail::type_caster_base<T> {
 public:
  bool load(pybind11::handle source, bool may_convert) {
    if (source && pybind11::isinstance<T>(source)) {
      auto* instance = reinterpret_cast<pybind11::detail::instance*>(source.ptr());
      if (!instance->get_value_and_holder().holder_constructed()) {
        const std::string type = Py_TYPE(source.ptr())->tp_name;
        throw pybind11::type_error("the " + type + " was not initialized: its __init__ was not called");
      }
    }
    return pybind11::detail::type_caster_base<T>::load(source, may_convert);
  }
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_INITIALIZED_CASTER_H_
