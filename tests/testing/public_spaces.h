#ifndef TUNEONCE_TESTS_TESTING_PUBLIC_SPACES_H_
#define TUNEONCE_TESTS_TESTING_PUBLIC_SPACES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/search_space.h"

namespace tuneonce::testing {

// Search spaces that others published, as axes and the texts of conditions. The axes and restrictions are those of
// Kernel Tuner's benchmark hub (github.com/AutoTuningAssociation/benchmark_hub at 8eeb99e, kernels/gemm_milo.py,
// kernels/hotspot_milo.py and dedisp_milo/dedispersion_milo.py) and of the BAT suite (github.com/NLeSC/BAT), with
// Python's `or`, `not` and chained comparisons written as conditions.

/// A search space as data.
struct PublicSpace {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> axes;
  std::vector<std::string> conditions;

  SearchSpace Make() const {
    SearchSpace space;
    for (const auto& [name, values] : axes) space.AddAxis(name, values);
    for (const std::string& text : conditions) space.Where(text, *Condition::Parse(text));
    return space;
  }
};

/// Returns `first`, `first` + `step` and so on up to `last`.
inline std::vector<std::int64_t> Range(std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; value += step) values.push_back(value);
  return values;
}

inline std::vector<std::int64_t> Joined(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// CLBlast's GEMM with these tiles and vector widths.
inline PublicSpace GemmOf(const std::vector<std::int64_t>& tiles, const std::vector<std::int64_t>& vectors) {
  const std::vector<std::int64_t> dims = {8, 16, 32}, flag = {0, 1};
  return {{{"GEMMK", {0}},
           {"MWG", tiles},
           {"NWG", tiles},
           {"KWG", {32}},
           {"MDIMC", dims},
           {"NDIMC", dims},
           {"MDIMA", dims},
           {"NDIMB", dims},
           {"KWI", {2}},
           {"VWM", vectors},
           {"VWN", vectors},
           {"STRM", {0}},
           {"STRN", {0}},
           {"SA", flag},
           {"SB", flag},
           {"KREG", {1}},
           {"PRECISION", {32}}},
          {"KWG % KWI == 0", "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0", "MWG % (MDIMA * VWM) == 0",
           "NWG % (NDIMB * VWN) == 0", "KWG % (MDIMC * NDIMC / MDIMA) == 0", "KWG % (MDIMC * NDIMC / NDIMB) == 0",
           "!(MWG == 128 && NWG == 128 && MDIMC == 8 && NDIMC == 8)"}};
}

/// CLBlast's GEMM, the small space: 26,244 combinations.
inline PublicSpace Gemm() { return GemmOf({16, 32, 64}, {1, 2, 4}); }

/// CLBlast's GEMM with all of its tiles and vector widths, without the condition that keeps one kernel from spilling:
/// 82,944 combinations.
inline PublicSpace WholeGemm() {
  PublicSpace space = GemmOf({16, 32, 64, 128}, {1, 2, 4, 8});
  space.conditions.pop_back();
  return space;
}

/// The hotspot kernel of BAT: 22.2 million combinations.
inline PublicSpace Hotspot() {
  const std::string shared =
      "(block_size_x * tile_size_x + temporal_tiling_factor * 2) * (block_size_y * tile_size_y + "
      "temporal_tiling_factor * 2) * (2 + sh_power) * 4";
  return {{{"block_size_x", Joined({1, 2, 4, 8, 16}, Range(32, 1024, 32))},
           {"block_size_y", {1, 2, 4, 8, 16, 32}},
           {"tile_size_x", Range(1, 10)},
           {"tile_size_y", Range(1, 10)},
           {"temporal_tiling_factor", Range(1, 10)},
           {"max_tfactor", {10}},
           {"loop_unroll_factor_t", Range(1, 10)},
           {"sh_power", {0, 1}},
           {"blocks_per_sm", {0, 1, 2, 3, 4}}},
          {"block_size_x * block_size_y >= 32", "temporal_tiling_factor % loop_unroll_factor_t == 0",
           "block_size_x * block_size_y <= 1024", shared + " <= 49152",
           "blocks_per_sm == 0 || " + shared + " * blocks_per_sm <= 102400"}};
}

/// The dedispersion kernel of BAT: 123.9 million combinations.
inline PublicSpace Dedispersion() {
  std::vector<std::int64_t> divisors = {0};
  for (std::int64_t i = 1; i <= 1536; ++i) {
    if (1536 % i == 0) divisors.push_back(i);
  }
  return {{{"block_size_x", Joined({1, 2, 4, 8}, Range(16, 512, 16))},
           {"block_size_y", Range(4, 128, 4)},
           {"tile_size_x", Range(1, 16)},
           {"tile_size_y", Range(1, 16)},
           {"tile_stride_x", {0, 1}},
           {"tile_stride_y", {0, 1}},
           {"loop_unroll_factor_channel", divisors},
           {"blocks_per_sm", {0, 1, 2, 3, 4}}},
          {"32 <= block_size_x * block_size_y && block_size_x * block_size_y <= 1024",
           "tile_size_x > 1 || tile_stride_x == 0", "tile_size_y > 1 || tile_stride_y == 0"}};
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_PUBLIC_SPACES_H_
