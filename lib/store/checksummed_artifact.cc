#include "store/checksummed_artifact.h"

#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {

std::string EncodeChecksummedArtifact(const Fingerprint& key, const Artifact& artifact) {
  return WithChecksum(Encoder().Add(key).Bytes(EncodeArtifact(artifact)).Take());
}

Result<Artifact> DecodeChecksummedArtifact(const Fingerprint& key, std::string_view bytes) {
  constexpr EncodedWhat kWhat{"a stored artifact", StatusCode::kInvalidArgument};
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes, kWhat));
  Decoder decoder(body, kWhat);
  if (decoder.ReadFingerprint() != key) return InvalidArgumentError("a stored artifact belongs to another key");
  const std::string_view artifact = decoder.Bytes();
  TUNEONCE_RETURN_IF_ERROR(decoder.Done());
  return DecodeArtifact(artifact);
}

}  // namespace v0
}  // namespace tuneonce
