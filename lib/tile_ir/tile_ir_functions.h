#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_FUNCTIONS_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tile_ir/tile_ir_file.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
inline namespace v0 {

/// Tags of the attributes that are understood (cuda-tile, `_bytecode/attribute.py`).
struct TileIrAttribute {
  enum Tag : std::uint8_t {
    kInteger = 0x01,
    kFloat = 0x02,
    kTruth = 0x03,
    kType = 0x04,
    kString = 0x05,
    kArray = 0x06,
    kDivBy = 0x08,
    kDictionary = 0x0a,
    kOptimizationHints = 0x0b,
    kBounded = 0x0c,
  };
};

/// One function of the Func section, as offsets into the file.
struct TileIrFunction {
  static constexpr std::uint8_t kHintsFlag = 0x04;  ///< Of `flags`, before 13.5: it has hints.

  bool is_entry = false;
  std::uint64_t name = 0;       ///< Index of a string.
  std::uint64_t signature = 0;  ///< Index of a type.
  std::uint8_t flags = 0;
  std::size_t begin = 0;
  std::size_t flags_at = 0;
  std::size_t hints_begin = 0;  ///< Equal to hints_end where it has none.
  std::size_t hints_end = 0;
  std::size_t body_begin = 0;
  std::size_t end = 0;  ///< The end of the function and of its body.
  std::map<std::string, HintValues> hints;
};

/// Everything that reading and patching need of a file, read but for the bodies. Its views point into the file's bytes.
struct ParsedTileIr {
  TileIrFile file;
  TileIrTable strings;
  TileIrTable types;
  std::vector<TileIrFunction> functions;

  /// Errors: InvalidArgument with the offset of what is wrong.
  static Result<ParsedTileIr> Parse(std::string_view bytecode);
  /// REQUIRES: one of `functions`.
  std::string_view NameOf(const TileIrFunction& function) const { return strings.items[function.name]; }
  /// A reader of the type's bytes. REQUIRES: type < types.items.size().
  ByteReader ReaderOfType(std::uint64_t type) const;
};

/// Skips an attribute: one that says by a tag what it is. `nesting`: 0, but for those inside of others.
void SkipTileIrAttribute(ByteReader& reader, const ParsedTileIr& parsed, int nesting);

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

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_FUNCTIONS_H_
