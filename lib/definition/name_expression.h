#ifndef TUNEONCE_LIB_DEFINITION_NAME_EXPRESSION_H_
#define TUNEONCE_LIB_DEFINITION_NAME_EXPRESSION_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// Whether a kernel's symbol is more than a name that tools take as it is: "ns::reduce", "reduce<TILE, float>".
TUNEONCE_API bool IsNameExpression(std::string_view symbol);

/// "reduce" of "ns::reduce<TILE, float>" and of "reduce": what the kernel is called where it is defined.
TUNEONCE_API std::string_view KernelNameIn(std::string_view symbol);

/// A name expression with the macros' values in place of their names.
struct TUNEONCE_API NameExpression {
  std::string text;                  ///< "ns::reduce<128, float>".
  std::vector<std::string> defines;  ///< The macros ("TILE=128") that the expression does not name.

  /// Makes an expression; `defines` is as in KernelSource. The kernel's own name, and a name after "::", is never
  /// replaced.
  static NameExpression Of(std::string_view symbol, const std::vector<std::string>& defines);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_NAME_EXPRESSION_H_
