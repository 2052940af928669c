#include "tile_ir/tile_ir_body.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr int kMaxBlockNesting = 64;  // Of blocks; real ones nest five deep.

constexpr std::uint8_t kPointerTag = 0x0c;
constexpr std::uint8_t kTileTag = 0x0d;
constexpr std::uint8_t kFunctionTag = 0x10;
constexpr std::uint8_t kTokenTag = 0x11;

/// Reads operations, and numbers the values. In the bytes, a value's number is its position among the values in scope.
/// The values that a block defines leave the scope at the end of the block, and their numbers are used again.
class BodyReader {
 public:
  BodyReader(const ParsedTileIr& parsed, const TileIrFunction& function)
      : parsed_(parsed), reader_(parsed.file.bytes, function.body_begin, function.end) {
    const std::vector<std::string_view>& strings = parsed.strings.items;
    const auto name = std::find(strings.begin(), strings.end(), "allow_tma");
    if (name == strings.end()) return;
    AppendVarint(static_cast<std::uint64_t>(name - strings.begin()), &no_tma_);
    no_tma_.push_back(static_cast<char>(TileIrAttribute::kTruth));
    no_tma_.push_back('\0');
  }

  Result<TileIrBody> Read(const TileIrFunction& function) {
    ByteReader signature = parsed_.ReaderOfType(function.signature);
    if (signature.Byte("a function's type") != kFunctionTag) signature.Fail("a function's type is not a function type");
    std::uint64_t count = signature.Varint("the number of parameters");
    for (std::uint64_t i = 0; i < count && signature.ok(); ++i) Define(TypeIndex(signature));
    TUNEONCE_RETURN_IF_ERROR(signature.status());
    body_.num_parameters = static_cast<int>(body_.types.size());
    while (reader_.remaining() > 0) ReadOperation(-1, 0, 0);
    TUNEONCE_RETURN_IF_ERROR(reader_.status());
    return std::move(body_);
  }

 private:
  std::uint64_t TypeIndex(ByteReader& reader) const { return reader.Index("a type", parsed_.types.items.size()); }

  int Define(std::uint64_t type) {
    in_sight_.push_back(static_cast<int>(body_.types.size()));
    body_.types.push_back(type);
    return in_sight_.back();
  }

  /// A number that comes before as many things, each of at least a byte.
  std::uint64_t Count(const char* what) {
    std::uint64_t count = reader_.Varint(what);
    if (count > reader_.remaining()) reader_.Fail(absl::StrCat(what, ": ", count, " do not fit"));
    return reader_.ok() ? count : 0;
  }

  void ReadOperand(TileIrOperation* operation) {
    std::uint64_t number = reader_.Index("an operand", in_sight_.size());
    if (reader_.ok()) operation->operands.push_back(in_sight_[number]);
  }

  void ReadHints(TileIrOperation* operation) {
    const std::size_t begin = reader_.offset();
    std::uint64_t count = Count("the number of hints");
    for (std::uint64_t i = 0; i < count && reader_.ok(); ++i) {
      reader_.Index("a hint's name", parsed_.strings.items.size());
      SkipTileIrAttribute(reader_, parsed_, 0);
    }
    const std::string_view hints = parsed_.file.bytes.substr(begin, reader_.offset() - begin);
    operation->forbids_tma = !no_tma_.empty() && hints.find(no_tma_) != std::string_view::npos;
  }

  void ReadMode(TileIrOperation* operation) {
    if (operation->mode_at == 0) operation->mode_at = reader_.offset();
    const std::uint8_t mode = reader_.Byte("an attribute");
    const auto place = static_cast<std::size_t>(operation->num_modes);
    if (place == operation->modes.size()) return;
    operation->modes[place] = mode;
    ++operation->num_modes;
  }

  void ReadResultTypes(std::vector<std::uint64_t>* types) {
    std::uint64_t count = Count("the number of results");
    for (std::uint64_t i = 0; i < count && reader_.ok(); ++i) types->push_back(TypeIndex(reader_));
  }

  void SkipAttributes() {
    std::uint64_t count = Count("the number of attributes");
    for (std::uint64_t i = 0; i < count && reader_.ok(); ++i) SkipTileIrAttribute(reader_, parsed_, 0);
  }

  void ReadOperands(TileIrOperation* operation) {
    std::uint64_t count = Count("the number of operands");
    for (std::uint64_t i = 0; i < count && reader_.ok(); ++i) ReadOperand(operation);
  }

  /// What stands for one letter of a layout but F and R.
  void ReadPart(char part, TileIrOperation* operation, std::vector<std::uint64_t>* result_types) {
    switch (part) {
      case 't':
        return result_types->push_back(TypeIndex(reader_));
      case 'S':
        return ReadResultTypes(result_types);
      case 'e':
        return ReadMode(operation);
      case 'i':
        operation->number = reader_.Varint("an attribute");
        return;
      case 'T':
        operation->attribute_at = reader_.offset();
        return SkipTileIrAttribute(reader_, parsed_, 0);
      case 'A':
        return SkipAttributes();
      case 'W':
        reader_.Bytes(4 * Count("a list's length"), "a list");
        return;
      case 'B':
        reader_.Bytes(Count("a list's length"), "a list");
        return;
      case 'H':
        return ReadHints(operation);
      case 'o':
        return ReadOperand(operation);
      default:  // 'N'
        return ReadOperands(operation);
    }
  }

  void ReadOperation(int parent, int region, int nesting) {
    if (nesting > kMaxBlockNesting) return reader_.Fail("blocks nest too deep");
    std::size_t at = body_.operations.size();
    std::uint64_t code = reader_.Varint("an operation");
    const TileIrLayout* layout = reader_.ok() ? FindTileIrLayout(code) : nullptr;
    if (layout == nullptr) return reader_.Fail(absl::StrCat("operation ", code, " is unknown"));
    body_.operations.emplace_back();
    TileIrOperation operation;
    operation.code = layout->code;
    operation.parent = parent;
    operation.region = region;
    std::vector<std::uint64_t> result_types;
    std::uint64_t flags = 0;
    bool has_regions = false;
    for (const char* part = layout->layout; *part != '\0' && reader_.ok(); ++part) {
      bool is_there = true;
      if (*part == '?') {
        is_there = (flags >> (part[1] - '0') & 1) != 0;
        part += 2;
      } else if (*part == '>') {
        is_there = parsed_.file.AtLeast(part[1] - '0');
        part += 2;
      }
      if (!is_there) continue;
      if (*part == 'F') {
        operation.flags_at = reader_.offset();
        flags = reader_.Varint("an operation's flags");
      } else if (*part == 'R') {
        has_regions = true;
      } else {
        ReadPart(*part, &operation, &result_types);
      }
    }
    body_.operations[at] = std::move(operation);
    if (has_regions) ReadRegions(static_cast<int>(at), nesting);
    body_.operations[at].first_result = static_cast<int>(body_.types.size());
    body_.operations[at].num_results = static_cast<int>(result_types.size());
    for (std::uint64_t type : result_types) Define(type);
  }

  void ReadRegions(int owner, int nesting) {
    bool is_first = true;
    std::uint64_t num_regions = Count("the number of regions");
    for (std::uint64_t r = 0; r < num_regions && reader_.ok(); ++r) {
      std::uint64_t num_blocks = Count("the number of blocks");
      for (std::uint64_t b = 0; b < num_blocks && reader_.ok(); ++b) {
        ReadBlock(owner, static_cast<int>(r), nesting, is_first);
        is_first = false;
      }
    }
  }

  void ReadBlock(int owner, int region, int nesting, bool is_first) {
    std::size_t outside = in_sight_.size();
    std::uint64_t num_arguments = Count("the number of arguments");
    for (std::uint64_t i = 0; i < num_arguments && reader_.ok(); ++i) {
      int value = Define(TypeIndex(reader_));
      if (is_first) body_.operations[static_cast<std::size_t>(owner)].arguments.push_back(value);
    }
    std::uint64_t num_operations = Count("the number of operations");
    for (std::uint64_t i = 0; i < num_operations && reader_.ok(); ++i) ReadOperation(owner, region, nesting + 1);
    in_sight_.resize(outside);
  }

  const ParsedTileIr& parsed_;
  std::string no_tma_;  // How a hint `allow_tma = false` is written.
  ByteReader reader_;
  TileIrBody body_;
  std::vector<int> in_sight_;
};

TileIrType ReadType(const ParsedTileIr& parsed, std::uint64_t index) {
  TileIrType type;
  ByteReader reader = parsed.ReaderOfType(index);
  std::uint8_t tag = reader.Byte("a type");
  type.is_pointer = tag == kPointerTag;
  type.is_token = tag == kTokenTag;
  if (tag != kTileTag) {
    type.element = tag;
    return type;
  }
  std::uint64_t element = reader.Index("a type", parsed.types.items.size());
  std::uint64_t rank = reader.Varint("a rank");
  for (std::uint64_t i = 0; i < rank && reader.ok(); ++i) {
    std::uint64_t low = reader.Word("an extent");
    std::uint64_t extent = low | std::uint64_t{reader.Word("an extent")} << 32;
    if (reader.ok()) type.extents.push_back(static_cast<std::int64_t>(extent));
  }
  if (!reader.ok()) return TileIrType();
  type.element = parsed.ReaderOfType(element).Byte("a type");
  type.is_pointer = type.element == kPointerTag;
  return type;
}

}  // namespace

std::int64_t TileIrType::NumElements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : extents) {
    if (extent < 0) return 0;
    if (extent != 0 && count > std::numeric_limits<std::int64_t>::max() / extent) {
      return std::numeric_limits<std::int64_t>::max();
    }
    count *= extent;
  }
  return count;
}

Result<TileIrBody> TileIrBody::Read(const ParsedTileIr& parsed, const TileIrFunction& function) {
  return BodyReader(parsed, function).Read(function);
}

std::vector<TileIrType> ReadTileIrTypes(const ParsedTileIr& parsed) {
  std::vector<TileIrType> types;
  for (std::size_t i = 0; i < parsed.types.items.size(); ++i) types.push_back(ReadType(parsed, i));
  return types;
}

}  // namespace v0
}  // namespace tuneonce
