#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_FACTS_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "inspect/classification.h"
#include "tile_ir/tile_ir_body.h"
#include "tile_ir/tile_ir_functions.h"

namespace tuneonce {
inline namespace v0 {

/// Pairs (from, to) of values that control flow hands on: into a loop, from one iteration to the next, and out of loops
/// and branches.
std::vector<std::pair<int, int>> CarriedValues(const TileIrBody& body);

/// What is in a value: bits, of all that it may be made of.
enum TileIrFact : std::uint32_t {
  kFactElements = 1u << 0,       ///< What was loaded, unreduced.
  kFactReduced = 1u << 1,        ///< A reduction's result.
  kFactProduct = 1u << 2,        ///< A matrix product's.
  kFactSoftmax = 1u << 3,        ///< An exponential of products and reductions.
  kFactNumBlocks = 1u << 4,      ///< The grid's extent.
  kFactBlockId = 1u << 5,        ///< The block's place in it.
  kFactScalar = 1u << 6,         ///< A parameter that is a float.
  kFactContent = 1u << 7,        ///< What was loaded from places that differ from block to block.
  kFactOfOtherBlocks = 1u << 8,  ///< What an atomic operation returned, or a load that is ordered with other blocks.
  kFactComparison = 1u << 9,     ///< The result of comparing whole numbers.
  kFactSignal = 1u << 10,       ///< Whether what came from other blocks equals a value; a queue's bound gives an order.
  kFactFirstProduct = 1u << 16  ///< And the next 15: of the i-th product (those behind have none).
};
constexpr int kMaxToldApart = 16;  ///< Products.

/// Facts of each value of a body, and which of the function's parameters a pointer or view is of.
struct TileIrFacts {
  std::vector<std::uint32_t> facts;
  std::vector<int> origins;   ///< -1: of none, or not known.
  std::vector<int> products;  ///< Operations that are matrix products, in order.

  /// Goes through the operations until nothing is added (loops carry facts back).
  static TileIrFacts Of(const TileIrBody& body, const std::vector<TileIrType>& types);

  /// Returns the combined facts of all operands of `operation`.
  std::uint32_t OfOperands(const TileIrOperation& operation) const;
  /// Returns the facts of the place that a load reads: of its pointer, or of its view and the index in that view.
  /// Tokens have no facts.
  std::uint32_t OfPlace(const TileIrOperation& load) const;
};

bool IsTileIrProduct(int code);

/// An operation's or value's number, as an index.
inline std::size_t At(int number) { return static_cast<std::size_t>(number); }

/// By value of the body: a number that divides it whenever the kernel runs, as a compiler can see it in constants, in
/// `assume` operations and in arithmetic. 1 where nothing is known, 0 for a value that is 0.
std::vector<std::int64_t> TileIrDivisors(const ParsedTileIr& parsed, const TileIrBody& body,
                                         const std::vector<TileIrType>& types);

/// Adds how a body accesses memory: what the compiler sees of strides, which loads and stores are ordered, and whether
/// blocks communicate.
void AddMemoryEvidence(const ParsedTileIr& parsed, const TileIrBody& body, const std::vector<TileIrType>& types,
                       const TileIrFacts& facts, KernelEvidence* evidence);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_FACTS_H_
