#ifndef TUNEONCE_LIB_LAUNCH_VARIANT_SET_H_
#define TUNEONCE_LIB_LAUNCH_VARIANT_SET_H_

#include <cstddef>
#include <cstdint>

#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// What a call excludes because its arguments violate assumptions: variants of the definition, and configs whose
/// requirement has a part that fails (KernelDefinition::requirement_atoms). Immutable.
class VariantSet {
 public:
  /// Makes an empty set.
  VariantSet() = default;
  /// Makes a set from the result of bits(). Bit i stands for the i-th variant, and the bits after those of the variants
  /// for the parts of requirements.
  explicit VariantSet(std::uint32_t bits) : bits_(bits) {}

  std::uint32_t bits() const { return bits_; }
  bool is_empty() const { return bits_ == 0; }
  bool Has(std::size_t variant) const { return (bits_ >> variant & 1u) != 0; }
  VariantSet With(std::size_t variant) const { return VariantSet(bits_ | 1u << variant); }
  /// True if all of these are among `others`.
  bool IsWithin(VariantSet others) const { return (bits_ & ~others.bits_) == 0; }

 private:
  std::uint32_t bits_ = 0;
};
static_assert(KernelDefinition::kMaxVariants == 8 * sizeof(std::uint32_t));

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_VARIANT_SET_H_
