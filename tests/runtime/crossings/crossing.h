#ifndef TUNEONCE_TESTS_RUNTIME_CROSSINGS_CROSSING_H_
#define TUNEONCE_TESTS_RUNTIME_CROSSINGS_CROSSING_H_

#include <array>
#include <string>
#include <vector>

namespace tuneonce::testing {

/// What decides the key of the crossing suite's kernel.
enum class CrossedKey { kExact, kNextPow2, kBounds, kNearest, kOmitted };
/// At which extents, or on which data, the fastest config computes an incorrect result.
enum class Fault {
  kNone,
  kRaggedTail,    ///< Extents that 16 does not divide.
  kOddTiles,      ///< Odd multiples of 16, such as the first launch's extent, and not the bound of its bucket.
  kOddExtents,    ///< Odd extents.
  kMultipleOf6,   ///< Multiples of 6 and not of 12: a class of extents by a tile of 24.
  kBehindOutput,  ///< It writes up to the next multiple of 16.
  kNegatives,     ///< Negative inputs.
  kEverything,    ///< It writes zeros.
  kOtherScalar,   ///< Values of the free scalar other than 2.
  kOtherAddress,  ///< Inputs that lie at other addresses than a multiple of 256.
  kDerivedValue,  ///< Code and grid are the correct config's; a derived value differs.
};
/// How configs are built. kTileCpp: CUDA Tile C++ to the library, whose artifacts state the types of their parameters;
/// C++ to the CPU device.
enum class CrossedVariant { kSource, kCallable, kStrided, kTileCpp };
/// What the first launch's input holds.
enum class Data { kMixed, kZero, kPositive, kNotANumber };
/// What the store holds when the kernel is created.
enum class RecordOrigin {
  kNothing,
  kSameKernel,        ///< A search of the same kernel.
  kNotVerified,       ///< A search with Verify::kOff.
  kLooseTolerance,    ///< A search of a kernel whose tolerance accepts everything.
  kOtherConfigs,      ///< A search over other configs.
  kSharedSelection,   ///< Another kernel's selection, by AutotunePolicy::selection_group.
  kCorrectCodeBefore  ///< A search made when the source was correct.
};
enum class Isolated { kNo, kYes };
/// Which configs the search tries. kGuided: those that a strategy proposes, for the space has more than MaxConfigs.
enum class Searched { kAll, kGuided };
/// AutotunePolicy::on_new_key.
enum class NewKey { kTune, kPredict };

/// One combination, as the index of each factor's value.
struct Crossing {
  static constexpr std::size_t kNumFactors = 8;
  std::array<int, kNumFactors> values{};

  CrossedKey key() const { return static_cast<CrossedKey>(values[0]); }
  Fault fault() const { return static_cast<Fault>(values[1]); }
  CrossedVariant variant() const { return static_cast<CrossedVariant>(values[2]); }
  Data data() const { return static_cast<Data>(values[3]); }
  RecordOrigin origin() const { return static_cast<RecordOrigin>(values[4]); }
  Isolated isolated() const { return static_cast<Isolated>(values[5]); }
  Searched searched() const { return static_cast<Searched>(values[6]); }
  NewKey new_key() const { return static_cast<NewKey>(values[7]); }

  /// "NextPow2_RaggedTail_Source_Mixed_Nothing_InProcess_All_Tune".
  std::string Name() const;
};

/// Each pair of values of two factors in some crossing, by few of them, the same each time. `all`: every combination.
std::vector<Crossing> Crossings(bool all);

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_RUNTIME_CROSSINGS_CROSSING_H_
