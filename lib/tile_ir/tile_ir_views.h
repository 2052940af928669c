#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_VIEWS_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_VIEWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tile_ir/tile_ir_functions.h"

namespace tuneonce {
inline namespace v0 {

/// The type of a view of memory (`tensor_view`).
struct TileIrViewType {
  std::uint8_t element = 0xff;                       ///< Tag of an element's type.
  std::vector<std::optional<std::int64_t>> extents;  ///< Outermost first. Empty: known when the kernel runs.
  std::vector<std::optional<std::int64_t>> strides;  ///< In elements.
};
/// Returns nothing for the type of anything but a tensor view.
std::optional<TileIrViewType> ReadTileIrViewType(const ParsedTileIr& parsed, std::uint64_t type);

/// How a partition view cuts its tensor into tiles.
struct TileIrPartition {
  std::vector<std::int64_t> tile;        ///< Extents.
  std::vector<std::int64_t> dimensions;  ///< By the tile's dimension: the tensor's.
};
/// Returns nothing for the type of anything but a partition view.
std::optional<TileIrPartition> ReadTileIrPartition(const ParsedTileIr& parsed, std::uint64_t type);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_VIEWS_H_
