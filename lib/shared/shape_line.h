#ifndef TUNEONCE_LIB_SHARED_SHAPE_LINE_H_
#define TUNEONCE_LIB_SHARED_SHAPE_LINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One line of a file of shapes, as a process records them and `tuneonce tune --shapes` reads them:
///   matmul M=64 N=4096 x=float16 eps=1e-05  # 120 launches
/// A dim's extent, a scalar's number or a tensor's dtype each, by name; the kernel, and what is behind '#', may be
/// missing. Blanks or commas are between; in names these,
/// and %, = and #, are written %20 and so on. A value.
struct ShapeLine {
  std::string kernel;                                       ///< Empty: not said.
  std::vector<std::pair<std::string, std::string>> values;  ///< In the line's order, each name once.
  std::int64_t launches = 0;                                ///< 0: not said.

  bool is_empty() const { return kernel.empty() && values.empty(); }
};

/// `line` without its end. Empty for a blank line or a comment. Errors: InvalidArgument, for what is no such line.
TUNEONCE_API Result<ShapeLine> ParseShapeLine(std::string_view line);

/// The line without its count, of which two are equal if they say the same in the same order.
TUNEONCE_API std::string ShapeText(const ShapeLine& shape);
/// ShapeText, with the count.
TUNEONCE_API std::string ShapeLineText(const std::string& shape_text, std::int64_t launches);

/// What the first line of a recorded file is.
inline constexpr char kShapesHeader[] = "# tuneonce shapes 1: tuneonce tune --shapes FILE";

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SHARED_SHAPE_LINE_H_
