#ifndef TUNEONCE_TOOLS_INSPECT_PTX_EVIDENCE_H_
#define TUNEONCE_TOOLS_INSPECT_PTX_EVIDENCE_H_

#include <string_view>

#include "inspect/classification.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What the kernel `symbol` of a PTX text (empty: the only one) is seen to do: its instructions are counted, and what
/// is in a register is followed from loads to stores. It is seen less well than in Tile IR, where a tile is one value:
/// which tile a thread has is not known, what goes through shared memory is known by kind only, and a product is many
/// instructions.
/// Errors: InvalidArgument for what is no PTX or has no such kernel; Unimplemented for a kernel that calls a function
/// of its own. Time is bounded by the size.
Result<KernelEvidence> PtxEvidence(std::string_view ptx, std::string_view symbol);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_PTX_EVIDENCE_H_
