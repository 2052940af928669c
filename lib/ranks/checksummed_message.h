#ifndef TUNEONCE_LIB_RANKS_CHECKSUMMED_MESSAGE_H_
#define TUNEONCE_LIB_RANKS_CHECKSUMMED_MESSAGE_H_

#include <string>
#include <string_view>

#include "base/message.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

// What all messages between ranks have in common: a checksum at the end, and fields of a few types.

/// The body and its checksum.
TUNEONCE_API std::string WithChecksum(std::string body);
/// The body, if it is whole. REQUIRES: `bytes` outlives it. Errors: Internal for what was cut or changed.
TUNEONCE_API Result<std::string_view> Opened(const std::string& bytes);

inline MessageWriter& Write(MessageWriter& writer, const Fingerprint& fingerprint) {
  return writer.U64(fingerprint.high).U64(fingerprint.low);
}
inline Fingerprint ReadFingerprint(MessageReader& reader) {
  Fingerprint fingerprint;
  fingerprint.high = reader.U64();
  fingerprint.low = reader.U64();
  return fingerprint;
}

/// An error, by code and words.
inline void Write(MessageWriter& writer, const Status& why) { writer.Enum(why.code()).Text(why.message()); }
inline Status ReadStatus(MessageReader& reader) {
  const auto code = reader.Enum(StatusCode::kUnavailable);
  std::string words = reader.Text();
  return code == StatusCode::kOk ? InternalError(std::move(words)) : Status(code, std::move(words));
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_CHECKSUMMED_MESSAGE_H_
