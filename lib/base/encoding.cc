#include "base/encoding.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {

bool Decoder::Bool() { return UpTo(1) != 0; }

std::string_view Decoder::Bytes() { return Take(U64()); }

Fingerprint Decoder::ReadFingerprint() {
  Fingerprint fingerprint;
  fingerprint.high = U64();
  fingerprint.low = U64();
  return fingerprint;
}

std::size_t Decoder::Count(std::size_t least_bytes) {
  std::uint64_t count = U64();
  if (count > rest_.size() / least_bytes) {
    Refuse(absl::StrCat(what_.name, " announces ", count, " elements, but ends after ", rest_.size(), " bytes"));
    return 0;
  }
  return static_cast<std::size_t>(count);
}

std::vector<std::string> Decoder::Texts() {
  std::vector<std::string> texts(Count(sizeof(std::uint64_t)));
  for (std::string& text : texts) text = Text();
  return texts;
}

void Decoder::Refuse(std::string why) {
  if (error_.ok()) error_ = Status(what_.code, std::move(why));
  rest_ = {};
}

Status Decoder::Done() {
  if (!rest_.empty()) Refuse(absl::StrCat(what_.name, " has ", rest_.size(), " more bytes than its fields need"));
  return error_;
}

std::uint32_t Decoder::UpTo(std::uint32_t last) {
  std::uint32_t value = U32();
  if (value <= last) return value;
  Refuse(absl::StrCat(what_.name, " has the value ", value, " in a field whose maximum is ", last));
  return 0;
}

std::string_view Decoder::Take(std::uint64_t count) {
  if (count > rest_.size()) {
    Refuse(absl::StrCat(what_.name, " ends after ", rest_.size(), " bytes of a field of ", count, " bytes"));
    return {};
  }
  std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(taken.size());
  return taken;
}

std::string WithChecksum(std::string body) {
  return body + Encoder().Add(Fingerprinter().Add(std::string_view(body)).Finish()).Take();
}

Result<std::string_view> WithoutChecksum(std::string_view bytes, EncodedWhat what) {
  constexpr std::size_t kChecksumBytes = sizeof(Fingerprint);
  if (bytes.size() < kChecksumBytes) return Status(what.code, absl::StrCat(what.name, " is truncated"));
  std::string_view body = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (Decoder(bytes.substr(body.size())).ReadFingerprint() != Fingerprinter().Add(body).Finish()) {
    return Status(what.code, absl::StrCat(what.name, " has a wrong checksum"));
  }
  return body;
}

}  // namespace v0
}  // namespace tuneonce
