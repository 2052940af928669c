#ifndef TUNEONCE_LIB_BASE_NUMBER_TEXT_H_
#define TUNEONCE_LIB_BASE_NUMBER_TEXT_H_

#include <string>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// The shortest text that reads back as exactly `value`, which must be finite: "0.5", "64", "1e+300"; of two of one
/// length the one without an exponent. The same as std::to_chars, which compilers before gcc 11 do not have for these,
/// and independent of the locale. Thread-safe.
TUNEONCE_API std::string ShortestText(double value);
TUNEONCE_API std::string ShortestText(float value);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_NUMBER_TEXT_H_
