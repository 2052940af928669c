#ifndef TUNEONCE_LIB_COMPILE_HEADER_REQUESTS_H_
#define TUNEONCE_LIB_COMPILE_HEADER_REQUESTS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// A place in a C++ text at which a compiler looks for a header. A value.
struct HeaderRequest {
  enum class Kind {
    kInclude,      ///< #include, #import
    kIncludeNext,  ///< #include_next
    kComputed,     ///< #include of a macro: `name` is empty.
    kAsk,          ///< __has_include
    kAskNext,      ///< __has_include_next
  };
  Kind kind = Kind::kInclude;
  std::string name;
  bool is_quoted = false;  ///< "name", not <name>.
};

/// Everything that a C++ text may look for, whichever of its branches are compiled. A value.
struct HeaderRequests {
  std::vector<HeaderRequest> requests;
  /// Macros of one parameter that ask __has_include for it, or another such macro, and are defined in this text.
  std::set<std::string> asking_macros;
  /// False if the text may depend on files that cannot be named: __has_include of a computed name, #embed, .incbin;
  /// and if it has trigraphs, or a raw string that does not end.
  bool is_complete = true;
};

/// Reads the directives of a text, whatever is commented out, in strings, or cut by a backslash. Texts in which one of
/// `asking_macros` is used are asked for it, so callers repeat this with the macros of all texts of a compile.
TUNEONCE_API HeaderRequests FindHeaderRequests(std::string_view text, const std::set<std::string>& asking_macros);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_HEADER_REQUESTS_H_
