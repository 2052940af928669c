#ifndef TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_MATRIX_KERNEL_H_
#define TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_MATRIX_KERNEL_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "runtime/feature_matrix/case.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/toolchain.h"

extern "C" {
/// Which config and variant ran last, as Ran::mark has it. The kernels find it by its name.
__attribute__((visibility("default"), used)) inline std::atomic<long> tuneonce_matrix_ran{0};
}

namespace tuneonce::testing {

/// The CPU device's compiler, which compiles nothing twice in a process, or one that is missing. Counts what it is
/// asked for. That of kTileCpp takes such sources as C++ for the CPU device, and states the types of parameters.
class MemoToolchain final : public Toolchain {
 public:
  explicit MemoToolchain(bool is_missing, SourceKind kind = SourceKind::kCpuCpp)
      : is_missing_(is_missing), kind_(kind) {}
  SourceKind source_kind() const override { return kind_; }
  bool uses_hints() const override { return IsTile(kind_); }
  Result<std::string> Version() const override;
  std::string Description() const override { return "memo"; }

  int num_asked() const { return num_asked_; }

 protected:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override;

 private:
  const bool is_missing_;
  const SourceKind kind_;
  mutable std::atomic<int> num_asked_{0};
};

/// y = x * factor over N elements, or over those of each of some tensors, as the case wants it: axis WORK {100, 50, 1},
/// baselines 100 and 50.
class MatrixKernel {
 public:
  /// `folder`: for precompiled files.
  MatrixKernel(const Case& c, std::string folder);

  /// Code for the callable on the device of the current context.
  void PrepareCallable(const Device& device);
  /// Files for the precompiled variant.
  void WriteFiles() const;
  KernelDefinition Definition() const;

 private:
  static constexpr int kSharedBytes = 64 * 1024;

  KernelSource Source(std::int64_t work_value, bool is_int, bool is_general) const;
  Variant::SourceFn SourceOf(bool is_general) const;
  Variant::LaunchFn Launcher() const;

  const Case case_;
  const std::string folder_;
  SearchSpace space_;
  IntAxis work_;
  std::map<std::tuple<int, std::int64_t, bool>, CompiledKernel> callable_;  // By device, WORK, is_int.
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_MATRIX_KERNEL_H_
