#ifndef TUNEONCE_RESULT_H_
#define TUNEONCE_RESULT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Marks what a shared libtuneonce exports. The CMake target of the shared library defines TUNEONCE_SHARED. A static
/// libtuneonce exports nothing, so that one process can load several plugins that each contain a copy: compile those
/// with -fvisibility=hidden.
#ifdef TUNEONCE_SHARED
#define TUNEONCE_API [[gnu::visibility("default")]]
/// Marks functions of an exported class that only the library itself calls, and no inline function, so that they are
/// not exported. A host of a shared libtuneonce cannot call them, though some are public. Marks constants too, of which
/// every binary has its own copy.
#define TUNEONCE_LOCAL [[gnu::visibility("hidden")]]
#else
#define TUNEONCE_API
#define TUNEONCE_LOCAL
#endif

namespace tuneonce {
inline namespace v0 {

/// Kinds of errors. Names and meanings are those of gRPC's canonical codes, so that hosts with an Abseil or gRPC Status
/// can map them one to one.
enum class StatusCode {
  kOk,
  kCancelled,
  kInvalidArgument,  ///< The caller's input is invalid. Trying again without a change cannot help.
  kDeadlineExceeded,
  kNotFound,
  kResourceExhausted,   ///< Memory or another device resource is exhausted.
  kFailedPrecondition,  ///< The state of the system forbids the call (no current context, a capturing stream).
  kUnimplemented,
  kInternal,  ///< A driver or tool failed in a way that the caller did not cause.
  /// Something that the call needs is missing or does not answer: a driver, library, tool or store. For a missing
  /// driver, library or tool, the message states where it was searched.
  kUnavailable,
  kDataLoss,  ///< Data of the caller was overwritten and cannot be restored. The message names the tensors.
};

/// Returns the name of a code: "InvalidArgument", "Unavailable", ...
TUNEONCE_API std::string_view StatusCodeName(StatusCode code);
/// Returns whether an error of this kind may disappear when the call is made again later: memory, processes, threads or
/// time were short, a tool or a lock was unavailable, or the call was cancelled.
TUNEONCE_API bool IsTransient(StatusCode code);

/// The outcome of a call: success, or an error with a code and one clear line of text.
///
/// A success is a null pointer, so returning one on the hot path costs nothing. An error that came from the driver
/// keeps its CUresult number. Copies share the text. It has value semantics: threads may use distinct objects without a
/// lock.
class TUNEONCE_API [[nodiscard]] Status {
 public:
  /// Makes a success.
  Status() = default;
  /// Makes an error with one line of text. A code of kOk makes a success.
  Status(StatusCode code, std::string message);

  /// Makes an error that the driver reported. `driver_code` is the CUresult. `sticky` states that the context is lost:
  /// every later call on it fails with the same code (CUDA's "sticky" errors, such as 700).
  static Status FromDriver(StatusCode code, std::string message, int driver_code, bool sticky);

  bool ok() const { return error_ == nullptr; }
  StatusCode code() const;
  const std::string& message() const;
  /// Returns the CUresult that the driver reported, or 0 if the error did not come from the driver.
  int driver_code() const;
  /// Returns whether the error left the CUDA context lost, so that every later call on it fails.
  bool sticky() const;

  /// Returns the same error with "`prefix`: " before its message. A success stays a success.
  Status WithPrefix(std::string_view prefix) const;
  /// Returns the status as text: "OK", or "InvalidArgument: message".
  std::string ToString() const;

 private:
  struct Error;
  std::shared_ptr<const Error> error_;
};

/// The functions below make an error of the code in their name. They are not inlined, so that a function that may fail
/// stays as fast as without the error.
[[gnu::noinline]] inline Status CancelledError(std::string message) {
  return Status(StatusCode::kCancelled, std::move(message));
}
[[gnu::noinline]] inline Status InvalidArgumentError(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
[[gnu::noinline]] inline Status DeadlineExceededError(std::string message) {
  return Status(StatusCode::kDeadlineExceeded, std::move(message));
}
[[gnu::noinline]] inline Status NotFoundError(std::string message) {
  return Status(StatusCode::kNotFound, std::move(message));
}
[[gnu::noinline]] inline Status ResourceExhaustedError(std::string message) {
  return Status(StatusCode::kResourceExhausted, std::move(message));
}
[[gnu::noinline]] inline Status FailedPreconditionError(std::string message) {
  return Status(StatusCode::kFailedPrecondition, std::move(message));
}
[[gnu::noinline]] inline Status UnimplementedError(std::string message) {
  return Status(StatusCode::kUnimplemented, std::move(message));
}
[[gnu::noinline]] inline Status InternalError(std::string message) {
  return Status(StatusCode::kInternal, std::move(message));
}
[[gnu::noinline]] inline Status UnavailableError(std::string message) {
  return Status(StatusCode::kUnavailable, std::move(message));
}
[[gnu::noinline]] inline Status DataLossError(std::string message) {
  return Status(StatusCode::kDataLoss, std::move(message));
}

/// Writes to standard error that the value of a failed Result was used, and its error. A library that was built with
/// checks (without NDEBUG) then aborts.
TUNEONCE_API void ReportUseOfFailedResult(const Status& status);

/// A value of type T, or the error that prevented it.
///
/// REQUIRES for `value()`, `*` and `->`: `ok()`. Otherwise ReportUseOfFailedResult is called, and the behavior is
/// undefined after it, as with std::optional.
template <typename T>
class [[nodiscard]] Result {
 public:
  /// Makes a success.
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  /// Makes an error. REQUIRES: `!status.ok()`. An OK status becomes an Internal error.
  Result(Status status)  // NOLINT(google-explicit-constructor)
      : status_(status.ok() ? InternalError("a Result was made from an OK status without a value")
                            : std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & { return Check(), *value_; }
  const T& value() const& { return Check(), *value_; }
  T&& value() && { return Check(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void Check() const {
    if (__builtin_expect(!value_.has_value(), 0)) ReportUseOfFailedResult(status_);
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace v0
}  // namespace tuneonce

/// Returns from the enclosing function if `expression` (a Status) is an error.
#define TUNEONCE_RETURN_IF_ERROR(expression)                                            \
  do {                                                                                  \
    if (::tuneonce::Status tuneonce_returned = (expression); !tuneonce_returned.ok()) { \
      return tuneonce_returned;                                                         \
    }                                                                                   \
  } while (false)

#define TUNEONCE_CONCAT_INNER(a, b) a##b
#define TUNEONCE_CONCAT(a, b) TUNEONCE_CONCAT_INNER(a, b)

/// `TUNEONCE_ASSIGN_OR_RETURN(auto x, F());` declares x from F's Result, or returns F's error.
#define TUNEONCE_ASSIGN_OR_RETURN(declaration, expression) \
  TUNEONCE_ASSIGN_OR_RETURN_INNER(TUNEONCE_CONCAT(tuneonce_result_, __LINE__), declaration, expression)
#define TUNEONCE_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                            \
  if (!result.ok()) return result.status();                              \
  declaration = *std::move(result)

#endif  // TUNEONCE_RESULT_H_
