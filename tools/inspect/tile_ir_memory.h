#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_MEMORY_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "inspect/classification.h"
#include "inspect/tile_ir_facts.h"
#include "tile_ir/tile_ir_body.h"
#include "tile_ir/tile_ir_functions.h"

namespace tuneonce {
inline namespace v0 {

/// Which accesses to memory tokens put in an order. Tile IR orders no others, whatever the order in which they are
/// written. Accesses are the operations that take or return a token.
class TileIrTokenOrder {
 public:
  TileIrTokenOrder(const TileIrBody& body, const std::vector<TileIrType>& types);

  /// Whether the body has more accesses than are followed.
  bool is_too_large() const { return is_too_large_; }
  /// Whether the operation `later` takes a token that the operation `earlier` has a part in, in the same iteration of a
  /// loop or a later one. True for all of a body that is too large. REQUIRES: indices of operations.
  bool IsBefore(int earlier, int later) const;

 private:
  /// One bit for each access.
  using Accesses = std::vector<std::uint64_t>;

  void Follow(const TileIrBody& body);
  bool Add(const Accesses& more, Accesses* to);

  std::vector<int> numbers_;           // By operation: its bit; -1 if it does not access memory.
  std::vector<Accesses> of_tokens_;    // By value: the accesses that come before the token; empty of other values.
  std::vector<Accesses> of_accesses_;  // By operation: those before it.
  bool is_too_large_ = false;
};

/// How a body accesses memory: what the compiler sees of strides, which loads and stores are ordered, and whether
/// blocks communicate. REQUIRES: the arguments outlive it.
class TileIrMemory {
 public:
  TileIrMemory(const ParsedTileIr& parsed, const TileIrBody& body, const std::vector<TileIrType>& types,
               const TileIrFacts& facts)
      : parsed_(parsed), body_(body), types_(types), facts_(facts), order_(body, types) {}

  void AddTo(KernelEvidence* evidence) const;

 private:
  /// A load or store without an order of its own, which tokens alone put in one.
  struct Access {
    int operation;
    int origin;  ///< The kernel parameter that it accesses.
  };

  void AddStrides(KernelEvidence* evidence) const;
  /// Whether the strides of a tensor view are seen to be multiples of 16 bytes, but for those of 1.
  bool HasAlignedStrides(const TileIrOperation& view, const TileIrViewType& type,
                         const std::vector<std::int64_t>& divisors) const;
  void AddOrder(KernelEvidence* evidence) const;
  bool AreExclusive(int a, int b) const;
  /// What blocks do with what they read of each other.
  void AddCommunication(KernelEvidence* evidence) const;
  /// `branches`: those whose condition depends on other blocks.
  bool WaitsForBlocks(const std::vector<int>& branches) const;
  std::vector<Access> AccessesOf(int ptr_code, int view_code, std::size_t view_operand) const;
  std::vector<Access> Loads() const;
  std::vector<Access> Stores() const;

  const ParsedTileIr& parsed_;
  const TileIrBody& body_;
  const std::vector<TileIrType>& types_;
  const TileIrFacts& facts_;
  const TileIrTokenOrder order_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_MEMORY_H_
