#include "tile_ir/tile_ir_functions.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint8_t kEntryFlag = 0x02;
constexpr std::uint8_t kHintsFlag = TileIrFunction::kHintsFlag;
constexpr int kMaxAttributeNesting = 8;  // Of attributes; real ones nest three deep.

using HintsByTarget = std::map<std::string, HintValues>;

HintsByTarget ReadHints(ByteReader& reader, const ParsedTileIr& parsed) {
  HintsByTarget hints;
  auto string = [&](const char* what) {
    std::uint64_t index = reader.Index(what, parsed.strings.items.size());
    return reader.ok() ? std::string(parsed.strings.items[index]) : std::string();
  };
  if (reader.Byte("hints") != TileIrAttribute::kOptimizationHints) reader.Fail("hints were expected");
  std::uint64_t num_targets = reader.Varint("the number of targets");
  for (std::uint64_t t = 0; t < num_targets && reader.ok(); ++t) {
    std::string target = string("a target's name");
    if (reader.Byte("a target's hints") != TileIrAttribute::kDictionary) reader.Fail("a dictionary was expected");
    auto [it, is_new] = hints.try_emplace(target);
    if (!is_new) reader.Fail(absl::StrCat("hints for '", target, "' come twice"));
    std::uint64_t num_hints = reader.Varint("the number of hints");
    for (std::uint64_t h = 0; h < num_hints && reader.ok(); ++h) {
      std::string name = string("a hint's name");
      if (reader.Byte("a hint's value") != TileIrAttribute::kInteger)
        reader.Fail(absl::StrCat("hint '", name, "' is not an integer"));
      reader.Index("a hint's type", parsed.types.items.size());
      auto value = static_cast<std::int64_t>(reader.Varint("a hint's value"));
      if (!it->second.emplace(name, value).second) reader.Fail(absl::StrCat("hint '", name, "' comes twice"));
    }
  }
  return hints;
}

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

void SkipTileIrAttribute(ByteReader& reader, const ParsedTileIr& parsed, int nesting) {
  if (nesting > kMaxAttributeNesting) return reader.Fail("attributes nest too deep");
  std::size_t num_types = parsed.types.items.size();
  std::size_t num_strings = parsed.strings.items.size();
  auto skip_flagged = [&] {  // Up to two numbers, as the flags say.
    std::uint8_t flags = reader.Byte("an attribute's flags");
    if ((flags & 1) != 0) reader.Varint("an attribute's number");
    if ((flags & 2) != 0) reader.Varint("an attribute's number");
  };
  std::uint8_t tag = reader.Byte("an attribute");
  if (!reader.ok()) return;
  switch (tag) {
    case TileIrAttribute::kInteger:
      reader.Index("an attribute's type", num_types);
      reader.Varint("an integer");
      return;
    case TileIrAttribute::kFloat: {
      std::uint64_t type = reader.Index("an attribute's type", num_types);
      // Formats of 8 bits (f8E4M3FN, f8E5M2, f8E8M0FNU) are a byte, wider ones a varint.
      std::uint8_t format =
          reader.ok() && !parsed.types.items[type].empty() ? static_cast<std::uint8_t>(parsed.types.items[type][0]) : 0;
      if (format == 0x0a || format == 0x0b || format == 0x12) {
        reader.Byte("a float");
      } else {
        reader.Varint("a float");
      }
      return;
    }
    case TileIrAttribute::kTruth:
      reader.Byte("a bool");
      return;
    case TileIrAttribute::kType:
      reader.Index("a type", num_types);
      return;
    case TileIrAttribute::kString:
      reader.Index("a string", num_strings);
      return;
    case TileIrAttribute::kDivBy:
      reader.Varint("a divisor");
      return skip_flagged();
    case TileIrAttribute::kBounded:
      return skip_flagged();
    case TileIrAttribute::kArray:
    case TileIrAttribute::kDictionary: {
      std::uint64_t count = reader.Varint("a number of attributes");
      for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
        if (tag == TileIrAttribute::kDictionary) reader.Index("an attribute's name", num_strings);
        SkipTileIrAttribute(reader, parsed, nesting + 1);
      }
      return;
    }
    default:
      return reader.Fail(absl::StrCat("attribute tag ", tag, " is unknown"));
  }
}

namespace {

TileIrFunction ReadFunction(ByteReader& reader, const ParsedTileIr& parsed) {
  TileIrFunction function;
  function.begin = reader.offset();
  function.name = reader.Index("a function's name", parsed.strings.items.size());
  function.signature = reader.Index("a function's type", parsed.types.items.size());
  function.flags_at = reader.offset();
  function.flags = reader.Byte("a function's flags");
  function.is_entry = (function.flags & kEntryFlag) != 0;
  reader.Varint("a function's location");
  function.hints_begin = reader.offset();
  bool has_hints = parsed.file.AtLeast(5) ? function.is_entry : (function.flags & kHintsFlag) != 0;
  if (has_hints) function.hints = ReadHints(reader, parsed);
  function.hints_end = reader.offset();
  if (parsed.file.AtLeast(5)) SkipTileIrAttribute(reader, parsed, 0);  // The arguments' attributes.
  std::uint64_t length = reader.Varint("a body's length");
  function.body_begin = reader.offset();
  reader.Bytes(length, "a function's body");
  function.end = reader.offset();
  return function;
}

}  // namespace

Result<ParsedTileIr> ParsedTileIr::Parse(std::string_view bytecode) {
  ParsedTileIr parsed;
  TUNEONCE_ASSIGN_OR_RETURN(parsed.file, TileIrFile::Parse(bytecode));
  TUNEONCE_ASSIGN_OR_RETURN(parsed.strings, TileIrTable::Parse(parsed.file, TileIrFile::kString, "the strings"));
  TUNEONCE_ASSIGN_OR_RETURN(parsed.types, TileIrTable::Parse(parsed.file, TileIrFile::kType, "the types"));
  const TileIrFile::Section& section = parsed.file.Find(TileIrFile::kFunc);
  ByteReader reader(bytecode, section.begin, section.end);
  std::uint64_t count = reader.Varint("the number of functions");
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) parsed.functions.push_back(ReadFunction(reader, parsed));
  TUNEONCE_RETURN_IF_ERROR(reader.status());
  return parsed;
}

ByteReader ParsedTileIr::ReaderOfType(std::uint64_t type) const {
  std::string_view item = types.items[type];
  auto begin = static_cast<std::size_t>(item.data() - file.bytes.data());
  return ByteReader(file.bytes, begin, begin + item.size());
}

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
