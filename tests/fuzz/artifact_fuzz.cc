// A stored artifact of any content, its checksum made right.
#include <cstdio>
#include <cstdlib>

#include "base/encoding.h"
#include "tuneonce/plugin/artifact.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(tuneonce::DecodeArtifact(bytes));
  tuneonce::Result<tuneonce::Artifact> artifact = tuneonce::DecodeArtifact(tuneonce::WithChecksum(std::string(bytes)));
  if (!artifact.ok()) return 0;
  std::string once = tuneonce::EncodeArtifact(*artifact);
  tuneonce::Result<tuneonce::Artifact> again = tuneonce::DecodeArtifact(once);
  if (!again.ok() || tuneonce::EncodeArtifact(*again) != once) {
    std::fprintf(stderr, "an artifact that was read cannot be written and read again\n");
    std::abort();
  }
  return 0;
}
