#ifndef TUNEONCE_LIB_SEARCH_EXTENT_CLASSES_H_
#define TUNEONCE_LIB_SEARCH_EXTENT_CLASSES_H_

#include <cstdint>
#include <set>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Extents of a dim by how they divide into tiles. Two extents are of one class if they have as many trailing zero bits
/// (8 at most count) and are divided by the same of the odd factors that the values of the space's axes have: a tile of
/// 96 is a multiple of 3. A kernel that is incorrect where a tile is cut at the edge is so for whole classes.
class ExtentClasses {
 public:
  /// `configs` are those of a space. Hint and option axes do not count, since they tile nothing. At most kMostFactors
  /// odd factors count, the smallest ones.
  explicit ExtentClasses(const std::vector<Config>& configs);
  /// `numbers`: the values of structural axes.
  explicit ExtentClasses(const std::set<std::int64_t>& numbers);
  static constexpr std::size_t kMostFactors = 4;
  static constexpr int kMostZeroBits = 8;

  /// Returns whether some axis has a value with an odd factor, so that the classes depend on the configs.
  bool has_odd_factors() const { return !odd_factors_.empty(); }
  /// A number that is the same for extents of one class and differs for others.
  std::uint32_t ClassOf(std::int64_t extent) const;
  /// Returns a number that grows with each power of two of the extent, and is above those of all classes. Verification
  /// at small extents does not show what a grid or an index does at much larger ones.
  static std::uint64_t ReachOf(std::int64_t extent) {
    const int num_bits = extent > 1 ? 64 - __builtin_clzll(static_cast<unsigned long long>(extent - 1)) : 0;
    return (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(num_bits);
  }
  /// Returns one extent from `first` to `last` of each class that occurs there. It is the least above half of `last`,
  /// where there is one: runs at such extents have several tiles, and cost least. Looks at no more than kMostLooked
  /// extents, which is several times the period in which classes recur.
  std::vector<std::int64_t> OneOfEach(std::int64_t first, std::int64_t last) const;
  static constexpr std::int64_t kMostLooked = std::int64_t{1} << 15;

 private:
  std::vector<std::int64_t> odd_factors_;
};

/// The extents that share a key's value of one dim.
struct ExtentRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};
/// Returns the range of the bucket that contains `extent`. The last bucket of KeyPart::Nearest is unlimited: its range
/// ends at twice the tuned value, or at `extent`.
ExtentRange BucketOf(const KeyPart& part, std::int64_t extent);

/// The dims at which a config has to be verified that was measured at the bound of the key which a launch at `launched`
/// has: the launch's own, the bound, the bound less one, the least of the bucket, a prime, and one of each class of
/// extents. All dims that the key rounds change together, and each of them is ragged once while the others are at their
/// bounds. Dims that the key omits stay the launch's. At most `most`, without repetitions. Empty where the key rounds
/// no dim.
std::vector<Dims> VerificationDims(const KernelDefinition& definition, const Dims& launched,
                                   const ExtentClasses& classes, std::size_t most);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_EXTENT_CLASSES_H_
