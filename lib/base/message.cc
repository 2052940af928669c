#include "base/message.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {

bool MessageReader::Bool() { return UpTo(1) != 0; }

std::string_view MessageReader::Bytes() { return Take(U64()); }

std::size_t MessageReader::Count(std::size_t least_bytes) {
  std::uint64_t count = U64();
  if (count > rest_.size() / least_bytes) {
    Refuse(absl::StrCat("a message announces ", count, " elements, but ends after ", rest_.size(), " bytes"));
    return 0;
  }
  return static_cast<std::size_t>(count);
}

void MessageReader::Refuse(std::string why) {
  if (error_.ok()) error_ = InternalError(std::move(why));
  rest_ = {};
}

Status MessageReader::Done() {
  if (!rest_.empty()) Refuse(absl::StrCat("a message has ", rest_.size(), " more bytes than its fields need"));
  return error_;
}

std::uint32_t MessageReader::UpTo(std::uint32_t last) {
  std::uint32_t value = U32();
  if (value <= last) return value;
  Refuse(absl::StrCat("a message has the value ", value, " in a field whose maximum is ", last));
  return 0;
}

std::string_view MessageReader::Take(std::uint64_t count) {
  if (count > rest_.size()) {
    Refuse(absl::StrCat("a message ends after ", rest_.size(), " bytes of a field of ", count, " bytes"));
    return {};
  }
  std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(taken.size());
  return taken;
}

}  // namespace v0
}  // namespace tuneonce
