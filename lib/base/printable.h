#ifndef TUNEONCE_LIB_BASE_PRINTABLE_H_
#define TUNEONCE_LIB_BASE_PRINTABLE_H_

#include <string>
#include <string_view>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Returns `text`, which may come from anywhere (a record, a bundle, a tool, a path), as one line that can be shown on
/// a terminal or in a table. Characters that could move the cursor, change colours, reorder text or be invisible are
/// escaped as "\x1b", "\n" or "\u202e", and so are bytes that are not UTF-8. All other text is unchanged. Every text of
/// this library for people passes through it, except JSON, which has its own escapes. Thread-safe.
TUNEONCE_API std::string Printable(std::string_view text);

/// Returns text of several lines for a terminal, like Printable, and keeps line feeds and tabs.
std::string PrintableLines(std::string_view text);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_PRINTABLE_H_
