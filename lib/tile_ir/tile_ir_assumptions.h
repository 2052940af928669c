#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_ASSUMPTIONS_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_ASSUMPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/code_assumption.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A tensor view that an entry makes of a pointer parameter (`make_tensor_view`). Its type has the extents and strides
/// that are constants of the code, outermost first.
struct TileIrView {
  std::size_t parameter = 0;                         ///< Index among the kernel's own parameters.
  std::vector<std::optional<std::int64_t>> extents;  ///< Empty: known when it runs.
  std::vector<std::optional<std::int64_t>> strides;  ///< In elements.
};

struct TileIrAssumptions {
  std::vector<CodeAssumption> of_parameters;
  std::vector<TileIrView> views;
};

/// What an entry assumes of its parameters: the views that it always makes of them, and the `assume` operations that
/// always run and whose operand is a parameter, or what another such operation made of one. Those about computed values
/// follow from the code itself and are left out. `entry` may be empty where the file has one entry. Errors: as
/// ReadTileIr; InvalidArgument for an operation that this version does not know; NotFound for the entry.
TUNEONCE_API Result<TileIrAssumptions> ReadTileIrAssumptions(std::string_view bytecode, std::string_view entry);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_ASSUMPTIONS_H_
