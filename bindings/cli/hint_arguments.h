#ifndef TUNEONCE_BINDINGS_CLI_HINT_ARGUMENTS_H_
#define TUNEONCE_BINDINGS_CLI_HINT_ARGUMENTS_H_

#include <charconv>
#include <string>
#include <vector>

#include "tuneonce/kernel/hints.h"

namespace tuneonce::cli {

/// "occupancy=4" and the like as values of hints. Errors: InvalidArgument for what is no NAME=NUMBER, or comes twice.
inline Result<HintValues> ParseHints(const std::vector<std::string>& arguments) {
  HintValues values;
  for (const std::string& argument : arguments) {
    std::size_t equals = argument.find('=');
    std::int64_t value = 0;
    const char* end = argument.data() + argument.size();
    if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size() ||
        std::from_chars(argument.data() + equals + 1, end, value).ptr != end) {
      return InvalidArgumentError("'" + argument + "' is no hint: write NAME=NUMBER, as in occupancy=4");
    }
    if (!values.emplace(argument.substr(0, equals), value).second) {
      return InvalidArgumentError("hint '" + argument.substr(0, equals) + "' is given twice");
    }
  }
  return values;
}

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_HINT_ARGUMENTS_H_
