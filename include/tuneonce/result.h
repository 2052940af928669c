#ifndef TUNEONCE_RESULT_H_
#define TUNEONCE_RESULT_H_

#include <optional>
#include <utility>

#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// A value of type T, or the error that prevented it.
///
/// REQUIRES for `value()`, `*` and `->`: `ok()`. Otherwise their behavior is undefined, as with std::optional.
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

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace v0
}  // namespace tuneonce

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
