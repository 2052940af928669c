#ifndef TUNEONCE_TOOLCHAIN_H_
#define TUNEONCE_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/artifact.h"
#include "tuneonce/compile_options.h"
#include "tuneonce/hints.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// A compiler: source + hints + target -> Artifact. Thread rule: all of it may be called from any thread, at the same
/// time.
class TUNEONCE_API Toolchain {
 public:
  virtual ~Toolchain() = default;

  /// The sources it takes.
  virtual SourceKind source_kind() const = 0;
  /// Whether hints change what it makes; if not, configs that differ in hints alone share one artifact.
  virtual bool uses_hints() const { return false; }
  /// "tileiras 13.5.37": what its artifacts depend on beside the request. Errors: Unavailable, as Compile.
  virtual Result<std::string> Version() const = 0;
  /// "/opt/.../tileiras, release 13.5, V13.5.37": what does the work and where it is, or why it is missing.
  virtual std::string Description() const = 0;

  /// Errors: InvalidArgument with the tool's message (the source does not compile for this target, a bad hint, damaged
  /// bytecode), Unavailable (the tool is missing: where it was looked for), DeadlineExceeded, Cancelled,
  /// ResourceExhausted (no room for its files), Internal (it ended well and made nothing usable).
  Result<Artifact> Compile(const KernelSource& source, const Hints& hints, const Target& target,
                           const WaitLimits& limits = {}) const;

  /// Announces the sources that a search is about to have compiled for `target`, so that one run of a front end may
  /// serve several of them. It compiles nothing: each source still has a Compile, an ArtifactKey and an error of its
  /// own. The announcement ends with the returned object; `sources` need not outlive the call. Default: null, for a
  /// toolchain that compiles each source by itself.
  virtual std::shared_ptr<void> Announce(const std::vector<const KernelSource*>& sources, const Target& target) const;

  /// What the artifact of a request is known by in caches: the content of everything that it depends on. Errors: as
  /// Version.
  Result<Fingerprint> ArtifactKey(const KernelSource& source, const Hints& hints, const Target& target) const;

 protected:
  virtual Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                                     const WaitLimits& limits) const = 0;
};

/// Toolchains, chosen by kind of source. Thread rule: immutable once made.
class TUNEONCE_API ToolchainSet {
 public:
  explicit ToolchainSet(std::vector<std::shared_ptr<const Toolchain>> toolchains)
      : toolchains_(std::move(toolchains)) {}

  /// Errors: Unimplemented if none takes this kind of source.
  Result<const Toolchain*> For(SourceKind kind) const;

 private:
  std::vector<std::shared_ptr<const Toolchain>> toolchains_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLCHAIN_H_
