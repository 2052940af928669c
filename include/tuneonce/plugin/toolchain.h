#ifndef TUNEONCE_PLUGIN_TOOLCHAIN_H_
#define TUNEONCE_PLUGIN_TOOLCHAIN_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/geometry.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class RecordStore;

/// How long a caller waits for a compiler or for a lease.
struct WaitLimits {
  /// The compiler is killed, or the lease is given up, after this many milliseconds. Default two minutes: the largest
  /// tiles take 8.5 s on an idle core. Without a tuneonce_worker program, NVRTC runs in this process, where it cannot
  /// be stopped before its front end is done.
  int timeout_ms = 120000;
  /// The wait ends with Cancelled soon after the pointee becomes true. Null: the wait cannot be cancelled.
  const std::atomic<bool>* cancelled = nullptr;
};

/// How a search compiles its candidates.
struct CompileOptions {
  /// Maximum number of candidates that this search compiles at the same time. All searches of a Runtime together stay
  /// within RuntimeOptions::compile_workers. Default 0: as many as compile_workers allows. If compile_workers was not
  /// set, it is also no more than fit free memory at `memory_per_worker_bytes` each.
  int num_workers = 0;
  /// Memory that one compile is assumed to need, in bytes. It bounds the default of `num_workers`. Default 400 MiB:
  /// tileiras needed 115 to 250 MiB, g++ less on a small kernel.
  std::int64_t memory_per_worker_bytes = std::int64_t{400} << 20;
  /// Time limit for one candidate, in milliseconds. Default two minutes (see WaitLimits).
  int timeout_ms = WaitLimits().timeout_ms;
  /// Time limit for all candidates together, in milliseconds from the start. Candidates that are not compiled by then
  /// fail. Default 0: no limit.
  int total_timeout_ms = 0;
  /// The store whose artifacts are used and to which compiled artifacts are added. Null (default):
  /// AutotunePolicy::store for a TunedKernel, otherwise Runtime::memory_store().
  std::shared_ptr<RecordStore> cache;
  /// All compiles stop soon after the pointee becomes true. Null (default): they cannot be stopped this way.
  const std::atomic<bool>* cancelled = nullptr;
  /// All compiles stop when this function returns true. It is called every 10 ms on the thread that waits for compiles.
  /// Null (default): they cannot be stopped this way.
  std::function<bool()> interrupted;
};

class Device;
class Runtime;

/// Code that is compiled, loaded and ready for cuLaunchKernelEx, for a program that itself launches what
/// exhaustive_search found. A TunedKernel does not need it.
///
/// Copies share the code, and the last copy unloads it. REQUIRES at that time: no launch of it is running, and no graph
/// captured from it will be instantiated again. A graph that was instantiated before may still be launched. Thread
/// rule: immutable, any thread may launch.
class TUNEONCE_API CompiledKernel {
 public:
  /// Compiles `source` with `hints` for the device of the current context, and prepares it for launches with
  /// `geometry`. `device` selects the driver. Code that a search of this process already compiled is reused. `runtime`
  /// provides compilers and artifacts; null means Runtime::Default(). Errors: those of Toolchain::Compile;
  /// FailedPrecondition without a context; InvalidArgument for a geometry that cannot be launched; the driver's.
  static Result<CompiledKernel> Create(const Device& device, const KernelSource& source, const Hints& hints,
                                       const Geometry& geometry, const std::shared_ptr<Runtime>& runtime = nullptr);

  /// Returns the function for cuLaunchKernelEx. It is a CUkernel, so it works in every context of the device.
  CUfunction function() const;
  const Geometry& geometry() const;
  /// Returns an attribute of the loaded code, as cuFuncGetAttribute reports it. Errors: the driver's.
  Result<int> Attribute(CUfunction_attribute attribute) const;
  /// Launches the kernel with its geometry by cuLaunchKernelEx. `parameters` has a pointer to each kernel parameter.
  /// Errors: the driver's.
  Status Launch(CUstream stream, void** parameters) const;

 private:
  struct TUNEONCE_LOCAL Impl;
  TUNEONCE_LOCAL explicit CompiledKernel(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

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

#endif  // TUNEONCE_PLUGIN_TOOLCHAIN_H_
