#ifndef TUNEONCE_LIB_BASE_NUMBER_TEXT_H_
#define TUNEONCE_LIB_BASE_NUMBER_TEXT_H_

#include <string>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

// std::to_chars writes the same texts, but compilers before gcc 11 do not have it for these types. absl::StrFormat is
// no substitute: beyond about 1e38 and below about 1e-21 it follows the host's locale, as printf does. All functions
// are thread-safe and write a point in every locale.

/// Returns the shortest text that reads back as exactly `value`, which must be finite: "0.5", "64", "1e+300". Between
/// two texts of one length it prefers the one without an exponent.
TUNEONCE_API std::string ShortestText(double value);
TUNEONCE_API std::string ShortestText(float value);

/// `value` as printf writes it in the "C" locale by "%.<precision><conversion>", whose conversion is 'e', 'f' or 'g'.
TUNEONCE_API std::string RealText(double value, char conversion, int precision);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_NUMBER_TEXT_H_
