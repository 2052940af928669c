#ifndef TUNEONCE_LIB_COMPILE_PRECOMPILED_H_
#define TUNEONCE_LIB_COMPILE_PRECOMPILED_H_

#include <optional>

#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What KernelSource::precompiled has for a request, before any compiler is asked.
struct PrecompiledLookup {
  /// The artifact, or the compiler's refusal of then; nothing: a compiler is needed.
  std::optional<Result<Artifact>> found;
  /// Where a compiler is needed although something was compiled ahead: why; for its error.
  std::string why_not;
};
PrecompiledLookup FindPrecompiled(const KernelSource& source, const Hints& hints, const Target& target);

/// `failed`, what a compiler said, with why one was needed.
Status WithReason(const Status& failed, const PrecompiledLookup& lookup);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_PRECOMPILED_H_
