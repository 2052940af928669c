#ifndef TUNEONCE_CODE_ASSUMPTION_H_
#define TUNEONCE_CODE_ASSUMPTION_H_

#include <cstddef>
#include <cstdint>

namespace tuneonce {
inline namespace v0 {

/// An assumption that a kernel's code states about one of the kernel's parameters: `assume` in Tile IR
/// (`assume_divisible` in CUDA Tile C++), `.align` of a pointer in PTX. Compilers optimize by it, so results are
/// undefined for arguments that violate it. It has value semantics.
struct CodeAssumption {
  enum class Kind {
    kDivisibleBy,  ///< The number, or the address in bytes, is a multiple of `value`.
    kAtLeast,      ///< The number is `value` or more.
    kAtMost,       ///< The number is `value` or less.
  };

  Kind kind = Kind::kDivisibleBy;
  std::size_t parameter = 0;  ///< Index of the parameter in the compiled kernel's signature.
  std::int64_t value = 1;
};

/// Returns the name of a kind: "divisible_by", "at_least" or "at_most".
constexpr const char* CodeAssumptionName(CodeAssumption::Kind kind) {
  return kind == CodeAssumption::Kind::kDivisibleBy ? "divisible_by"
         : kind == CodeAssumption::Kind::kAtLeast   ? "at_least"
                                                    : "at_most";
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CODE_ASSUMPTION_H_
