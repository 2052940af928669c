// A cubin of any content: refused, or described, and the same each time, whichever of its kernels is meant.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "compile/cubin.h"
#include "tuneonce/plugin/fingerprint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tuneonce::Artifact artifact;
  artifact.image.assign(reinterpret_cast<const char*>(data), size);
  tuneonce::Status status = DescribeCubin(&artifact);
  if (!status.ok() && status.code() != tuneonce::StatusCode::kInvalidArgument) std::abort();
  if (artifact.kernels.empty()) return 0;
  artifact.symbol = artifact.kernels.front();
  if (!DescribeCubin(&artifact).ok()) {
    std::fprintf(stderr, "a kernel that was found is not there\n");
    std::abort();
  }
  tuneonce::Result<tuneonce::CubinKernel> tables = tuneonce::ReadCubinKernel(artifact.image, artifact.symbol);
  if (!tables.ok() && tables.status().code() != tuneonce::StatusCode::kInvalidArgument) std::abort();
  tuneonce::Fingerprint first = artifact.code_fingerprint;
  if (!DescribeCubin(&artifact).ok() || artifact.code_fingerprint != first) std::abort();
  return 0;
}
