#include "ranks/sealed_message.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::size_t kSealBytes = 16;

}  // namespace

std::string Sealed(std::string body) {
  MessageWriter seal;
  Write(seal, Fingerprinter().Add(body).Finish());
  return body + seal.Take();
}

Result<std::string_view> Opened(const std::string& bytes) {
  std::string_view all = bytes;
  if (all.size() < kSealBytes) return InternalError("a message is cut");
  std::string_view body = all.substr(0, all.size() - kSealBytes);
  MessageReader seal(all.substr(body.size()));
  if (ReadFingerprint(seal) != Fingerprinter().Add(body).Finish()) return InternalError("a message is cut or changed");
  return body;
}

}  // namespace v0
}  // namespace tuneonce
