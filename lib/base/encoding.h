#ifndef TUNEONCE_LIB_BASE_ENCODING_H_
#define TUNEONCE_LIB_BASE_ENCODING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Encodes data for files and for messages between processes (a host and its worker, or ranks): fields in the order in
/// which a Decoder reads them. Numbers have a fixed width and are little-endian; texts and bytes are preceded by their
/// length. Fields have no tags, so the version of a format or protocol must change with any of its fields.
class Encoder {
 public:
  Encoder& U32(std::uint32_t value) { return Raw(&value, sizeof(value)); }
  Encoder& U64(std::uint64_t value) { return Raw(&value, sizeof(value)); }
  Encoder& I64(std::int64_t value) { return Raw(&value, sizeof(value)); }
  Encoder& F64(double value) { return Raw(&value, sizeof(value)); }
  Encoder& Bool(bool value) { return U32(value ? 1 : 0); }
  template <typename Word>
  Encoder& Enum(Word value) {
    return U32(static_cast<std::uint32_t>(value));
  }
  Encoder& Text(std::string_view text) { return Bytes(text); }
  Encoder& Bytes(std::string_view bytes) {
    U64(bytes.size());
    body_.append(bytes);
    return *this;
  }
  Encoder& Add(const Fingerprint& fingerprint) { return U64(fingerprint.high).U64(fingerprint.low); }
  /// How many elements follow.
  Encoder& Count(std::size_t count) { return U64(count); }
  Encoder& Texts(const std::vector<std::string>& texts) {
    Count(texts.size());
    for (const std::string& text : texts) Text(text);
    return *this;
  }

  /// Returns the encoded body and leaves the encoder empty.
  std::string Take() { return std::move(body_); }

 private:
  Encoder& Raw(const void* value, std::size_t bytes) {
    body_.append(static_cast<const char*>(value), bytes);
    return *this;
  }

  std::string body_;
};

/// What is decoded, for errors.
struct EncodedWhat {
  const char* name = "a message";  ///< The text outlives the Decoder.
  StatusCode code = StatusCode::kInternal;
};

/// Decodes what an Encoder wrote, or arbitrary bytes from a file or another process. After the first missing or invalid
/// field everything reads as zero or empty, and `Done` returns an error. It reads nothing out of bounds, allocates no
/// more than the size of the body, and a loop over a `Count` ends.
class TUNEONCE_API Decoder {
 public:
  /// `body` outlives the decoder.
  explicit Decoder(std::string_view body, EncodedWhat what = {}) : rest_(body), what_(what) {}

  std::uint32_t U32() { return Raw<std::uint32_t>(); }
  std::uint64_t U64() { return Raw<std::uint64_t>(); }
  std::int64_t I64() { return Raw<std::int64_t>(); }
  double F64() { return Raw<double>(); }
  bool Bool();
  /// Reads a value of an enum, from 0 to `last`.
  template <typename Word>
  Word Enum(Word last) {
    return static_cast<Word>(UpTo(static_cast<std::uint32_t>(last)));
  }
  std::string Text() { return std::string(Bytes()); }
  /// A part of the body, uncopied.
  std::string_view Bytes();
  Fingerprint ReadFingerprint();
  /// Reads how many elements follow, each of which takes at least `least_bytes` bytes (1 or more). Returns 0 if the
  /// remaining bytes cannot hold that many.
  std::size_t Count(std::size_t least_bytes);
  std::vector<std::string> Texts();

  /// Rejects a field that was present but is invalid. Nothing more is read, and `Done` returns `why`.
  void Refuse(std::string why);

  bool ok() const { return error_.ok(); }
  /// Returns OK if all fields were present and no bytes remain. Errors: of EncodedWhat::code.
  Status Done();

 private:
  template <typename Number>
  Number Raw() {
    Number value{};
    std::string_view bytes = Take(sizeof(value));
    if (!bytes.empty()) bytes.copy(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }
  std::uint32_t UpTo(std::uint32_t last);
  std::string_view Take(std::uint64_t count);

  std::string_view rest_;
  EncodedWhat what_;
  Status error_;
};

/// Returns the body followed by a checksum of it.
std::string WithChecksum(std::string body);
/// Returns the body of what WithChecksum returned. REQUIRES: `bytes` outlives the result. Errors, of `what.code`:
/// `bytes` was truncated or changed.
Result<std::string_view> WithoutChecksum(std::string_view bytes, EncodedWhat what = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_ENCODING_H_
