#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_MEMORY_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_MEMORY_H_

#include <vector>

#include "inspect/classification.h"
#include "inspect/tile_ir_facts.h"
#include "tile_ir/tile_ir_body.h"
#include "tile_ir/tile_ir_functions.h"

namespace tuneonce {
inline namespace v0 {

/// Adds how a body accesses memory: what the compiler sees of strides, which loads and stores are ordered, and whether
/// blocks communicate.
void AddMemoryEvidence(const ParsedTileIr& parsed, const TileIrBody& body, const std::vector<TileIrType>& types,
                       const TileIrFacts& facts, KernelEvidence* evidence);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_MEMORY_H_
