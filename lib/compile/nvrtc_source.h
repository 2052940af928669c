#ifndef TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_

#include <string>
#include <vector>

#include "compile/nvrtc_library.h"
#include "compile/nvrtc_worker.h"
#include "compile/toolbox.h"
#include "tuneonce/artifact.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/target.h"

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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_
