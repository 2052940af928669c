#ifndef TUNEONCE_LIB_BASE_CALLBACK_H_
#define TUNEONCE_LIB_BASE_CALLBACK_H_

#include <exception>
#include <functional>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// True while a user's callback runs on this thread. Inline, since a hit reads and sets it.
inline thread_local bool inside_callback = false;

/// Launching from inside a callback is an error: it could wait for itself.
inline bool InsideCallback() { return inside_callback; }

/// Marks the calling thread as inside a callback for its lifetime.
class CallbackScope {
 public:
  // Inlined always: a copy of it in code that is compiled for size is not to be called by hits.
  [[gnu::always_inline]] CallbackScope() : outer_(std::exchange(inside_callback, true)) {}
  ~CallbackScope() { inside_callback = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  bool outer_;
};

/// True while a search runs a trial on this thread, and holds the right to measure.
inline thread_local bool inside_trial = false;

/// Returns whether the calling thread is inside a trial. Waiting for another search is an error there, because that
/// search may wait for this one.
inline bool InsideTrial() { return inside_trial; }

/// Marks the calling thread as inside a trial for its lifetime, and not inside a callback: a launcher may launch, what
/// needs no search.
class TrialScope {
 public:
  TrialScope()
      : outer_trial_(std::exchange(inside_trial, true)), outer_callback_(std::exchange(inside_callback, false)) {}
  ~TrialScope() {
    inside_trial = outer_trial_;
    inside_callback = outer_callback_;
  }
  TrialScope(const TrialScope&) = delete;
  TrialScope& operator=(const TrialScope&) = delete;

 private:
  bool outer_trial_;
  bool outer_callback_;
};

/// The return type of CallUser for a function that returns T: Result<T>, or T itself if it is a Status or Result.
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

/// A Status as an exception, for code on the path of a hit that has no other way to report an error.
struct StatusException {
  Status status;
};

/// Returns the exception that is being handled as an error "<what> threw: ...". An exception about memory or system
/// resources gets a transient code, and any other exception gets `code`. REQUIRES: inside a catch block.
inline Status StatusOfException(const std::string& what, StatusCode code) {
  try {
    throw;
  } catch (const StatusException& e) {
    return e.status.WithPrefix(what);
  } catch (const std::bad_alloc& e) {
    return ResourceExhaustedError(what + " threw: " + e.what());
  } catch (const std::system_error& e) {  // For example, a thread that cannot be created.
    return UnavailableError(what + " threw: " + e.what());
  } catch (const std::exception& e) {
    return Status(code, what + " threw: " + e.what());
  } catch (...) {
    return Status(code, what + " threw something that is not a std::exception");
  }
}

/// Calls user code and returns its result. An exception becomes an error "<what> threw: ..." (StatusOfException),
/// because no exception crosses this library's API.
template <typename Function>
auto CallForeign(const std::string& what, StatusCode code, Function&& function) ->
    typename CallUserResult<decltype(function())>::Type {
  CallbackScope scope;
  try {
    return std::forward<Function>(function)();
  } catch (...) {
    return StatusOfException(what, code);
  }
}

/// A function of the kernel's definition, or another one that the caller of this library passed in.
template <typename Function>
auto CallUser(const std::string& what, Function&& function) -> typename CallUserResult<decltype(function())>::Type {
  return CallForeign(what, StatusCode::kInvalidArgument, std::forward<Function>(function));
}

/// Runs `function` on the path of a hit. An exception from it becomes a StatusException that names what threw.
template <typename Function>
[[gnu::always_inline]] inline decltype(auto) Naming(const char* what, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (...) {
    throw StatusException{StatusOfException(what, StatusCode::kInvalidArgument)};
  }
}

/// Calls a progress callback, which may be empty. An exception from it is dropped, because it must not end the work.
template <typename Callback, typename... Arguments>
void TellProgress(const Callback& callback, const Arguments&... arguments) {
  if (!callback) return;
  CallbackScope scope;
  try {
    callback(arguments...);
  } catch (...) {
  }
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_CALLBACK_H_
