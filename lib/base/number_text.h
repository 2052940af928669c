#ifndef TUNEONCE_LIB_BASE_NUMBER_TEXT_H_
#define TUNEONCE_LIB_BASE_NUMBER_TEXT_H_

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "absl/strings/charconv.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

// std::to_chars writes the same texts, but compilers before gcc 11 do not have it for these types. absl::StrFormat is
// no substitute: beyond about 1e38 and below about 1e-21 it follows the host's locale, as printf does. All functions
// are thread-safe and write a point in every locale.

/// Returns the shortest text that reads back as exactly `value`: "0.5", "64", "1e+300". Between two texts of one
/// length it prefers the one without an exponent. A value that is not finite is "nan", "inf" or "-inf".
std::string ShortestText(double value);
std::string ShortestText(float value);

/// `value` as printf writes it in the "C" locale by "%.<precision><conversion>", whose conversion is 'e', 'f' or 'g'.
TUNEONCE_API std::string RealText(double value, char conversion, int precision);

/// Returns `text` as a decimal number, or nothing unless it is a whole number that fits the type: no sign but '-', no
/// spaces, no "0x", nothing after it. CLI11's own parser would read "010" as 8.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  if constexpr (std::is_floating_point_v<Number>) {  // Compilers before gcc 11 have no std::from_chars for these.
    if (text.find_first_of("xX") != text.npos) return std::nullopt;  // Abseil's takes "0x10".
    auto [stop, error] = absl::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
  } else {
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
  }
  return number;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_NUMBER_TEXT_H_
