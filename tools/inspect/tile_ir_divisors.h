#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_DIVISORS_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_DIVISORS_H_

#include <cstdint>
#include <vector>

#include "tile_ir/tile_ir_body.h"

namespace tuneonce {
inline namespace v0 {

/// By value of the body: a number that divides it whenever the kernel runs, as a compiler can see it in constants, in
/// `assume` operations and in arithmetic. 1 where nothing is known, 0 for a value that is 0.
std::vector<std::int64_t> TileIrDivisors(const ParsedTileIr& parsed, const TileIrBody& body,
                                         const std::vector<TileIrType>& types);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_DIVISORS_H_
