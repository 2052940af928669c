#ifndef TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_CASE_H_
#define TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_CASE_H_

#include <array>
#include <string>
#include <vector>

#include "tuneonce/autotune_policy.h"

namespace tuneonce::testing {

using Mode = AutotunePolicy::Mode;

/// How the first launch of a key comes about.
enum class Path {
  kLaunch,
  kWarmupByShape,
  kWarmupByArguments,
  kCaptureAfterWarmup,
  kCaptureOnMiss,
  kAfterFreeze,  ///< Warmed up, then frozen.
  kTunePending,
  kTwoThreads,
};
enum class KeyKind {
  kExact,
  kBucket,
  kGuardOnWinner,    ///< A bucket, and a shape in it that its winner's guard excludes.
  kGuardOnBaseline,  ///< A bucket, and a shape in it that the first baseline's guard excludes.
  kDType,
  kScalar,
  kBounds,   ///< A bucket of a list.
  kNearest,  ///< Shapes that have more than what their key is tuned at.
};
enum class VariantKind {
  kSource,
  kFiles,  ///< Precompiled.
  kCallable,
  kAssumption,   ///< One that takes for granted that x is aligned, and one behind it that does not.
  kStrided,      ///< One for contiguous tensors, and one behind it that takes a stride.
  kRequirement,  ///< One that requires for each config that x is aligned, and one behind it that does not.
  kTileCpp,      ///< CUDA Tile C++ to the library: hints, block (1, 1, 1), types of parameters; C++ to the CPU device.
};
/// What the store holds of the first shape's key.
enum class StoreState { kEmpty, kComplete, kWithoutArtifact, kIncomplete, kOtherDriver, kShipped, kFailing };
enum class Devices { kOne, kSecondOfTwo };
enum class SharedMemory { kNone, k64KiB };
enum class Compiler { kPresent, kAbsent };
enum class Tensors {
  kPlain,
  kByPointers,  ///< Of each parameter kGroups, behind a table of their addresses.
};

/// Which configs a search tries. kGuided: those that a strategy proposes, for the space has more than MaxConfigs.
enum class Searched { kAll, kGuided };
/// AutotunePolicy::on_new_key.
enum class NewKey { kTune, kPredict };

/// One combination of features, as the index of each factor's value: kFactors has their names.
struct Case {
  static constexpr std::size_t kNumFactors = 11;
  std::array<int, kNumFactors> values{};

  Path path() const { return static_cast<Path>(values[0]); }
  KeyKind key() const { return static_cast<KeyKind>(values[1]); }
  VariantKind variant() const { return static_cast<VariantKind>(values[2]); }
  StoreState store() const { return static_cast<StoreState>(values[3]); }
  Mode mode() const { return static_cast<Mode>(values[4]); }
  Devices devices() const { return static_cast<Devices>(values[5]); }
  SharedMemory shared() const { return static_cast<SharedMemory>(values[6]); }
  Compiler compiler() const { return static_cast<Compiler>(values[7]); }
  Tensors tensors() const { return static_cast<Tensors>(values[8]); }
  Searched searched() const { return static_cast<Searched>(values[9]); }
  NewKey new_key() const { return static_cast<NewKey>(values[10]); }

  static constexpr int kGroups = 2;

  bool is_bucketed() const { return key() != KeyKind::kExact && key() != KeyKind::kDType && key() != KeyKind::kScalar; }
  bool has_general_variant() const {
    return variant() == VariantKind::kAssumption || variant() == VariantKind::kStrided ||
           variant() == VariantKind::kRequirement;
  }
  /// Whether its code comes from a compiler.
  bool is_compiled() const { return variant() != VariantKind::kFiles && variant() != VariantKind::kCallable; }
  /// "Launch_Exact_Source_EmptyStore_Tune_OneDevice_NoShared_Compiler_Plain_All_NewKeyTune".
  std::string Name() const;
};

struct Factor {
  const char* name;
  std::vector<const char*> values;
};
const std::array<Factor, Case::kNumFactors>& Factors();

/// Two values that cannot come together.
struct ImpossiblePair {
  std::size_t factor_a;
  int value_a;
  std::size_t factor_b;
  int value_b;
  const char* reason;
};
const std::vector<ImpossiblePair>& ImpossiblePairs();

/// Every possible pair of values of two factors in some case, by few cases: greedily, the same each time. It begins
/// with cases that were bugs once.
std::vector<Case> AllPairs();

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_CASE_H_
