#ifndef TUNEONCE_LIB_SHARED_COMPILE_CACHED_H_
#define TUNEONCE_LIB_SHARED_COMPILE_CACHED_H_

#include <optional>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// As `toolchain.Compile`, but nothing is compiled twice: the cache is asked first, and of all threads and processes
/// that share the cache and want the same artifact at a time, one compiles. A cache that fails is passed by, and so is
/// an artifact of which a header has changed since. `*from_cache` says whether nothing had to be compiled.
Result<Artifact> CompileCached(const Toolchain& toolchain, RecordStore& cache, const KernelSource& source,
                               const Hints& hints, const Target& target, const WaitLimits& limits, bool* from_cache);

/// The artifact under `key`, if the cache has it, whether or not a file that it was made of has changed since.
std::optional<Artifact> FindArtifact(RecordStore& cache, const Fingerprint& key);

/// The artifact under `key`, if the cache has it and all files that it was made of are still as they were then.
std::optional<Artifact> FindCurrent(RecordStore& cache, const Fingerprint& key);

/// True if a request compiles nothing: the cache has it, or it was compiled ahead. What cannot be told counts as false.
bool IsCompiled(const ToolchainSet& toolchains, RecordStore& cache, const KernelSource& source, const Hints& hints,
                const Target& target);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SHARED_COMPILE_CACHED_H_
