#include "tuneonce/artifact.h"

#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint64_t kVersion = 0x74756e656f310007;  // "tuneo1", format 7.
constexpr EncodedWhat kArtifact{"a stored artifact", StatusCode::kInvalidArgument};

}  // namespace

std::string EncodeArtifact(const Artifact& artifact) {
  Encoder encoder;
  encoder.U64(kVersion).Bytes(artifact.image).Text(artifact.symbol).Text(artifact.log);
  encoder.Texts(artifact.kernels);
  encoder.F64(artifact.seconds).Text(artifact.toolchain).I64(artifact.resources.registers);
  encoder.I64(artifact.resources.shared_bytes).I64(artifact.resources.local_bytes).Add(artifact.code_fingerprint);
  encoder.Count(artifact.dependencies.size());
  for (const Dependency& each : artifact.dependencies) encoder.Text(each.path).Add(each.content);
  encoder.Texts(artifact.absent);
  encoder.Texts(artifact.parameters);
  encoder.Count(artifact.assumptions.size());
  for (const CodeAssumption& each : artifact.assumptions) {
    encoder.Enum(each.kind).U64(each.parameter).I64(each.value);
  }
  return WithChecksum(encoder.Take());
}

Result<Artifact> DecodeArtifact(std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes, kArtifact));
  Decoder decoder(body, kArtifact);
  if (decoder.U64() != kVersion)
    return InvalidArgumentError(
        "cannot read a stored artifact: another version of tuneonce wrote it in a different format");
  Artifact artifact;
  artifact.image = decoder.Bytes();
  artifact.symbol = decoder.Text();
  artifact.log = decoder.Text();
  artifact.kernels = decoder.Texts();
  artifact.seconds = decoder.F64();
  artifact.toolchain = decoder.Text();
  artifact.resources.registers = static_cast<int>(decoder.I64());
  artifact.resources.shared_bytes = decoder.I64();
  artifact.resources.local_bytes = decoder.I64();
  artifact.code_fingerprint = decoder.ReadFingerprint();
  artifact.dependencies.resize(decoder.Count(sizeof(std::uint64_t) + sizeof(Fingerprint)));
  for (Dependency& each : artifact.dependencies) {
    each.path = decoder.Text();
    each.content = decoder.ReadFingerprint();
  }
  artifact.absent = decoder.Texts();
  artifact.parameters = decoder.Texts();
  artifact.assumptions.resize(decoder.Count(sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t)));
  for (CodeAssumption& each : artifact.assumptions) {
    each.kind = decoder.Enum(CodeAssumption::Kind::kAtMost);
    each.parameter = static_cast<std::size_t>(decoder.U64());
    each.value = decoder.I64();
  }
  TUNEONCE_RETURN_IF_ERROR(decoder.Done());
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
