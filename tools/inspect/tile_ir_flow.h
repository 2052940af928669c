#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_FLOW_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_FLOW_H_

#include <utility>
#include <vector>

#include "tile_ir/tile_ir_body.h"

namespace tuneonce {
inline namespace v0 {

/// Pairs (from, to) of values that control flow hands on: into a loop, from one iteration to the next, and out of loops
/// and branches.
std::vector<std::pair<int, int>> CarriedValues(const TileIrBody& body);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_FLOW_H_
