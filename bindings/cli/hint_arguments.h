#ifndef TUNEONCE_BINDINGS_CLI_HINT_ARGUMENTS_H_
#define TUNEONCE_BINDINGS_CLI_HINT_ARGUMENTS_H_

#include <string>
#include <vector>

#include "numbers.h"
#include "tuneonce/hints.h"

namespace tuneonce::cli {

/// Reads arguments such as "occupancy=4" as hints. Errors: InvalidArgument for one that is not NAME=NUMBER, or occurs
/// twice.
inline Result<HintValues> ParseHints(const std::vector<std::string>& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(auto settings, ParseSettings(arguments, "hint"));
  HintValues values;
  for (const auto& [name, text] : settings) {
    std::optional<std::int64_t> value = ParseNumber<std::int64_t>(text);
    if (!value) return InvalidArgumentError("'" + name + "=" + text + "' is not a hint: write NAME=NUMBER");
    values.emplace(name, *value);
  }
  return values;
}

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_HINT_ARGUMENTS_H_
