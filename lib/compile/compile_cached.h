#ifndef TUNEONCE_LIB_COMPILE_COMPILE_CACHED_H_
#define TUNEONCE_LIB_COMPILE_COMPILE_CACHED_H_

#include "tuneonce/compile/artifact_cache.h"
#include "tuneonce/compile/toolchain.h"

namespace tuneonce {

/// As `toolchain.Compile`, but nothing is compiled twice: the cache is asked first, and of all threads and processes
/// that share the cache and want the same artifact at a time, one compiles. A cache that fails is passed by. A source
/// that reads other files (an include path among its options) is compiled each time: its content does not tell whether
/// they changed. `*from_cache` says whether nothing had to be compiled.
Result<Artifact> CompileCached(const Toolchain& toolchain, ArtifactCache& cache, const KernelSource& source,
                               const Hints& hints, const Target& target, const CompileLimits& limits, bool* from_cache);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_COMPILE_CACHED_H_
