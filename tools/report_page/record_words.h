#ifndef TUNEONCE_TOOLS_REPORT_PAGE_RECORD_WORDS_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_RECORD_WORDS_H_

#include <string>

#include "store/stored_enums.h"

namespace tuneonce {
inline namespace v0 {
namespace report {

/// The name of an outcome, reason or kind of inputs as records have it.
template <typename Enum>
std::string WordOf(Enum value) {
  const auto* stored = FindStored(value);
  return stored == nullptr ? "unknown" : std::string(stored->word);
}

}  // namespace report
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_RECORD_WORDS_H_
