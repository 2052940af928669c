#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile_ir/tile_ir.h"
#include "tile_ir/tile_ir_body.h"
#include "tile_ir/tile_ir_functions.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A number that is written with its sign in the lowest bit.
std::int64_t SignedVarint(ByteReader& reader) {
  const std::uint64_t word = reader.Varint("a bound");
  const auto half = static_cast<std::int64_t>(word >> 1);
  return (word & 1) != 0 ? ~half : half;
}

/// Appends what the attribute of an `assume` states of the parameter.
void ReadPredicate(ByteReader reader, std::size_t parameter, std::vector<CodeAssumption>* read) {
  const std::uint8_t tag = reader.Byte("an attribute");
  if (tag == TileIrAttribute::kDivBy) {
    const std::uint64_t divisor = reader.Varint("a divisor");
    const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    read->push_back(
        {CodeAssumption::Kind::kDivisibleBy, parameter, static_cast<std::int64_t>(std::min(divisor, most))});
  } else if (tag == TileIrAttribute::kBounded) {
    const std::uint8_t flags = reader.Byte("an attribute's flags");
    if ((flags & 1) != 0) read->push_back({CodeAssumption::Kind::kAtLeast, parameter, SignedVarint(reader)});
    if ((flags & 2) != 0) read->push_back({CodeAssumption::Kind::kAtMost, parameter, SignedVarint(reader)});
  }
}

TileIrAssumptions AssumedBy(const ParsedTileIr& parsed, const TileIrFunction& function, const TileIrBody& body) {
  TileIrAssumptions read;
  std::vector<int> parameter_of(body.types.size(), -1);
  for (int i = 0; i < body.num_parameters; ++i) parameter_of[static_cast<std::size_t>(i)] = i;
  for (const TileIrOperation& operation : body.operations) {
    read.waits_for_previous |= operation.code == TileIrCode::kGdcWait;
    const bool is_known = operation.code == TileIrCode::kAssume || operation.code == TileIrCode::kMakeTensorView;
    if (!is_known || operation.parent != -1 || operation.operands.empty() || operation.num_results != 1) continue;
    const int parameter = parameter_of[static_cast<std::size_t>(operation.operands[0])];
    if (parameter < 0) continue;
    const auto index = static_cast<std::size_t>(parameter), result = static_cast<std::size_t>(operation.first_result);
    if (operation.code == TileIrCode::kMakeTensorView) {
      std::optional<TileIrViewType> view = ReadTileIrViewType(parsed, body.types[result]);
      if (view) read.views.push_back({index, std::move(view->extents), std::move(view->strides)});
      continue;
    }
    parameter_of[result] = parameter;
    ReadPredicate(ByteReader(parsed.file.bytes, operation.attribute_at, function.end), index, &read.of_parameters);
  }
  return read;
}

}  // namespace

Result<TileIrAssumptions> ReadTileIrAssumptions(std::string_view bytecode, std::string_view entry) {
  TUNEONCE_ASSIGN_OR_RETURN(ParsedTileIr parsed, ParsedTileIr::Parse(bytecode));
  for (const TileIrFunction& function : parsed.functions) {
    if (!function.is_entry || (!entry.empty() && parsed.NameOf(function) != entry)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(TileIrBody body, TileIrBody::Read(parsed, function));
    return AssumedBy(parsed, function, body);
  }
  return NotFoundError(absl::StrCat("Tile IR bytecode: no entry '", std::string(entry), "'"));
}

}  // namespace v0
}  // namespace tuneonce
