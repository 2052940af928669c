#include "runtime/crossings/crossing.h"

#include <set>
#include <tuple>

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

/// Two factors with a value of each.
using Pair = std::tuple<std::size_t, int, std::size_t, int>;

std::vector<Pair> PairsOf(const Crossing& crossing) {
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < Crossing::kNumFactors; ++a) {
    for (std::size_t b = a + 1; b < Crossing::kNumFactors; ++b) {
      pairs.emplace_back(a, crossing.values[a], b, crossing.values[b]);
    }
  }
  return pairs;
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
  std::set<Pair> missing;
  for (const Crossing& crossing : every) {
    for (const Pair& pair : PairsOf(crossing)) missing.insert(pair);
  }
  std::vector<Crossing> chosen;
  while (!missing.empty()) {
    const Crossing* best = nullptr;
    std::size_t most = 0;
    for (const Crossing& crossing : every) {
      std::size_t adds = 0;
      for (const Pair& pair : PairsOf(crossing)) adds += missing.count(pair);
      if (adds > most) best = &crossing, most = adds;
    }
    chosen.push_back(*best);
    for (const Pair& pair : PairsOf(*best)) missing.erase(pair);
  }
  return chosen;
}

}  // namespace tuneonce::testing
