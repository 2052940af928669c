#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_EVIDENCE_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_EVIDENCE_H_

#include <string_view>

#include "inspect/classification.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What the entry `symbol` of the bytecode is seen to do: its operations are counted, and what is in a value is
/// followed from loads to stores, through loops. Nothing is run, and time is bounded by the size. Errors:
/// InvalidArgument with the offset of what is wrong, or of an operation that no version until 13.5 has; NotFound for
/// the symbol.
Result<KernelEvidence> TileIrEvidence(std::string_view bytecode, std::string_view symbol);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_EVIDENCE_H_
