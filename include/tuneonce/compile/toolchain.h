#ifndef TUNEONCE_COMPILE_TOOLCHAIN_H_
#define TUNEONCE_COMPILE_TOOLCHAIN_H_

#include <memory>
#include <string>
#include <vector>

#include "tuneonce/base/result.h"
#include "tuneonce/compile/artifact.h"
#include "tuneonce/kernel/hints.h"
#include "tuneonce/kernel/kernel_source.h"
#include "tuneonce/space/target.h"

namespace tuneonce {

/// A compiler: source + hints + target -> Artifact. Thread rule: Compile may be called from any thread, at the same
/// time.
class TUNEONCE_API Toolchain {
 public:
  virtual ~Toolchain() = default;

  /// The sources it takes.
  virtual SourceKind source_kind() const = 0;
  /// "g++ 12.2.0 at /usr/bin/g++": what does the work, for provenance and doctor.
  virtual std::string Description() const = 0;
  /// Errors: InvalidArgument with the tool's message (the source does not compile for this target), Unavailable (the
  /// tool is missing), DeadlineExceeded.
  virtual Result<Artifact> Compile(const KernelSource& source, const Hints& hints, const Target& target) const = 0;
};

/// The toolchains of a process, chosen by kind of source. Thread rule: immutable once made.
class TUNEONCE_API ToolchainSet {
 public:
  /// Those built in: HostToolchain, NvrtcToolchain, CubinToolchain. A tool that is missing fails when it is needed.
  static const ToolchainSet& Default();
  explicit ToolchainSet(std::vector<std::shared_ptr<const Toolchain>> toolchains)
      : toolchains_(std::move(toolchains)) {}

  /// Errors: Unimplemented if none takes this kind of source.
  Result<const Toolchain*> For(SourceKind kind) const;

 private:
  std::vector<std::shared_ptr<const Toolchain>> toolchains_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_COMPILE_TOOLCHAIN_H_
