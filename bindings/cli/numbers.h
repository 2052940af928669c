#ifndef TUNEONCE_BINDINGS_CLI_NUMBERS_H_
#define TUNEONCE_BINDINGS_CLI_NUMBERS_H_

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/charconv.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// `text` as a decimal number, or nothing unless it is one, whole, and fits the type: no sign but '-', no spaces, no
/// "0x", nothing after it. What the option parser makes of numbers is not used: it takes "010" for 8.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  if constexpr (std::is_floating_point_v<Number>) {  // Compilers before gcc 11 have no std::from_chars for these.
    auto [stop, error] = absl::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
  } else {
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
  }
  return number;
}

/// The value of an option that takes a number from 1 on. Errors: InvalidArgument, naming the option.
inline Result<int> ParseCount(const std::string& option, const std::string& text) {
  std::optional<int> count = ParseNumber<int>(text);
  if (count && *count > 0) return *count;
  return InvalidArgumentError(option + " " + text + ": the value must be a whole number from 1 to 2147483647");
}

/// "NAME=VALUE" settings by name. Errors: InvalidArgument for what is none, or names one twice; `what` is in the
/// message: "hint", as in "'x' is no hint: write NAME=NUMBER".
inline Result<std::map<std::string, std::string>> ParseSettings(const std::vector<std::string>& settings,
                                                                const std::string& what) {
  std::map<std::string, std::string> values;
  for (const std::string& setting : settings) {
    std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == setting.size()) {
      return InvalidArgumentError("'" + setting + "' is no " + what + ": write NAME=NUMBER");
    }
    std::string name = setting.substr(0, equals);
    if (!values.emplace(name, setting.substr(equals + 1)).second) {
      return InvalidArgumentError(what + " '" + name + "' is given twice");
    }
  }
  return values;
}

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_NUMBERS_H_
