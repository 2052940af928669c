#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile_ir/tile_ir.h"
#include "tile_ir/tile_ir_body.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint8_t kFloat32Tag = 0x07;

/// Rounding modes that `approx` replaces, and that mode itself (cuda-tile 1.7.0, `_bytecode/encodings.py`). `full` is
/// the default of tanh and exp.
constexpr std::uint8_t kNearestEven = 0x00, kApprox = 0x04, kFull = 0x05;

/// The bit of an operation's flags that flushes to zero; 0: the operation has none.
char FlushBit(int code) {
  switch (code) {
    case TileIrCode::kAddF:
    case TileIrCode::kSubF:
    case TileIrCode::kMulF:
    case TileIrCode::kDivF:
    case TileIrCode::kFma:
    case TileIrCode::kExp2:
    case TileIrCode::kSqrt:
    case TileIrCode::kRsqrt:
      return 1;
    case TileIrCode::kMaxF:  // Bit 0 propagates NaN.
    case TileIrCode::kMinF:
      return 2;
    default:
      return 0;
  }
}

bool CanApproximate(int code) {
  return code == TileIrCode::kDivF || code == TileIrCode::kSqrt || code == TileIrCode::kTanh ||
         code == TileIrCode::kExp;
}

void Patch(const TileIrOperation& operation, const TileIrMath& math, std::string* bytes) {
  // Flags are a varint, whose first byte has the lowest bits.
  if (math.flush_to_zero && operation.flags_at > 0) (*bytes)[operation.flags_at] |= FlushBit(operation.code);
  if (!math.approximate || operation.mode_at == 0 || !CanApproximate(operation.code)) return;
  char& mode = (*bytes)[operation.mode_at];
  if (mode == kNearestEven || mode == kFull) mode = static_cast<char>(kApprox);
}

}  // namespace

Result<std::string> PatchTileIrMath(std::string_view bytecode, const TileIrMath& math, std::string_view entry) {
  TUNEONCE_ASSIGN_OR_RETURN(ParsedTileIr parsed, ParsedTileIr::Parse(bytecode));
  for (const TileIrFunction& function : parsed.functions) {
    if (!function.is_entry || (!entry.empty() && parsed.NameOf(function) != entry)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(TileIrBody body, TileIrBody::Read(parsed, function));
    const std::vector<TileIrType> types = ReadTileIrTypes(parsed);
    std::string patched(bytecode);
    for (const TileIrOperation& operation : body.operations) {
      if (operation.num_results != 1) continue;
      const std::uint64_t type = body.types[static_cast<std::size_t>(operation.first_result)];
      if (types[type].element == kFloat32Tag) Patch(operation, math, &patched);
    }
    return patched;
  }
  return NotFoundError(absl::StrCat("Tile IR bytecode: entry '", std::string(entry), "' was not found"));
}

}  // namespace v0
}  // namespace tuneonce
