#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_MATH_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_MATH_H_

#include <string>
#include <string_view>

#include "tuneonce/api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// How float32 operations of Tile IR may depart from IEEE 754. A member that is false leaves the code as it is.
struct TileIrMath {
  /// Subnormal operands and results count as zero: the flag of addf, subf, mulf, divf, fma, maxf, minf, exp2, sqrt and
  /// rsqrt, wherever they stand (the body of a reduction included).
  bool flush_to_zero = false;
  /// divf, sqrt, tanh (from bytecode 13.2 on) and exp (from 13.3 on) are computed approximately. An operation that
  /// rounds toward zero or an infinity keeps its rounding mode, which somebody chose for a reason.
  bool approximate = false;
};

/// The bytecode with `math` applied to the float32 operations of the entry `entry`, which may be empty where the file
/// has one entry. Every other byte, and the file's length, stay as they are. A pure function of its arguments. Errors:
/// InvalidArgument with the offset of what is wrong, or of an operation that this version does not know; NotFound for
/// the entry.
TUNEONCE_API Result<std::string> PatchTileIrMath(std::string_view bytecode, const TileIrMath& math,
                                                 std::string_view entry = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_MATH_H_
