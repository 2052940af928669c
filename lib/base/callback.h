#ifndef TUNEONCE_LIB_BASE_CALLBACK_H_
#define TUNEONCE_LIB_BASE_CALLBACK_H_

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "tuneonce/base/result.h"

namespace tuneonce {

/// True while a user's callback runs on this thread. Inline, since a hit reads and sets it.
inline thread_local bool inside_callback = false;

/// Launching from inside a callback is an error: it could wait for itself.
inline bool InsideCallback() { return inside_callback; }

/// Marks the calling thread as inside a callback for its lifetime.
class CallbackScope {
 public:
  CallbackScope() : outer_(std::exchange(inside_callback, true)) {}
  ~CallbackScope() { inside_callback = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  bool outer_;
};

/// What CallUser gives for a function that returns T: Result<T>; a Status or Result as it is.
template <typename T>
struct CallUserResult {
  using Type = Result<T>;
};
template <>
struct CallUserResult<Status> {
  using Type = Status;
};
template <typename T>
struct CallUserResult<Result<T>> {
  using Type = Result<T>;
};

/// Calls a user's function and returns its result; an exception becomes InvalidArgument "<what> threw: ...", or what
/// may pass: ResourceExhausted (no memory), Unavailable (std::system_error: no thread, say). No exception crosses this
/// library's API.
template <typename Function>
auto CallUser(const std::string& what, Function&& function) -> typename CallUserResult<decltype(function())>::Type {
  CallbackScope scope;
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError(what + " threw std::bad_alloc: there is no memory");
  } catch (const std::system_error& e) {
    return UnavailableError(what + " threw: " + e.what());
  } catch (const std::exception& e) {
    return InvalidArgumentError(what + " threw: " + e.what());
  } catch (...) {
    return InvalidArgumentError(what + " threw something that is not a std::exception");
  }
}

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_CALLBACK_H_
