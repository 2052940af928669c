#ifndef TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/nvrtc_library.h"
#include "compile/nvrtc_worker.h"
#include "compile/toolbox.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// The name of a source of CUDA C++ or CUDA Tile C++ in messages: its file, else one made of its symbol.
std::string NvrtcFileOf(const KernelSource& source);

/// What one run of NVRTC compiles, of a source of CUDA C++ or CUDA Tile C++.
struct NvrtcJob {
  const KernelSource& source;
  const Target& target;
  std::vector<std::string> options;  ///< Those of the source's options that NVRTC takes.
  std::vector<std::string> defines;  ///< Macros, without those that the expressions contain.
  std::vector<std::string> expressions;
};

/// Runs NVRTC (CompileByNvrtc) with the CUDA toolkit's headers (CudaHeaders). Macros are lines before the text. Sets
/// log, seconds, dependencies, absent and cacheable of `made_of`: it is cacheable by the headers that were read
/// (HeadersInTrace), or if the text and the options show that no file is read. Errors: as CompileByNvrtc, and
/// InvalidArgument, with NVRTC's message, for a text that does not compile.
Result<NvrtcOutput> RunNvrtc(const Toolbox& tools, const NvrtcLibrary& nvrtc, NvrtcJob job, const WaitLimits& limits,
                             Artifact* made_of);

/// CUDA C++ -> cubin by NVRTC, loaded at run time (NvrtcLibrary::Load says from where), with the CUDA toolkit's headers
/// (CudaHeaders). A name expression as the symbol is instantiated, and the artifact's symbol is what NVRTC calls it.
/// C++17, and functions that do not say where they run are the device's, unless the source's options say otherwise.
/// Hints do not apply: a CUDA C++ source takes macros, which are lines before its text. An artifact names the headers
/// that were read (HeadersInTrace), and is cacheable by them; with an NVRTC that cannot say them (before CUDA 13)
/// only what includes nothing is.
class NvrtcToolchain final : public Toolchain {
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

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_
