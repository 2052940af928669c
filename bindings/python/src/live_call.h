#ifndef TUNEONCE_BINDINGS_PYTHON_LIVE_CALL_H_
#define TUNEONCE_BINDINGS_PYTHON_LIVE_CALL_H_

#include <Python.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tuneonce::python {

struct LiveSignature;

/// One call of a decorated kernel, `kernel[grid](...)` or `kernel(...)`, as the kernel's launcher sees it. A launch
/// passes the object's address as a scalar, so that trials of a search, which run on other tensors, know the call that
/// they are for. The references are borrowed from the caller. Thread rule: needs the GIL.
class LiveCall {
 public:
  /// `arguments` has a value for each parameter of the kernel. It is null for one that the config or a heuristic gives.
  LiveCall(PyObject* grid_of_call, PyObject* const* arguments, std::size_t num_arguments, int device_index,
           LiveSignature& signature_of_call)
      : grid(grid_of_call),
        values(arguments),
        count(num_arguments),
        device(device_index),
        signature(signature_of_call),
        next_(first_) {
    if (first_ != nullptr) first_->previous_ = this;
    first_ = this;
  }
  ~LiveCall() {
    if (next_ != nullptr) next_->previous_ = previous_;
    (previous_ != nullptr ? previous_->next_ : first_) = next_;
  }
  LiveCall(const LiveCall&) = delete;
  LiveCall& operator=(const LiveCall&) = delete;

  /// Returns the call at this address, or null if it has ended.
  static const LiveCall* Find(std::uint64_t address) {
    for (const LiveCall* call = first_; call != nullptr; call = call->next_) {
      if (reinterpret_cast<std::uintptr_t>(call) == address) return call;
    }
    return nullptr;
  }

  /// A tuple of ints, or a function of the arguments by name that returns one. Null: the code has its grid.
  PyObject* const grid;
  PyObject* const* const values;  ///< The arguments, in the order of the kernel's parameters.
  const std::size_t count;        ///< Number of the kernel's parameters.
  /// The last exception that Python raised in a launch of the call.
  mutable std::optional<pybind11::error_already_set> exception;
  const int device;  ///< Index of the device that the tensors are on.
  LiveSignature& signature;

 private:
  static inline LiveCall* first_ = nullptr;  // The calls that run now, the latest first.
  LiveCall* next_;
  LiveCall* previous_ = nullptr;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_LIVE_CALL_H_
