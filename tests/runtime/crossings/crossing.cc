#include "runtime/crossings/crossing.h"

#include <cstddef>
#include <utility>

namespace tuneonce::testing {
namespace {

const std::array<std::vector<const char*>, Crossing::kNumFactors>& Names() {
  static const std::array<std::vector<const char*>, Crossing::kNumFactors> names = {{
      {"Exact", "NextPow2", "Bounds", "Nearest", "Omitted"},
      {"NoFault", "RaggedTail", "OddTiles", "OddExtents", "MultipleOf6", "BehindOutput", "Negatives", "Everything",
       "OtherScalar", "OtherAddress", "DerivedValue"},
      {"Source", "Callable", "Strided", "TileCpp"},
      {"Mixed", "Zero", "Positive", "NotANumber"},
      {"Nothing", "SameKernel", "NotVerified", "LooseTolerance", "OtherConfigs", "SharedSelection",
       "CorrectCodeBefore"},
      {"InProcess", "Isolated"},
      {"All", "Guided"},
      {"Tune", "Predict"},
  }};
  return names;
}

bool IsPossible(const Crossing& crossing) {
  // A launcher of the host's runs in this process, and its code is not seen to change.
  const bool is_callable = crossing.variant() == CrossedVariant::kCallable;
  if (is_callable && crossing.isolated() == Isolated::kYes) return false;
  if (is_callable && crossing.origin() == RecordOrigin::kCorrectCodeBefore) return false;
  return !(is_callable && crossing.fault() == Fault::kDerivedValue);
}

/// An upper bound of the number of values of a factor.
constexpr std::size_t kMaxValues = 64;
constexpr std::size_t kNumPairs = Crossing::kNumFactors * (Crossing::kNumFactors - 1) / 2;
constexpr std::size_t kNumPairIds = Crossing::kNumFactors * Crossing::kNumFactors * kMaxValues * kMaxValues;

/// A number for each pair of factors with a value of each.
std::array<std::size_t, kNumPairs> PairIdsOf(const Crossing& crossing) {
  std::array<std::size_t, kNumPairs> ids{};
  std::size_t next = 0;
  for (std::size_t a = 0; a < Crossing::kNumFactors; ++a) {
    for (std::size_t b = a + 1; b < Crossing::kNumFactors; ++b) {
      const auto values =
          static_cast<std::size_t>(crossing.values[a]) * kMaxValues + static_cast<std::size_t>(crossing.values[b]);
      ids[next++] = (a * Crossing::kNumFactors + b) * kMaxValues * kMaxValues + values;
    }
  }
  return ids;
}

std::vector<Crossing> EveryCrossing() {
  std::vector<Crossing> all = {Crossing()};
  for (std::size_t factor = 0; factor < Crossing::kNumFactors; ++factor) {
    std::vector<Crossing> longer;
    for (const Crossing& crossing : all) {
      for (std::size_t value = 0; value < Names()[factor].size(); ++value) {
        longer.push_back(crossing);
        longer.back().values[factor] = static_cast<int>(value);
      }
    }
    all = std::move(longer);
  }
  std::vector<Crossing> possible;
  for (const Crossing& crossing : all) {
    if (IsPossible(crossing)) possible.push_back(crossing);
  }
  return possible;
}

}  // namespace

std::string Crossing::Name() const {
  std::string name;
  for (std::size_t factor = 0; factor < kNumFactors; ++factor) {
    name += (factor > 0 ? "_" : "") + std::string(Names()[factor][static_cast<std::size_t>(values[factor])]);
  }
  return name;
}

std::vector<Crossing> Crossings(bool all) {
  std::vector<Crossing> every = EveryCrossing();
  if (all) return every;
  // Greedy: each time the first of the crossings that add the most missing pairs. What one adds only shrinks, so that
  // it is counted again only if it added more than the best so far when it was last counted.
  std::vector<char> is_missing(kNumPairIds, 0);
  for (const Crossing& crossing : every) {
    for (const std::size_t id : PairIdsOf(crossing)) is_missing[id] = 1;
  }
  std::vector<Crossing> chosen;
  std::vector<std::size_t> adds(every.size(), kNumPairs);
  for (;;) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < every.size(); ++i) {
      if (adds[i] <= most) continue;
      adds[i] = 0;
      for (const std::size_t id : PairIdsOf(every[i])) adds[i] += static_cast<std::size_t>(is_missing[id]);
      if (adds[i] > most) best = i, most = adds[i];
    }
    if (most == 0) break;
    chosen.push_back(every[best]);
    for (const std::size_t id : PairIdsOf(every[best])) is_missing[id] = 0;
  }
  return chosen;
}

}  // namespace tuneonce::testing
