#include "search/extent_classes.h"

#include <algorithm>
#include <set>
#include <variant>

namespace tuneonce {
inline namespace v0 {
namespace {

/// Extents beyond this are not looked at for a prime: dividing them takes too long.
constexpr std::int64_t kMostForPrimes = std::int64_t{1} << 32;

bool IsPrime(std::int64_t number) {
  if (number < 2) return false;
  for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return true;
}

void AddOnce(std::int64_t extent, std::vector<std::int64_t>* extents) {
  if (std::find(extents->begin(), extents->end(), extent) == extents->end()) extents->push_back(extent);
}

/// Returns the extents of one dim's bucket to verify, in order of importance.
std::vector<std::int64_t> ExtentsOf(const ExtentRange& range, std::int64_t launched, std::int64_t bound,
                                    const ExtentClasses& classes) {
  std::vector<std::int64_t> extents = {launched};
  AddOnce(bound, &extents);
  for (std::int64_t extent : {bound - 1, range.first}) {
    if (extent >= range.first && extent <= range.last) AddOnce(extent, &extents);
  }
  // There is a prime between any number and its double.
  const std::int64_t above_half = std::max(range.first, range.last / 2 + 1);
  for (std::int64_t extent = above_half; extent <= std::min(range.last, kMostForPrimes); ++extent) {
    if (!IsPrime(extent)) continue;
    AddOnce(extent, &extents);
    break;
  }
  std::set<std::uint32_t> covered;
  for (std::int64_t extent : extents) covered.insert(classes.ClassOf(extent));
  for (std::int64_t extent : classes.OneOfEach(range.first, range.last)) {
    if (covered.insert(classes.ClassOf(extent)).second) extents.push_back(extent);
  }
  return extents;
}

std::set<std::int64_t> NumbersOf(const std::vector<Config>& configs) {
  std::set<std::int64_t> numbers;
  for (const Config& config : configs) {
    for (std::size_t axis = 0; axis < config.values().size(); ++axis) {
      const auto* number = std::get_if<std::int64_t>(&config.values()[axis]);
      if (number != nullptr && config.Kind(axis) == AxisKind::kStructural) numbers.insert(*number);
    }
  }
  return numbers;
}

}  // namespace

ExtentClasses::ExtentClasses(const std::vector<Config>& configs) : ExtentClasses(NumbersOf(configs)) {}

ExtentClasses::ExtentClasses(const std::set<std::int64_t>& numbers) {
  std::set<std::int64_t> factors;
  for (std::int64_t number : numbers) {
    if (number <= 1) continue;
    while (number % 2 == 0) number /= 2;
    if (number > 1) factors.insert(number);
  }
  for (std::int64_t factor : factors) {
    if (odd_factors_.size() < kMostFactors) odd_factors_.push_back(factor);
  }
}

std::uint32_t ExtentClasses::ClassOf(std::int64_t extent) const {
  std::uint32_t zero_bits = kMostZeroBits;
  if (extent > 0) {
    zero_bits =
        static_cast<std::uint32_t>(std::min(kMostZeroBits, __builtin_ctzll(static_cast<unsigned long long>(extent))));
  }
  std::uint32_t divided_by = 0;
  for (std::size_t i = 0; i < odd_factors_.size(); ++i) {
    if (extent % odd_factors_[i] == 0) divided_by |= std::uint32_t{1} << i;
  }
  return divided_by << 8 | zero_bits;
}

std::vector<std::int64_t> ExtentClasses::OneOfEach(std::int64_t first, std::int64_t last) const {
  const std::size_t most = std::size_t{kMostZeroBits + 1} << odd_factors_.size();
  const std::int64_t above_half = std::max(first, last / 2 + 1);
  std::vector<std::int64_t> extents;
  std::set<std::uint32_t> found;
  std::int64_t num_looked = 0;
  auto look_at = [&](std::int64_t extent) {
    if (found.insert(ClassOf(extent)).second) extents.push_back(extent);
    return ++num_looked < kMostLooked && found.size() < most;
  };
  std::int64_t extent = above_half;
  while (extent <= last && look_at(extent)) ++extent;
  if (extent <= last) return extents;
  extent = above_half - 1;
  while (extent >= first && look_at(extent)) --extent;
  return extents;
}

ExtentRange BucketOf(const KeyPart& part, std::int64_t extent) {
  const std::int64_t bound = part.Round(extent);
  const auto at_least = std::lower_bound(part.values.begin(), part.values.end(), bound);
  switch (part.bucket) {
    case KeyPart::Bucket::kExact:
      break;
    case KeyPart::Bucket::kNextPow2:
      return {bound / 2 + 1, bound};
    case KeyPart::Bucket::kBounds:
      if (at_least == part.values.end()) return {std::max(part.values.back(), bound / 2) + 1, bound};
      return {at_least == part.values.begin() ? 1 : *(at_least - 1) + 1, bound};
    case KeyPart::Bucket::kNearest: {
      // Between two equally near entries the smaller one is taken.
      const std::int64_t first = at_least == part.values.begin() ? 1 : (*(at_least - 1) + bound) / 2 + 1;
      if (at_least + 1 == part.values.end()) return {first, std::max(2 * bound, extent)};
      return {first, (bound + *(at_least + 1)) / 2};
    }
  }
  return {extent, extent};
}

std::vector<Dims> VerificationDims(const KernelDefinition& definition, const Dims& launched,
                                   const ExtentClasses& classes, std::size_t most) {
  std::vector<std::pair<Dim, std::vector<std::int64_t>>> rounded;
  std::size_t longest = 0;
  Dims bounds = launched;
  for (const KeyPart& part : definition.key()) {
    if (part.kind != KeyPart::Kind::kDim || part.bucket == KeyPart::Bucket::kExact) continue;
    const Dim dim = definition.DimOf(part.name);
    bounds[dim] = part.Round(launched[dim]);
    rounded.emplace_back(dim, ExtentsOf(BucketOf(part, launched[dim]), launched[dim], bounds[dim], classes));
    longest = std::max(longest, rounded.back().second.size());
  }
  std::vector<Dims> all;
  auto add = [&](const Dims& dims) {
    if (all.size() < most && std::find(all.begin(), all.end(), dims) == all.end()) all.push_back(dims);
  };
  if (!rounded.empty()) add(launched);
  // A path for full tiles of one dim may be incorrect where another dim has a partial tile.
  for (const auto& [dim, extents] : rounded) {
    Dims dims = bounds;
    dims[dim] = *std::min_element(extents.begin(), extents.end(), [](std::int64_t a, std::int64_t b) {
      return (a & -a) < (b & -b);  // The lowest bit that is set: odd extents come first.
    });
    add(dims);
  }
  for (std::size_t i = 0; i < longest; ++i) {
    Dims dims = launched;
    for (const auto& [dim, extents] : rounded) dims[dim] = extents[i % extents.size()];
    add(dims);
  }
  return all;
}

}  // namespace v0
}  // namespace tuneonce
