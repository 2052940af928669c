#ifndef TUNEONCE_LIB_STORE_CHECKSUMMED_ARTIFACT_H_
#define TUNEONCE_LIB_STORE_CHECKSUMMED_ARTIFACT_H_

#include <string>
#include <string_view>

#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Encodes an artifact with its key and a checksum of both, for stores and exported files. An artifact that is found
/// under another key is not a hit.
TUNEONCE_API std::string EncodeChecksummedArtifact(const Fingerprint& key, const Artifact& artifact);
/// Decodes an artifact. Errors: InvalidArgument if the bytes are damaged, of another version, or of another key.
TUNEONCE_API Result<Artifact> DecodeChecksummedArtifact(const Fingerprint& key, std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_CHECKSUMMED_ARTIFACT_H_
