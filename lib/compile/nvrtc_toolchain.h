#ifndef TUNEONCE_LIB_COMPILE_NVRTC_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <utility>

#include "compile/cuda_headers.h"
#include "compile/toolbox.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// CUDA C++ -> cubin by NVRTC, loaded at run time (NvrtcLibrary::Load says from where), with the CUDA toolkit's headers
/// (CudaHeaders). A name expression as the symbol is instantiated, and the artifact's symbol is what NVRTC calls it.
/// C++17, and functions that do not say where they run are the device's, unless the source's options say otherwise.
/// Hints do not apply: a CUDA C++ source takes macros, which are lines before its text. An artifact names the headers
/// that were read (HeadersInTrace), and is cacheable by them; with an NVRTC that cannot say them (before CUDA 13)
/// only what includes nothing is.
class TUNEONCE_API NvrtcToolchain final : public Toolchain {
 public:
  explicit NvrtcToolchain(std::shared_ptr<const Toolbox> tools) : tools_(std::move(tools)) {}

  SourceKind source_kind() const override { return SourceKind::kCudaCpp; }
  Result<std::string> Version() const override;
  std::string Description() const override;
  /// The toolkit's headers that NVRTC is given.
  CudaHeaders Headers() const;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

  const std::shared_ptr<const Toolbox> tools_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_TOOLCHAIN_H_
