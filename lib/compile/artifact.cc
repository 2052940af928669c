#include "tuneonce/artifact.h"

#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint64_t kVersion = 0x74756e656f310006;  // "tuneo1", format 6.

}  // namespace

std::string EncodeArtifact(const Artifact& artifact) {
  Encoder encoder;
  encoder.Add(kVersion).Add(std::string_view(artifact.image)).Add(std::string_view(artifact.symbol));
  encoder.Add(std::string_view(artifact.log)).Add(static_cast<std::uint64_t>(artifact.kernels.size()));
  for (const std::string& kernel : artifact.kernels) encoder.Add(std::string_view(kernel));
  encoder.Add(artifact.seconds).Add(std::string_view(artifact.toolchain)).Add(artifact.resources.registers);
  encoder.Add(artifact.resources.shared_bytes).Add(artifact.resources.local_bytes).Add(artifact.code_fingerprint);
  encoder.Add(static_cast<std::uint64_t>(artifact.dependencies.size()));
  for (const Dependency& each : artifact.dependencies) encoder.Add(std::string_view(each.path)).Add(each.content);
  encoder.Add(static_cast<std::uint64_t>(artifact.absent.size()));
  for (const std::string& path : artifact.absent) encoder.Add(std::string_view(path));
  encoder.Add(static_cast<std::uint64_t>(artifact.parameters.size()));
  for (const std::string& type : artifact.parameters) encoder.Add(std::string_view(type));
  encoder.Add(static_cast<std::uint64_t>(artifact.assumptions.size()));
  for (const CodeAssumption& each : artifact.assumptions) {
    encoder.Add(static_cast<std::uint64_t>(each.kind)).Add(static_cast<std::uint64_t>(each.parameter)).Add(each.value);
  }
  return encoder.Finish();
}

Result<Artifact> DecodeArtifact(std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(Decoder decoder, Decoder::Open(bytes, "a stored artifact"));
  if (decoder.Word() != kVersion)
    return InvalidArgumentError(
        "cannot read a stored artifact: another version of tuneonce wrote it in a different format");
  Artifact artifact;
  artifact.image = decoder.Text();
  artifact.symbol = decoder.Text();
  artifact.log = decoder.Text();
  std::uint64_t num_kernels = decoder.Word();
  for (std::uint64_t i = 0; i < num_kernels && decoder.remaining() > 0; ++i) artifact.kernels.push_back(decoder.Text());
  artifact.seconds = decoder.Double();
  artifact.toolchain = decoder.Text();
  artifact.resources.registers = static_cast<int>(decoder.Int());
  artifact.resources.shared_bytes = decoder.Int();
  artifact.resources.local_bytes = decoder.Int();
  artifact.code_fingerprint = decoder.ReadFingerprint();
  std::uint64_t num_dependencies = decoder.Word();
  for (std::uint64_t i = 0; i < num_dependencies && decoder.remaining() > 0; ++i) {
    Dependency dependency;
    dependency.path = decoder.Text();
    dependency.content = decoder.ReadFingerprint();
    artifact.dependencies.push_back(std::move(dependency));
  }
  std::uint64_t num_absent = decoder.Word();
  for (std::uint64_t i = 0; i < num_absent && decoder.remaining() > 0; ++i) artifact.absent.push_back(decoder.Text());
  std::uint64_t num_parameters = decoder.Word();
  for (std::uint64_t i = 0; i < num_parameters && decoder.remaining() > 0; ++i) {
    artifact.parameters.push_back(decoder.Text());
  }
  std::uint64_t num_assumptions = decoder.Word();
  for (std::uint64_t i = 0; i < num_assumptions && decoder.remaining() > 0; ++i) {
    const std::uint64_t kind = decoder.Word();
    if (kind > static_cast<std::uint64_t>(CodeAssumption::Kind::kAtMost)) {
      return InvalidArgumentError("a stored artifact has an unknown kind of assumption");
    }
    const std::uint64_t parameter = decoder.Word();
    artifact.assumptions.push_back(
        {static_cast<CodeAssumption::Kind>(kind), static_cast<std::size_t>(parameter), decoder.Int()});
  }
  if (!decoder.Ended()) return InvalidArgumentError("a stored artifact is not well formed");
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
