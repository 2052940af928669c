#ifndef TUNEONCE_LIB_STORE_SEALED_ARTIFACT_H_
#define TUNEONCE_LIB_STORE_SEALED_ARTIFACT_H_

#include <string>
#include <string_view>

#include "tuneonce/artifact.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// An artifact together with its key, and a checksum of both, as stores and exported files keep it: what is found under
/// a wrong key is no hit.
std::string SealArtifact(const Fingerprint& key, const Artifact& artifact);
/// Errors: InvalidArgument for what is damaged, of another version, or another key's.
TUNEONCE_API Result<Artifact> UnsealArtifact(const Fingerprint& key, std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_SEALED_ARTIFACT_H_
