#ifndef TUNEONCE_TOOLS_INSPECT_CLASSIFICATION_H_
#define TUNEONCE_TOOLS_INSPECT_CLASSIFICATION_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct Family;  // A family as data; opaque to the tools' users.

/// What is found in a kernel's code in any language: counts of operations as they are written, not as they are
/// executed. The reader of a language fills it (TileIrEvidence, PtxEvidence), and Classify draws the conclusion.
struct KernelEvidence {
  int num_products = 0;         ///< Matrix products (mma).
  int num_float8_products = 0;  ///< The products of two 8-bit floats.
  /// The products with an operand that is a softmax (exponentials, with a row's maximum or sum, of another product).
  int num_products_of_softmax = 0;
  /// The products with an operand that is made of another product, without a softmax.
  int num_products_of_products = 0;
  /// Sums of products of loaded numbers, in plain arithmetic. Seen in PTX alone.
  int num_plain_products = 0;
  /// A product's result is multiplied with a value of a tensor or parameter (a product with scales of its own has it).
  bool has_scaled_product = false;
  /// Whether the results of two products are multiplied with each other. In Tile IR the two products share an operand.
  bool has_gated_products = false;
  int num_reductions = 0;
  /// Whether a stored tensor is as long as a reduced one and computed from the reduction's result and the elements.
  bool applies_reduction = false;
  int num_scans = 0;
  int num_permutes = 0;  ///< Elements change places.
  int num_loads = 0;
  int num_stores = 0;
  int num_atomics = 0;
  /// Where they read, or whether, was read itself, by each block its own: offsets, lengths, indices, page tables.
  int num_loads_by_content = 0;
  int num_in_place = 0;  ///< Tensors that are loaded and stored.
  /// Matrix products whose nearest loop has no bounds that the compiler knows (Tile IR's `loop`).
  int num_products_in_plain_loops = 0;
  /// Accesses by the tile, of a tensor whose strides are seen to be multiples of 16 bytes, or are not: kernel
  /// parameters by index. Seen in Tile IR alone, as the rest of what warnings are made of.
  std::set<int> aligned_tensors, unaligned_tensors;
  /// Kernel parameters whose tensor is loaded and stored, neither ordered before the other.
  std::set<int> unordered_tensors;
  /// Another block's atomic operation decides what runs, and does not order what that block stored.
  bool has_unordered_signal = false;
  /// A loop ends when another block has written something.
  bool waits_for_blocks = false;
  bool is_persistent = false;  ///< A loop that stores steps from block to block of the grid.
  /// The largest tile of a product, and the most elements that a store has. 0: not seen.
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
  std::int64_t tile_k = 0;
  std::int64_t tile_elements = 0;
};

/// The family of a kernel. It is null if the evidence fits no family or more than one. `reasons` states what was found.
struct Classification {
  const Family* family = nullptr;
  std::vector<std::string> reasons;

  /// Returns the family's name, or "unknown".
  const char* name() const;
};

/// A pure function of the evidence: the tree of docs/internal/spaces.md, from the top.
Classification Classify(const KernelEvidence& evidence);

/// Whether the family's kernels are bound by memory at all sizes: their blocks share nothing.
bool IsMemoryBound(const Family& family);

/// What the entry `symbol` of the bytecode is seen to do: its operations are counted, and what is in a value is
/// followed from loads to stores, through loops. Nothing is run, and time is bounded by the size. Errors:
/// InvalidArgument with the offset of what is wrong, or of an operation that no version until 13.5 has; NotFound for
/// the symbol.
Result<KernelEvidence> TileIrEvidence(std::string_view bytecode, std::string_view symbol);

/// What the kernel `symbol` of a PTX text (empty: the only one) is seen to do: its instructions are counted, and what
/// is in a register is followed from loads to stores. It is seen less well than in Tile IR, where a tile is one value:
/// which tile a thread has is not known, what goes through shared memory is known by kind only, and a product is many
/// instructions.
/// Errors: InvalidArgument for what is no PTX or has no such kernel; Unimplemented for a kernel that calls a function
/// of its own. Time is bounded by the size.
Result<KernelEvidence> PtxEvidence(std::string_view ptx, std::string_view symbol);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_CLASSIFICATION_H_
