#ifndef TUNEONCE_LIB_DEFINITION_CODE_ASSUMPTION_H_
#define TUNEONCE_LIB_DEFINITION_CODE_ASSUMPTION_H_

#include <cstddef>
#include <cstdint>

namespace tuneonce {
inline namespace v0 {

/// An assumption of a kernel's code about one of its parameters, as the code states it: `assume` in Tile IR, or
/// `.align` of a pointer in PTX. Compilers optimize by it, and results are undefined where it does not hold.
struct CodeAssumption {
  enum class Kind {
    kDivisibleBy,  ///< The number, or the address in bytes, is a multiple of `value`.
    kAtLeast,
    kAtMost,
  };

  Kind kind = Kind::kDivisibleBy;
  std::size_t parameter = 0;  ///< Index among the kernel's own parameters.
  std::int64_t value = 1;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_CODE_ASSUMPTION_H_
