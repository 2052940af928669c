#ifndef TUNEONCE_LIB_COMPILE_CACHING_TOOLCHAIN_H_
#define TUNEONCE_LIB_COMPILE_CACHING_TOOLCHAIN_H_

#include <string>

#include "tuneonce/compile/artifact_cache.h"
#include "tuneonce/compile/toolchain.h"

namespace tuneonce {

/// A toolchain that compiles nothing twice: it asks a cache first, and of all threads and processes that share the
/// cache and want the same artifact at a time, one compiles. A cache that fails is passed by. A source that reads other
/// files (an include path among its options) is compiled each time: its content does not tell whether they changed.
class CachingToolchain final : public Toolchain {
 public:
  /// Both outlive this.
  CachingToolchain(const Toolchain& toolchain, ArtifactCache& cache) : toolchain_(toolchain), cache_(cache) {}

  SourceKind source_kind() const override { return toolchain_.source_kind(); }
  bool uses_hints() const override { return toolchain_.uses_hints(); }
  Result<std::string> Version() const override { return toolchain_.Version(); }
  std::string Description() const override { return toolchain_.Description(); }

  /// As Compile; `*from_cache` says whether nothing had to be compiled.
  Result<Artifact> CompileOrGet(const KernelSource& source, const Hints& hints, const Target& target,
                                const CompileLimits& limits, bool* from_cache) const;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const CompileLimits& limits) const override {
    bool from_cache = false;
    return CompileOrGet(source, hints, target, limits, &from_cache);
  }

  const Toolchain& toolchain_;
  ArtifactCache& cache_;
};

/// Whether a source's content says all that its artifact depends on.
bool IsSelfContained(const KernelSource& source);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CACHING_TOOLCHAIN_H_
