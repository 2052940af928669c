#include "tuneonce/compile/artifact.h"

#include <cstring>

namespace tuneonce {
namespace {

constexpr std::uint64_t kVersion = 0x74756e656f310001;  // "tuneo1", format 1.

void AppendWord(std::uint64_t word, std::string* out) {
  out->append(reinterpret_cast<const char*>(&word), sizeof(word));
}

void AppendText(std::string_view text, std::string* out) {
  AppendWord(text.size(), out);
  out->append(text);
}

Fingerprint Checksum(std::string_view bytes) { return Fingerprinter().Add(bytes).Finish(); }

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t Word() {
    std::uint64_t word = 0;
    std::string_view bytes = Bytes(sizeof(word));
    if (!bytes.empty()) std::memcpy(&word, bytes.data(), sizeof(word));
    return word;
  }
  std::string Text() { return std::string(Bytes(Word())); }
  bool Ended() const { return ok_ && bytes_.empty(); }
  std::uint64_t remaining() const { return ok_ ? bytes_.size() : 0; }

 private:
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

}  // namespace

std::string EncodeArtifact(const Artifact& artifact) {
  std::string out;
  out.reserve(artifact.image.size() + artifact.log.size() + 512);
  AppendWord(kVersion, &out);
  AppendText(artifact.image, &out);
  AppendText(artifact.symbol, &out);
  AppendText(artifact.log, &out);
  AppendWord(artifact.kernels.size(), &out);
  for (const std::string& kernel : artifact.kernels) AppendText(kernel, &out);
  std::uint64_t seconds = 0;
  std::memcpy(&seconds, &artifact.seconds, sizeof(seconds));
  AppendWord(seconds, &out);
  AppendWord(static_cast<std::uint64_t>(artifact.resources.registers), &out);
  AppendWord(static_cast<std::uint64_t>(artifact.resources.shared_bytes), &out);
  AppendWord(static_cast<std::uint64_t>(artifact.resources.local_bytes), &out);
  AppendWord(artifact.code_fingerprint.high, &out);
  AppendWord(artifact.code_fingerprint.low, &out);
  Fingerprint checksum = Checksum(out);
  AppendWord(checksum.high, &out);
  AppendWord(checksum.low, &out);
  return out;
}

Result<Artifact> DecodeArtifact(std::string_view bytes) {
  constexpr std::size_t kChecksumBytes = 2 * sizeof(std::uint64_t);
  if (bytes.size() < kChecksumBytes) return InvalidArgumentError("a stored artifact is cut");
  std::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
  Decoder tail(bytes.substr(content.size()));
  Fingerprint checksum;
  checksum.high = tail.Word();
  checksum.low = tail.Word();
  if (checksum != Checksum(content)) return InvalidArgumentError("a stored artifact's checksum is wrong");
  Decoder decoder(content);
  if (decoder.Word() != kVersion) return InvalidArgumentError("a stored artifact is of another version");
  Artifact artifact;
  artifact.image = decoder.Text();
  artifact.symbol = decoder.Text();
  artifact.log = decoder.Text();
  std::uint64_t num_kernels = decoder.Word();
  for (std::uint64_t i = 0; i < num_kernels && decoder.remaining() > 0; ++i) artifact.kernels.push_back(decoder.Text());
  std::uint64_t seconds = decoder.Word();
  std::memcpy(&artifact.seconds, &seconds, sizeof(seconds));
  artifact.resources.registers = static_cast<int>(decoder.Word());
  artifact.resources.shared_bytes = static_cast<std::int64_t>(decoder.Word());
  artifact.resources.local_bytes = static_cast<std::int64_t>(decoder.Word());
  artifact.code_fingerprint.high = decoder.Word();
  artifact.code_fingerprint.low = decoder.Word();
  if (!decoder.Ended()) return InvalidArgumentError("a stored artifact is not well formed");
  return artifact;
}

}  // namespace tuneonce
