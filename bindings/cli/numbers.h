#ifndef TUNEONCE_BINDINGS_CLI_NUMBERS_H_
#define TUNEONCE_BINDINGS_CLI_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// The value of an option that takes a number from 1 on. Errors: InvalidArgument, naming the option.
inline Result<int> ParseCount(const std::string& option, const std::string& text) {
  std::optional<int> count = ParseNumber<int>(text);
  if (count && *count > 0) return *count;
  return InvalidArgumentError(option + " " + text + ": the value must be a whole number from 1 to 2147483647");
}

/// "90s", "10m", "1h30m" or "250ms" in milliseconds. Errors: InvalidArgument, naming the option.
inline Result<std::int64_t> ParseDurationMs(const std::string& option, const std::string& text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}};
  constexpr std::int64_t kMostMs = std::numeric_limits<int>::max();  // 24 days.
  const Status wrong = InvalidArgumentError(option + " " + text + ": write a time as 90s, 10m or 1h30m, at most 500h");
  std::string_view left = text;
  std::int64_t total = 0;
  while (!left.empty()) {
    const std::size_t digits = std::min(left.find_first_not_of("0123456789"), left.size());
    const std::optional<std::int64_t> number = ParseNumber<std::int64_t>(left.substr(0, digits));
    left.remove_prefix(digits);
    const std::size_t letters = std::min(left.find_first_of("0123456789"), left.size());
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                    [&](const auto& each) { return each.first == left.substr(0, letters); });
    if (!number || unit == std::end(kUnits) || *number > kMostMs / unit->second) return wrong;
    total += *number * unit->second;
    left.remove_prefix(letters);
    if (total > kMostMs) return wrong;
  }
  if (total <= 0) return wrong;
  return total;
}

inline Status NotASetting(const std::string& setting, const std::string& what) {
  const char* article = std::string_view("aeiou").find(what.front()) == std::string_view::npos ? "a " : "an ";
  return InvalidArgumentError("'" + setting + "' is not " + article + what + ": write NAME=NUMBER");
}

/// Returns "NAME=VALUE" settings by name. Errors: InvalidArgument for a setting of another form, or a repeated name.
/// `what` appears in the message: "hint", as in "'x' is not a hint: write NAME=NUMBER".
inline Result<std::map<std::string, std::string>> ParseSettings(const std::vector<std::string>& settings,
                                                                const std::string& what) {
  std::map<std::string, std::string> values;
  for (const std::string& setting : settings) {
    std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == setting.size()) {
      return NotASetting(setting, what);
    }
    std::string name = setting.substr(0, equals);
    if (!values.emplace(name, setting.substr(equals + 1)).second) {
      return InvalidArgumentError(what + " '" + name + "' is given twice");
    }
  }
  return values;
}

/// Returns "NAME=NUMBER" settings by name. `what` and errors are those of ParseSettings.
inline Result<std::map<std::string, std::int64_t>> ParseIntegers(const std::vector<std::string>& settings,
                                                                 const std::string& what) {
  TUNEONCE_ASSIGN_OR_RETURN(auto texts, ParseSettings(settings, what));
  std::map<std::string, std::int64_t> numbers;
  for (const auto& [name, text] : texts) {
    std::optional<std::int64_t> number = ParseNumber<std::int64_t>(text);
    if (!number) return NotASetting(name + "=" + text, what);
    numbers.emplace(name, *number);
  }
  return numbers;
}

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_NUMBERS_H_
