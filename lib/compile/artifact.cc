#include "tuneonce/plugin/artifact.h"

#include "base/field_codec.h"

namespace tuneonce {
inline namespace v0 {

constexpr CodeAssumption::Kind LastOf(CodeAssumption::Kind) { return CodeAssumption::Kind::kAtMost; }
TUNEONCE_FIELDS(Dependency, m.path, m.content);
TUNEONCE_FIELDS(CodeAssumption, m.kind, m.parameter, m.value);
TUNEONCE_FIELDS(Artifact, m.image, m.symbol, m.log, m.remarks, m.kernels, m.seconds, m.toolchain, m.resources.registers,
                m.resources.shared_bytes, m.resources.local_bytes, m.code_fingerprint, m.dependencies, m.absent,
                m.parameters, m.assumptions);

namespace {

constexpr std::uint64_t kVersion = 0x74756e656f310008;  // "tuneo1", format 8.
constexpr EncodedWhat kArtifact{"a stored artifact", StatusCode::kInvalidArgument};

}  // namespace

std::string EncodeArtifact(const Artifact& artifact) {
  PlainEncoder fields;
  fields(kVersion, artifact);
  return WithChecksum(fields.encoder().Take());
}

Result<Artifact> DecodeArtifact(std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes, kArtifact));
  PlainDecoder fields(body, kArtifact);
  if (fields.decoder().U64() != kVersion) {
    return InvalidArgumentError(
        "cannot read a stored artifact: another version of tuneonce wrote it in a different format");
  }
  Artifact artifact;
  fields(artifact);
  TUNEONCE_RETURN_IF_ERROR(fields.decoder().Done());
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
