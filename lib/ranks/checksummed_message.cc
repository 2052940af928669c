#include "ranks/checksummed_message.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::size_t kChecksumBytes = 16;

}  // namespace

std::string WithChecksum(std::string body) {
  MessageWriter checksum;
  Write(checksum, Fingerprinter().Add(body).Finish());
  return body + checksum.Take();
}

Result<std::string_view> Opened(const std::string& bytes) {
  std::string_view all = bytes;
  if (all.size() < kChecksumBytes) return InternalError("a message was truncated");
  std::string_view body = all.substr(0, all.size() - kChecksumBytes);
  MessageReader checksum(all.substr(body.size()));
  if (ReadFingerprint(checksum) != Fingerprinter().Add(body).Finish())
    return InternalError("a message was truncated or changed");
  return body;
}

}  // namespace v0
}  // namespace tuneonce
