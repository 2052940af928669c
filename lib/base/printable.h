#ifndef TUNEONCE_LIB_BASE_PRINTABLE_H_
#define TUNEONCE_LIB_BASE_PRINTABLE_H_

#include <string>
#include <string_view>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// `text` as one line that may be shown on a terminal or in a text table, wherever it came from (a record, a bundle, a
/// tool, a path): what could move the cursor, change colours, reorder what stands around it or be invisible is spelled
/// out, as "\x1b", "\n" or "\u202e", and so is every byte that is no UTF-8. All else stays as it is. Whatever of this
/// library is meant for people's eyes goes through this; JSON does not, which has escapes of its own. Thread-safe.
TUNEONCE_API std::string Printable(std::string_view text);

/// The same for text of several lines: line feeds and tabs stay.
TUNEONCE_API std::string PrintableLines(std::string_view text);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_PRINTABLE_H_
