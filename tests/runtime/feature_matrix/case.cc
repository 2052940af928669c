#include "runtime/feature_matrix/case.h"

#include <set>
#include <tuple>

namespace tuneonce::testing {
namespace {

constexpr int kUnset = -1;
using Pair = std::tuple<std::size_t, int, std::size_t, int>;

bool IsImpossible(std::size_t a, int value_a, std::size_t b, int value_b) {
  for (const ImpossiblePair& pair : ImpossiblePairs()) {
    if (pair.factor_a == a && pair.value_a == value_a && pair.factor_b == b && pair.value_b == value_b) return true;
    if (pair.factor_a == b && pair.value_a == value_b && pair.factor_b == a && pair.value_b == value_a) return true;
  }
  return false;
}

/// Pairs of values that no case has yet, each with the lower factor first.
class Uncovered {
 public:
  Uncovered() {
    for (std::size_t a = 0; a < Case::kNumFactors; ++a) {
      for (std::size_t b = a + 1; b < Case::kNumFactors; ++b) AddPairs(a, b);
    }
  }
  bool empty() const { return pairs_.empty(); }
  const Pair& first() const { return *pairs_.begin(); }
  void Remove(const Case& with) {
    for (std::size_t a = 0; a < Case::kNumFactors; ++a) {
      for (std::size_t b = a + 1; b < Case::kNumFactors; ++b) pairs_.erase({a, with.values[a], b, with.values[b]});
    }
  }
  /// How many pairs `value` of `factor` would make with what is set already; -1 where one of them is impossible.
  int Gain(const Case& begun, std::size_t factor, int value) const {
    int gain = 0;
    for (std::size_t other = 0; other < Case::kNumFactors; ++other) {
      if (other == factor || begun.values[other] == kUnset) continue;
      if (IsImpossible(factor, value, other, begun.values[other])) return -1;
      gain += factor < other ? static_cast<int>(pairs_.count({factor, value, other, begun.values[other]}))
                             : static_cast<int>(pairs_.count({other, begun.values[other], factor, value}));
    }
    return gain;
  }

 private:
  void AddPairs(std::size_t a, std::size_t b) {
    for (int i = 0; i < static_cast<int>(Factors()[a].values.size()); ++i) {
      for (int j = 0; j < static_cast<int>(Factors()[b].values.size()); ++j) {
        if (!IsImpossible(a, i, b, j)) pairs_.insert({a, i, b, j});
      }
    }
  }
  std::set<Pair> pairs_;
};

Case Complete(Case begun, const Uncovered& uncovered) {
  for (std::size_t factor = 0; factor < Case::kNumFactors; ++factor) {
    if (begun.values[factor] != kUnset) continue;
    int best = kUnset, best_gain = -1;
    for (int value = 0; value < static_cast<int>(Factors()[factor].values.size()); ++value) {
      int gain = uncovered.Gain(begun, factor, value);
      if (gain > best_gain) best = value, best_gain = gain;
    }
    begun.values[factor] = best;
  }
  return begun;
}

template <typename Enum>
int Of(Enum value) {
  return static_cast<int>(value);
}

/// What went wrong once because two features had not been thought of together.
std::vector<Case> OnceBugs() {
  auto make = [](Path path, KeyKind key, VariantKind variant, StoreState store, Mode mode, Devices devices,
                 SharedMemory shared, Compiler compiler) {
    return Case{{Of(path), Of(key), Of(variant), Of(store), Of(mode), Of(devices), Of(shared), Of(compiler),
                 Of(Tensors::kPlain), Of(Searched::kAll), Of(NewKey::kTune)}};
  };
  return {
      // A warm-up tuned, and stored, at the shape at hand what a launch tunes at the bucket's bound.
      make(Path::kWarmupByShape, KeyKind::kBucket, VariantKind::kSource, StoreState::kEmpty, Mode::kTuneOnMiss,
           Devices::kOne, SharedMemory::kNone, Compiler::kPresent),
      // A guard that holds at the bucket's bound, and not at each of its shapes.
      make(Path::kWarmupByArguments, KeyKind::kGuardOnWinner, VariantKind::kSource, StoreState::kEmpty,
           Mode::kTuneOnMiss, Devices::kOne, SharedMemory::kNone, Compiler::kPresent),
      // A guard of the baseline made a shape unusable.
      make(Path::kLaunch, KeyKind::kGuardOnBaseline, VariantKind::kSource, StoreState::kEmpty, Mode::kTuneDeferred,
           Devices::kOne, SharedMemory::kNone, Compiler::kPresent),
      // More shared memory than a kernel may have without asking was allowed on the first device alone.
      make(Path::kLaunch, KeyKind::kExact, VariantKind::kSource, StoreState::kEmpty, Mode::kTuneOnMiss,
           Devices::kSecondOfTwo, SharedMemory::k64KiB, Compiler::kPresent),
      // A complete store did not suffice for a warm-up where no compiler is.
      make(Path::kWarmupByShape, KeyKind::kBucket, VariantKind::kSource, StoreState::kComplete, Mode::kStoredOnly,
           Devices::kOne, SharedMemory::kNone, Compiler::kAbsent),
  };
}

}  // namespace

const std::array<Factor, Case::kNumFactors>& Factors() {
  static const auto* const factors = new std::array<Factor, Case::kNumFactors>{{
      {"launch path",
       {"Launch", "WarmupByShape", "WarmupByArguments", "CaptureAfterWarmup", "CaptureOnMiss", "AfterFreeze",
        "TunePending", "TwoThreads"}},
      {"key", {"Exact", "Bucket", "GuardOnWinner", "GuardOnBaseline", "DTypeKey", "ScalarKey", "Bounds", "Nearest"}},
      {"variant", {"Source", "Files", "Callable", "Assumption", "Strided", "Requirement", "TileCpp"}},
      {"store", {"EmptyStore", "Complete", "WithoutArtifact", "Incomplete", "OtherDriver", "Shipped", "FailingStore"}},
      {"mode", {"Tune", "Background", "StoredOnly", "BaselineOnly"}},
      {"devices", {"OneDevice", "TwoDevices"}},
      {"shared memory", {"NoShared", "Shared64KiB"}},
      {"compiler", {"Compiler", "NoCompiler"}},
      {"tensors", {"Plain", "ByPointers"}},
      {"search", {"All", "Guided"}},
      {"new key", {"NewKeyTune", "NewKeyPredict"}},
  }};
  return *factors;
}

const std::vector<ImpossiblePair>& ImpossiblePairs() {
  static const auto* const pairs = new std::vector<ImpossiblePair>{
      {1, Of(KeyKind::kDType), 2, Of(VariantKind::kFiles), "a file's name says a config, and a dtype is part of none"},
      {2, Of(VariantKind::kTileCpp), 6, Of(SharedMemory::k64KiB), "tile kernels have no dynamic shared memory"},
      {2, Of(VariantKind::kStrided), 8, Of(Tensors::kByPointers), "a tensor that is passed ByPointers is always dense"},
  };
  return *pairs;
}

std::string Case::Name() const {
  std::string name;
  for (std::size_t factor = 0; factor < kNumFactors; ++factor) {
    if (factor > 0) name += "_";
    name += Factors()[factor].values[static_cast<std::size_t>(values[factor])];
  }
  return name;
}

std::vector<Case> AllPairs() {
  Uncovered uncovered;
  std::vector<Case> cases = OnceBugs();
  for (const Case& once : cases) uncovered.Remove(once);
  while (!uncovered.empty()) {
    Case next;
    next.values.fill(kUnset);
    auto [a, value_a, b, value_b] = uncovered.first();
    next.values[a] = value_a;
    next.values[b] = value_b;
    cases.push_back(Complete(next, uncovered));
    uncovered.Remove(cases.back());
  }
  return cases;
}

}  // namespace tuneonce::testing
