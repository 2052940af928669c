#ifndef TUNEONCE_TOOLS_INSPECT_TILE_IR_TOKEN_ORDER_H_
#define TUNEONCE_TOOLS_INSPECT_TILE_IR_TOKEN_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tile_ir/tile_ir_body.h"

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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_TILE_IR_TOKEN_ORDER_H_
