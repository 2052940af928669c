#ifndef TUNEONCE_LIB_BASE_ENCODING_H_
#define TUNEONCE_LIB_BASE_ENCODING_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Encodes data for files: words and texts, little-endian as on every machine with an NVIDIA GPU, followed by a
/// checksum of everything.
class Encoder {
 public:
  Encoder& Add(std::uint64_t word) {
    out_.append(reinterpret_cast<const char*>(&word), sizeof(word));
    return *this;
  }
  Encoder& Add(std::int64_t value) { return Add(static_cast<std::uint64_t>(value)); }
  Encoder& Add(int value) { return Add(static_cast<std::int64_t>(value)); }
  Encoder& Add(double value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(word));
    return Add(word);
  }
  Encoder& Add(std::string_view text) {
    Add(static_cast<std::uint64_t>(text.size()));
    out_.append(text);
    return *this;
  }
  Encoder& Add(const Fingerprint& fingerprint) { return Add(fingerprint.high).Add(fingerprint.low); }

  /// Returns the encoded bytes without a checksum, to be embedded into data that has one.
  const std::string& Bytes() const { return out_; }

  std::string Finish() {
    Add(Fingerprinter().Add(std::string_view(out_)).Finish());
    return std::move(out_);
  }

 private:
  std::string out_;
};

/// Decodes what Encoder wrote. After the first missing field everything reads as zero or empty, and `Ended` returns
/// false.
class Decoder {
 public:
  /// Checks the checksum. `what`: "a stored artifact", for messages.
  static Result<Decoder> Open(std::string_view bytes, const std::string& what) {
    constexpr std::size_t kChecksumBytes = 2 * sizeof(std::uint64_t);
    if (bytes.size() < kChecksumBytes) return InvalidArgumentError(what + " is truncated");
    std::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
    Decoder checksum(bytes.substr(content.size()));
    if (checksum.ReadFingerprint() != Fingerprinter().Add(content).Finish()) {
      return InvalidArgumentError(what + " has a wrong checksum");
    }
    return Decoder(content);
  }

  /// Makes a decoder for the result of Encoder::Bytes.
  static Decoder OfPart(std::string_view bytes) { return Decoder(bytes); }

  std::uint64_t Word() {
    std::uint64_t word = 0;
    std::string_view bytes = Bytes(sizeof(word));
    if (!bytes.empty()) std::memcpy(&word, bytes.data(), sizeof(word));
    return word;
  }
  std::int64_t Int() { return static_cast<std::int64_t>(Word()); }
  double Double() {
    std::uint64_t word = Word();
    double value = 0;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }
  std::string Text() { return std::string(Bytes(Word())); }
  Fingerprint ReadFingerprint() {
    Fingerprint fingerprint;
    fingerprint.high = Word();
    fingerprint.low = Word();
    return fingerprint;
  }
  /// True if all was there, and nothing is left.
  bool Ended() const { return ok_ && bytes_.empty(); }
  std::uint64_t remaining() const { return ok_ ? bytes_.size() : 0; }

 private:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::string_view Bytes(std::uint64_t count) {
    if (!ok_ || count > bytes_.size()) {
      ok_ = false;
      return {};
    }
    std::string_view bytes = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(bytes.size());
    return bytes;
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_ENCODING_H_
