#include "tile_ir/tile_ir_body.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile_ir/tile_ir_operations.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr int kMaxBlockNesting = 64;  // Of blocks; real ones nest five deep.

constexpr std::uint8_t kPointerTag = 0x0c;
constexpr std::uint8_t kTileTag = 0x0d;
constexpr std::uint8_t kTensorViewTag = 0x0e;
constexpr std::uint8_t kPartitionViewTag = 0x0f;
constexpr std::uint8_t kFunctionTag = 0x10;
constexpr std::uint8_t kTokenTag = 0x11;

/// Reads operations, and numbers the values. In the bytes a value's number is its place among those that are in sight:
/// what a block defines is out of sight behind it, and its numbers are given again.
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
    if (signature.Byte("a function's type") != kFunctionTag) signature.Fail("a function's type is no function type");
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

/// Finds the pairs of CarriedValues.
class CarriedValueFinder {
 public:
  explicit CarriedValueFinder(const TileIrBody& body) : body_(body) {}

  std::vector<std::pair<int, int>> Find() {
    for (const TileIrOperation& operation : body_.operations) Visit(operation);
    return std::move(pairs_);
  }

 private:
  void Hand(const std::vector<int>& from, std::size_t first, const std::vector<int>& to, std::size_t first_to) {
    for (std::size_t i = 0; first + i < from.size() && first_to + i < to.size(); ++i)
      pairs_.emplace_back(from[first + i], to[first_to + i]);
  }

  static std::vector<int> ResultsOf(const TileIrOperation& operation) {
    std::vector<int> results;
    for (int i = 0; i < operation.num_results; ++i) results.push_back(operation.first_result + i);
    return results;
  }

  /// The nearest operation round this one that is one of the two; null: none.
  const TileIrOperation* Enclosing(const TileIrOperation& operation, int code, int or_code) const {
    for (int at = operation.parent; at >= 0; at = body_.operations[static_cast<std::size_t>(at)].parent) {
      const TileIrOperation& round = body_.operations[static_cast<std::size_t>(at)];
      if (round.code == code || round.code == or_code) return &round;
    }
    return nullptr;
  }

  void HandOut(const TileIrOperation& operation, int code) {
    if (const TileIrOperation* of = Enclosing(operation, code, code)) Hand(operation.operands, 0, ResultsOf(*of), 0);
  }

  void VisitContinue(const TileIrOperation& operation) {
    const TileIrOperation* loop = Enclosing(operation, TileIrCode::kFor, TileIrCode::kLoop);
    if (loop == nullptr) return;
    const bool is_for = loop->code == TileIrCode::kFor;
    Hand(operation.operands, 0, loop->arguments, is_for ? 1 : 0);
    if (is_for) Hand(operation.operands, 0, ResultsOf(*loop), 0);
  }

  void Visit(const TileIrOperation& operation) {
    constexpr std::size_t kBounds = 3;  // A `for` has its lower bound, upper bound and step before what it carries.
    switch (operation.code) {
      case TileIrCode::kFor:
        Hand(operation.operands, kBounds, operation.arguments, 1);
        return Hand(operation.operands, kBounds, ResultsOf(operation), 0);
      case TileIrCode::kLoop:
        return Hand(operation.operands, 0, operation.arguments, 0);
      case TileIrCode::kContinue:
        return VisitContinue(operation);
      case TileIrCode::kBreak:
        return HandOut(operation, TileIrCode::kLoop);
      case TileIrCode::kYield:
        if (operation.parent < 0) return;
        if (body_.operations[static_cast<std::size_t>(operation.parent)].code != TileIrCode::kIf) return;
        return HandOut(operation, TileIrCode::kIf);
      default:
        return;
    }
  }

  const TileIrBody& body_;
  std::vector<std::pair<int, int>> pairs_;
};

}  // namespace

std::vector<std::pair<int, int>> CarriedValues(const TileIrBody& body) { return CarriedValueFinder(body).Find(); }

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
