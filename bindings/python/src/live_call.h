#ifndef TUNEONCE_BINDINGS_PYTHON_LIVE_CALL_H_
#define TUNEONCE_BINDINGS_PYTHON_LIVE_CALL_H_

#include <Python.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "tuneonce/arguments.h"

namespace tuneonce::python {

struct LiveSignature;

/// The arguments of one call as words, by parameter of the decorated kernel.
struct ArgumentWords {
  static constexpr std::size_t kPerWord = 32;  ///< Parameters whose bits are in one word of `bits`.

  /// What a launch passes: a tensor's address, the lowest 64 bits of an int, 0 or 1 of a bool. Unset for other values.
  std::uint64_t values[kMaxParameters];
  /// Two bits for each parameter, the lower one first: the value is divisible by 16, the value is the int 1.
  std::uint64_t bits[kMaxParameters / kPerWord] = {};

  void SetInt(std::size_t parameter, std::uint64_t value) { Set(parameter, value, value == 1); }
  void SetAddress(std::size_t parameter, const void* address) {
    Set(parameter, reinterpret_cast<std::uintptr_t>(address), false);
  }

 private:
  static constexpr std::uint64_t kDivisor = 16;  // The only one for which code of its own is compiled.

  void Set(std::size_t parameter, std::uint64_t value, bool is_one) {
    values[parameter] = value;
    const std::uint64_t is_divisible = value % kDivisor == 0 ? 1 : 0;
    const std::size_t shift = parameter % kPerWord * 2;
    std::uint64_t& word = bits[parameter / kPerWord];
    word = (word & ~(std::uint64_t{3} << shift)) | (is_divisible | (is_one ? 2u : 0u)) << shift;
  }
};

/// One call of a decorated kernel, `kernel[grid](...)` or `kernel(...)`, as the kernel's launcher sees it. A launch
/// passes the object's address as a scalar, so that trials of a search, which run on other tensors, know the call that
/// they are for. The references are borrowed from the caller. Thread rule: needs the GIL.
class LiveCall {
 public:
  /// `arguments` has a value for each parameter of the kernel. It is null for one that the config or a heuristic gives.
  LiveCall(PyObject* grid_of_call, PyObject* const* arguments, const ArgumentWords& words_of_arguments,
           std::size_t num_arguments, int device_index, LiveSignature& signature_of_call)
      : grid(grid_of_call),
        values(arguments),
        words(words_of_arguments),
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

  /// While it exists, the launches of its thread that are for the call are launches on the call's own tensors by a
  /// thread that holds the GIL.
  class Hit {
   public:
    explicit Hit(const LiveCall& call) : outer_(std::exchange(hit_, &call)) {}
    ~Hit() { hit_ = outer_; }
    Hit(const Hit&) = delete;
    Hit& operator=(const Hit&) = delete;

   private:
    const LiveCall* outer_;  // A hit whose grid is a function that calls a kernel.
  };

  /// Returns the call at this address if it is the innermost Hit of this thread, else null. Needs no GIL.
  static const LiveCall* FindHit(std::uint64_t address) {
    return reinterpret_cast<std::uintptr_t>(hit_) == address ? hit_ : nullptr;
  }

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
  const ArgumentWords& words;     ///< What launches pass for them.
  const std::size_t count;        ///< Number of the kernel's parameters.
  /// The last exception that Python raised in a launch of the call.
  mutable std::optional<pybind11::error_already_set> exception;
  const int device;  ///< Index of the device that the tensors are on.
  LiveSignature& signature;

 private:
  static inline LiveCall* first_ = nullptr;  // The calls that run now, the latest first.
  static inline thread_local const LiveCall* hit_ = nullptr;
  LiveCall* next_;
  LiveCall* previous_ = nullptr;
};

}  // namespace tuneonce::python

#endif  // TUNEONCE_BINDINGS_PYTHON_LIVE_CALL_H_
