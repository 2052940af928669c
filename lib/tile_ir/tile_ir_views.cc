#include "tile_ir/tile_ir_views.h"

#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint8_t kTensorViewTag = 0x0e;
constexpr std::uint8_t kPartitionViewTag = 0x0f;

/// A list of whole numbers of as many bytes each.
std::vector<std::int64_t> ReadNumbers(ByteReader& reader, int bytes) {
  std::vector<std::int64_t> numbers;
  const std::uint64_t count = reader.Varint("a rank");
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::uint64_t low = reader.Word("a number");
    const std::uint64_t high = bytes == 8 ? reader.Word("a number") : 0;
    numbers.push_back(static_cast<std::int64_t>(low | high << 32));
  }
  return numbers;
}

/// Reads numbers, of which a negative one (MLIR's ShapedType::kDynamic) stands for one that is known at launch.
std::vector<std::optional<std::int64_t>> ReadConstants(ByteReader& reader) {
  std::vector<std::optional<std::int64_t>> constants;
  for (std::int64_t number : ReadNumbers(reader, 8)) {
    constants.push_back(number < 0 ? std::nullopt : std::optional<std::int64_t>(number));
  }
  return constants;
}

}  // namespace

// The formats' source: cuda-tile 1.7.0, `_bytecode/type.py`.
std::optional<TileIrViewType> ReadTileIrViewType(const ParsedTileIr& parsed, std::uint64_t type) {
  ByteReader reader = parsed.ReaderOfType(type);
  if (reader.Byte("a type") != kTensorViewTag) return std::nullopt;
  if (parsed.file.AtLeast(4)) reader.Varint("a type's flags");
  const std::uint64_t element = reader.Index("a type", parsed.types.items.size());
  TileIrViewType view;
  view.extents = ReadConstants(reader);
  view.strides = ReadConstants(reader);
  if (!reader.ok()) return std::nullopt;
  view.element = parsed.ReaderOfType(element).Byte("a type");
  return view;
}

std::optional<TileIrPartition> ReadTileIrPartition(const ParsedTileIr& parsed, std::uint64_t type) {
  ByteReader reader = parsed.ReaderOfType(type);
  if (reader.Byte("a type") != kPartitionViewTag) return std::nullopt;
  if (parsed.file.AtLeast(3)) reader.Varint("a type's flags");
  TileIrPartition partition;
  partition.tile = ReadNumbers(reader, 4);
  reader.Index("a type", parsed.types.items.size());
  partition.dimensions = ReadNumbers(reader, 4);
  return reader.ok() ? std::optional<TileIrPartition>(std::move(partition)) : std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
