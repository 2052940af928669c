#ifndef TUNEONCE_BINDINGS_PYTHON_TRITON_CALL_H_
#define TUNEONCE_BINDINGS_PYTHON_TRITON_CALL_H_

#include <Python.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tuneonce::python {

/// One call of a Triton kernel, `kernel[grid](...)`, as the kernel's launcher sees it. A launch passes the object's
/// address as a scalar, so that trials of a search, which run on other tensors, know the call that they are for. The
/// references are borrowed from the caller. Thread rule: needs the GIL.
class TritonCall {
 public:
  /// `arguments` has a value for each parameter of the kernel. It is null for one that the config or a heuristic gives.
  TritonCall(PyObject* grid_of_call, PyObject* const* arguments, std::size_t num_arguments, int device_index)
      : grid(grid_of_call), values(arguments), count(num_arguments), device(device_index), next_(first_) {
    if (first_ != nullptr) first_->previous_ = this;
    first_ = this;
  }
  ~TritonCall() {
    if (next_ != nullptr) next_->previous_ = previous_;
    (previous_ != nullptr ? previous_->next_ : first_) = next_;
  }
  TritonCall(const TritonCall&) = delete;
  TritonCall& operator=(const TritonCall&) = delete;

  /// Returns the call at this address, or null if it has ended.
  static const TritonCall* Find(std::uint64_t address) {
    for (const TritonCall* call = first_; call != nullptr; call = call->next_) {
      if (reinterpret_cast<std::uintptr_t>(call) == address) return call;
    }
    return nullptr;
  }

  PyObject* const grid;           ///< A tuple of ints, or a function of the arguments by name that returns one.
  PyObject* const* const values;  ///< The arguments, in the order of the kernel's parameters.
  const std::size_t count;        ///< Number of the kernel's parameters.
  /// The last exception that Python raised in a launch of the call.
  mutable std::optional<pybind11::error_already_set> exception;
  const int device;  ///< Index of the device that the tensors are on.

 private:
  static inline TritonCall* first_ = nullptr;  // The calls that run now, the latest first.
  TritonCall* next_;
  TritonCall* previous_ = nullptr;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_TRITON_CALL_H_
