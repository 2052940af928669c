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

/// A compiler that turns a source, hints and a target into an Artifact. Thread rule: all functions may be called from
/// any thread at the same time.
class TUNEONCE_API Toolchain {
 public:
  virtual ~Toolchain() = default;

  /// Returns the kind of sources that this toolchain compiles.
  virtual SourceKind source_kind() const = 0;
  /// Returns whether hints change the toolchain's output. If not, configs that differ only in hints share one artifact.
  virtual bool uses_hints() const { return false; }
  /// Returns the toolchain's name and version, such as "tileiras 13.5.37", which is part of ArtifactKey. Errors:
  /// Unavailable if the tool is missing.
  virtual Result<std::string> Version() const = 0;
  /// Returns a text for people with the tool's path and version, such as "/opt/.../tileiras, release 13.5, V13.5.37",
  /// or the reason why the tool is missing.
  virtual std::string Description() const = 0;

  /// Compiles a source within `limits`. Errors: InvalidArgument with the tool's message (the source does not compile
  /// for this target, an invalid hint, damaged bytecode); Unavailable if the tool is missing, with the places where it
  /// was searched; DeadlineExceeded and Cancelled by `limits`; ResourceExhausted if the disk has no space for the
  /// tool's files; Internal if the tool succeeds without a usable output.
  Result<Artifact> Compile(const KernelSource& source, const Hints& hints, const Target& target,
                           const WaitLimits& limits = {}) const;

  /// Announces the sources that a search will compile for `target`, so that one run of the compiler's front end may
  /// serve several of them. It compiles nothing, and each source still has its own Compile, ArtifactKey and error. The
  /// announcement ends with the returned object. `sources` need not outlive the call. The default implementation
  /// returns null, for a toolchain that compiles each source by itself.
  virtual std::shared_ptr<void> Announce(const std::vector<const KernelSource*>& sources, const Target& target) const;

  /// Returns the key of a compile's artifact in caches: a fingerprint of the source and its file name, the target's
  /// name, the toolchain's version and, if uses_hints(), the hints. Headers in files are not part of it;
  /// Artifact::dependencies lists them. Errors: as for Version.
  Result<Fingerprint> ArtifactKey(const KernelSource& source, const Hints& hints, const Target& target) const;

 protected:
  /// Compiles a source, with the errors of Compile. Compile calls it after KernelSource::Check returned OK.
  virtual Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                                     const WaitLimits& limits) const = 0;
};

/// A set of toolchains, found by the kind of source that they compile. Thread rule: it does not change, so any thread
/// may call all functions.
class TUNEONCE_API ToolchainSet {
 public:
  explicit ToolchainSet(std::vector<std::shared_ptr<const Toolchain>> toolchains)
      : toolchains_(std::move(toolchains)) {}

  /// Returns the toolchain for a kind of source. Errors: Unimplemented for a kind without a toolchain.
  Result<const Toolchain*> For(SourceKind kind) const;

 private:
  std::vector<std::shared_ptr<const Toolchain>> toolchains_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLCHAIN_H_
