#ifndef TUNEONCE_TESTS_TESTING_COUNTED_KERNEL_H_
#define TUNEONCE_TESTS_TESTING_COUNTED_KERNEL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "compile/command_toolchain.h"
#include "testing/tools.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/toolchain.h"

namespace tuneonce::testing {

inline constexpr int kMostCounted = 128;

/// What the candidates of a CountedKernel did on one rank. The kernel writes it, by its address.
struct WorkLedger {
  std::atomic<long> work{0};
  std::array<std::atomic<std::int64_t>, kMostCounted> runs{};  // By candidate.
};

/// A whole number that may differ from rank to rank. It is a descriptor, for what derived values compute is part of the
/// kernel's identity, which ranks have in common.
inline Parameter OfRank(std::string name, std::function<std::int64_t(const Config&)> value) {
  auto describe = [value = std::move(value)](const Config& c, const Problem&, const TensorView* const*, void* bytes) {
    const std::int64_t number = value(c);
    std::memcpy(bytes, &number, sizeof number);
    return Status();
  };
  return Descriptor(std::move(name), sizeof(std::int64_t), std::move(describe));
}

/// y = x * factor over N elements, with an axis CANDIDATE of so many values, each of which is code of its own, does as
/// much work as it is told, and says so to its rank's ledger.
class CountedKernel {
 public:
  /// `work_of`: of a candidate, the same in all ranks, or as this rank's GPU is.
  CountedKernel(int num_candidates, std::function<std::int64_t(std::int64_t candidate)> work_of)
      : work_of_(std::move(work_of)), candidate_(space_.AddAxis("CANDIDATE", Numbers(num_candidates))) {
    space_.MaxConfigs(kMostCounted);
    space_.SetBaseline({{candidate_, 0}});
  }

  WorkLedger& ledger() const { return *ledger_; }

  KernelDefinition Definition() const {
    KernelDefinition definition("counted");
    auto candidate_of = [axis = candidate_](const Config& c, const Problem&) { return c[axis]; };
    definition
        .Parameters(
            {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N"),
             Derived("candidate", candidate_of),
             OfRank("work", [axis = candidate_, work_of = work_of_](const Config& c) { return work_of(c[axis]); }),
             OfRank("ledger",
                    [ledger = ledger_](const Config&) { return reinterpret_cast<std::int64_t>(ledger.get()); })})
        .Space(space_)
        .AddVariant(Variant([axis = candidate_](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(kSource, "counted").Define("CANDIDATE", c[axis]);
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }

 private:
  static constexpr char kSource[] = R"(
static void counted(const tuneonce_block&, const float* x, float* y, float factor, int n, long candidate, long work,
                    long ledger) {
  for (int i = 0; i < n; ++i) y[i] = x[i] * factor;
  long* counts = reinterpret_cast<long*>(ledger);
  __atomic_fetch_add(counts, work, __ATOMIC_RELAXED);
  __atomic_fetch_add(counts + 1 + candidate, 1, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(counted);)";

  static std::vector<std::int64_t> Numbers(int count) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
    return numbers;
  }

  const std::function<std::int64_t(std::int64_t)> work_of_;
  const std::shared_ptr<WorkLedger> ledger_ = std::make_shared<WorkLedger>();
  SearchSpace space_;
  IntAxis candidate_;
};

/// The host's compiler, which counts what it is asked for, and compiles a text once in this process, whatever is
/// defined.
class CountingCompiler final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override { return host_.Version(); }
  std::string Description() const override { return "counting"; }

  /// How often each define was compiled.
  std::map<std::string, int> compiled() const {
    MutexLock lock(mutex_);
    return compiled_;
  }
  /// Called with the define, before it compiles: to be slow, or to hang. May be null.
  std::function<void(const std::string& define, const WaitLimits& limits)> on_compile;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    const std::string define = source.defines.empty() ? "" : source.defines.front();
    if (on_compile) on_compile(define, limits);
    {
      MutexLock lock(mutex_);
      ++compiled_[define];
    }
    TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, Made(source, hints, target));
    artifact.code_fingerprint = Fingerprinter().Add(artifact.code_fingerprint).Add(define).Finish();
    return artifact;
  }

  Result<Artifact> Made(const KernelSource& source, const Hints& hints, const Target& target) const {
    static auto* const mutex = new Mutex();
    static auto* const made = new std::map<std::string, Artifact>();
    MutexLock lock(*mutex);
    auto found = made->find(source.content);
    if (found != made->end()) return found->second;
    TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, host_.Compile(source, hints, target));
    return made->emplace(source.content, std::move(artifact)).first->second;
  }

  CommandToolchain host_{kHostCompiler, Tools()};
  mutable Mutex mutex_;
  mutable std::map<std::string, int> compiled_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_COUNTED_KERNEL_H_
