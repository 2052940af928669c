#ifndef TUNEONCE_CODE_ASSUMPTION_H_
#define TUNEONCE_CODE_ASSUMPTION_H_

#include <cstddef>
#include <cstdint>

namespace tuneonce {
inline namespace v0 {

/// Something that a kernel's code takes for granted of one of its own parameters, as the code states it: `assume` in
/// Tile IR (`assume_divisible` in CUDA Tile C++), `.align` of a pointer in PTX. A compiler optimizes by it; where it
/// does not hold, results are undefined. A value.
struct CodeAssumption {
  enum class Kind {
    kDivisibleBy,  ///< The number, or the address in bytes, is a multiple of `value`.
    kAtLeast,      ///< The number is `value` or more.
    kAtMost,       ///< The number is `value` or less.
  };

  Kind kind = Kind::kDivisibleBy;
  std::size_t parameter = 0;  ///< Index among the kernel's own parameters.
  std::int64_t value = 1;
};

/// "divisible_by", "at_least", "at_most".
constexpr const char* CodeAssumptionName(CodeAssumption::Kind kind) {
  return kind == CodeAssumption::Kind::kDivisibleBy ? "divisible_by"
         : kind == CodeAssumption::Kind::kAtLeast   ? "at_least"
                                                    : "at_most";
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CODE_ASSUMPTION_H_
