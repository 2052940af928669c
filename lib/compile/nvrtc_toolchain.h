#ifndef TUNEONCE_LIB_COMPILE_NVRTC_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <utility>

#include "compile/toolbox.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// CUDA C++ -> cubin by NVRTC, loaded at run time: `Environment::nvrtc`, else libnvrtc.so.13 and .12 from
/// `Environment::cuda_home`/lib64, from where the loader looks, and from /usr/local/cuda/lib64.
/// Hints do not apply: a CUDA C++ source takes macros. NVRTC cannot say which headers it read, so a source that
/// includes any is compiled each time it is asked for: its artifacts are not cacheable.
class TUNEONCE_API NvrtcToolchain final : public Toolchain {
 public:
  explicit NvrtcToolchain(std::shared_ptr<const Toolbox> tools) : tools_(std::move(tools)) {}

  SourceKind source_kind() const override { return SourceKind::kCudaCpp; }
  Result<std::string> Version() const override;
  std::string Description() const override;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

  const std::shared_ptr<const Toolbox> tools_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_TOOLCHAIN_H_
