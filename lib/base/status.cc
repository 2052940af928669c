#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct Status::Error {
  StatusCode code;
  std::string message;
  int driver_code;
  bool sticky;
};

std::string_view StatusCodeName(StatusCode code) {
  static constexpr std::string_view kNames[] = {"OK",
                                                "Cancelled",
                                                "InvalidArgument",
                                                "DeadlineExceeded",
                                                "NotFound",
                                                "ResourceExhausted",
                                                "FailedPrecondition",
                                                "Unimplemented",
                                                "Internal",
                                                "Unavailable",
                                                "DataLoss"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(StatusCode::kDataLoss) + 1);
  return kNames[static_cast<std::size_t>(code)];
}

bool IsTransient(StatusCode code) {
  return code == StatusCode::kCancelled || code == StatusCode::kDeadlineExceeded ||
         code == StatusCode::kResourceExhausted || code == StatusCode::kUnavailable;
}

Status::Status(StatusCode code, std::string message)
    : error_(code == StatusCode::kOk ? nullptr
                                     : std::make_shared<const Error>(Error{code, std::move(message), 0, false})) {}

Status Status::FromDriver(StatusCode code, std::string message, int driver_code, bool sticky) {
  Status status;
  status.error_ = std::make_shared<const Error>(Error{code, std::move(message), driver_code, sticky});
  return status;
}

StatusCode Status::code() const { return error_ ? error_->code : StatusCode::kOk; }

const std::string& Status::message() const {
  static const std::string* const kEmpty = new std::string;  // Never destroyed: usable during exit.
  return error_ ? error_->message : *kEmpty;
}

int Status::driver_code() const { return error_ ? error_->driver_code : 0; }

bool Status::sticky() const { return error_ && error_->sticky; }

Status Status::WithPrefix(std::string_view prefix) const {
  if (ok()) return *this;
  return FromDriver(code(), absl::StrCat(std::string(prefix), ": ", message()), driver_code(), sticky());
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return absl::StrCat(std::string(StatusCodeName(code())), ": ", message());
}

void ReportUseOfFailedResult(const Status& status) {
  std::fprintf(stderr, "tuneonce: the value of a failed Result was used: %s; ask ok() first\n",
               status.ToString().c_str());
#ifndef NDEBUG
  std::abort();
#endif
}

}  // namespace v0
}  // namespace tuneonce
