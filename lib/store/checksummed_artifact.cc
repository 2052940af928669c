#include "store/checksummed_artifact.h"

#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {

std::string EncodeChecksummedArtifact(const Fingerprint& key, const Artifact& artifact) {
  return Encoder().Add(key).Add(std::string_view(EncodeArtifact(artifact))).Finish();
}

Result<Artifact> DecodeChecksummedArtifact(const Fingerprint& key, std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(Decoder decoder, Decoder::Open(bytes, "a stored artifact"));
  if (decoder.ReadFingerprint() != key) return InvalidArgumentError("a stored artifact belongs to another key");
  return DecodeArtifact(decoder.Text());
}

}  // namespace v0
}  // namespace tuneonce
