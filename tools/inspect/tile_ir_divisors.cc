#include <cstdlib>
#include <iterator>
#include <numeric>
#include <optional>

#include "inspect/tile_ir_facts.h"
#include "tile_ir/tile_ir_body.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Beyond it a divisor is cut to a power of two, so that products of two fit.
constexpr std::int64_t kMostDivisor = std::int64_t{1} << 30;

/// What is known of a whole number.
struct Known {
  std::optional<std::int64_t> constant;
  std::int64_t divisor = 1;

  static Known Of(std::int64_t constant) {
    const bool is_small = constant > -kMostDivisor && constant < kMostDivisor;
    return {constant, is_small ? std::abs(constant) : PowerOfTwoIn(constant)};
  }
  static Known MultipleOf(std::int64_t divisor) {
    return {std::nullopt, divisor < kMostDivisor ? divisor : PowerOfTwoIn(divisor)};
  }
  /// The largest power of two that divides `number`, but less than kMostDivisor; 0 for 0.
  static std::int64_t PowerOfTwoIn(std::int64_t number) {
    const auto bits = static_cast<std::uint64_t>(number);
    const std::uint64_t power = bits & (~bits + 1);
    const auto most = static_cast<std::uint64_t>(kMostDivisor) / 2;
    return static_cast<std::int64_t>(power < most ? power : most);
  }
};

/// Folds constants and follows divisors, operation by operation. CUDA Tile C++ writes strides as sums of products with
/// comparisons of constants, which this folds as tileiras does.
class DivisorReader {
 public:
  DivisorReader(const ParsedTileIr& parsed, const TileIrBody& body, const std::vector<TileIrType>& types)
      : parsed_(parsed), body_(body), types_(types) {
    known_.resize(body.types.size());
    if (!parsed.file.Has(TileIrFile::kConstant)) return;
    Result<TileIrTable> table = TileIrTable::Parse(parsed.file, TileIrFile::kConstant, "the constants", 8);
    if (table.ok()) constants_ = *std::move(table);
  }

  std::vector<std::int64_t> Read() {
    for (const TileIrOperation& operation : body_.operations) {
      if (operation.num_results == 1) known_[static_cast<std::size_t>(operation.first_result)] = Follow(operation);
    }
    std::vector<std::int64_t> divisors;
    for (const Known& known : known_) divisors.push_back(known.divisor);
    return divisors;
  }

 private:
  Known Operand(const TileIrOperation& operation, std::size_t i) const {
    if (i >= operation.operands.size()) return Known();
    return known_[static_cast<std::size_t>(operation.operands[i])];
  }

  /// Bits of a scalar integer's type; 0 for any other type.
  int BitsOf(int value) const {
    const TileIrType& type = types_[body_.types[static_cast<std::size_t>(value)]];
    if (!type.extents.empty() || type.is_pointer) return 0;
    constexpr int kBits[] = {1, 8, 16, 32, 64};  // i1, i8, i16, i32, i64.
    return type.element < std::size(kBits) ? kBits[type.element] : 0;
  }

  /// `number` as a value of so many bits, with its sign.
  static std::int64_t Wrap(std::int64_t number, int bits, bool is_signed) {
    if (bits <= 0 || bits >= 64) return number;
    const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) & ((std::uint64_t{1} << bits) - 1));
    return is_signed && (low >> (bits - 1) & 1) != 0 ? low - (std::int64_t{1} << bits) : low;
  }

  Known Constant(const TileIrOperation& operation) const {
    const int bits = BitsOf(operation.first_result);
    if (bits == 0 || operation.number >= constants_.items.size()) return Known();
    const std::string_view item = constants_.items[operation.number];
    const std::size_t bytes = static_cast<std::size_t>(bits + 7) / 8;
    if (item.size() < bytes + 1 || static_cast<std::uint8_t>(item[0]) != bytes) return Known();
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      number |= std::uint64_t{static_cast<std::uint8_t>(item[1 + i])} << (8 * i);
    }
    return Known::Of(Wrap(static_cast<std::int64_t>(number), bits, true));
  }

  Known Assume(const TileIrOperation& operation) const {
    const Known assumed = Operand(operation, 0);
    ByteReader reader(parsed_.file.bytes, operation.attribute_at, parsed_.file.bytes.size());
    if (assumed.constant || reader.Byte("an attribute") != TileIrAttribute::kDivBy) return assumed;
    const std::uint64_t divisor = reader.Varint("a divisor");
    if (!reader.ok() || divisor == 0 || divisor >= static_cast<std::uint64_t>(kMostDivisor)) return assumed;
    return Known::MultipleOf(std::lcm(assumed.divisor, static_cast<std::int64_t>(divisor)));
  }

  static Known Add(const Known& a, const Known& b, std::int64_t sign) {
    std::int64_t sum = 0;
    const bool is_constant = a.constant && b.constant && !__builtin_mul_overflow(*b.constant, sign, &sum) &&
                             !__builtin_add_overflow(*a.constant, sum, &sum);
    return is_constant ? Known::Of(sum) : Known::MultipleOf(std::gcd(a.divisor, b.divisor));
  }

  static Known Multiply(const Known& a, const Known& b) {
    std::int64_t product = 0;
    if (a.divisor == 0 || b.divisor == 0) return Known::Of(0);
    const bool is_constant = a.constant && b.constant && !__builtin_mul_overflow(*a.constant, *b.constant, &product);
    return is_constant ? Known::Of(product) : Known::MultipleOf(a.divisor * b.divisor);
  }

  /// The predicates of cmpi: equal, not equal, and the four orders.
  Known Compare(const TileIrOperation& operation) const {
    const Known known_a = Operand(operation, 0), known_b = Operand(operation, 1);
    if (!known_a.constant || !known_b.constant) return Known();
    const std::int64_t a = *known_a.constant, b = *known_b.constant;
    const bool is_signed = operation.modes[1] != 0;
    const bool is_less = is_signed ? a < b : static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
    const bool holds[] = {a == b, a != b, is_less, is_less || a == b, !is_less && a != b, !is_less};
    return operation.modes[0] < std::size(holds) ? Known::Of(holds[operation.modes[0]] ? -1 : 0) : Known();
  }

  Known Extend(const TileIrOperation& operation) const {
    const Known narrow = Operand(operation, 0);
    const bool is_signed = operation.modes[0] != 0;
    if (!narrow.constant) return is_signed ? narrow : Known::MultipleOf(Known::PowerOfTwoIn(narrow.divisor));
    return Known::Of(Wrap(*narrow.constant, BitsOf(operation.operands[0]), is_signed));
  }

  Known Follow(const TileIrOperation& operation) const {
    const Known a = Operand(operation, 0), b = Operand(operation, 1);
    const bool are_constant = a.constant && b.constant;
    switch (operation.code) {
      case TileIrCode::kConstant:
        return Constant(operation);
      case TileIrCode::kAssume:
        return Assume(operation);
      case TileIrCode::kAddI:
        return Add(a, b, 1);
      case TileIrCode::kSubI:
        return Add(a, b, -1);
      case TileIrCode::kMulI:
        return Multiply(a, b);
      case TileIrCode::kCmpI:
        return Compare(operation);
      case TileIrCode::kExtI:
        return Extend(operation);
      case TileIrCode::kTruncI:
        return a.constant ? Known::Of(Wrap(*a.constant, BitsOf(operation.first_result), true))
                          : Known::MultipleOf(Known::PowerOfTwoIn(a.divisor));
      case TileIrCode::kAndI:
        return are_constant ? Known::Of(*a.constant & *b.constant) : Known();
      case TileIrCode::kXOrI:
        return are_constant ? Known::Of(*a.constant ^ *b.constant) : Known();
      default:
        return Known();
    }
  }

  const ParsedTileIr& parsed_;
  const TileIrBody& body_;
  const std::vector<TileIrType>& types_;
  TileIrTable constants_;
  std::vector<Known> known_;
};

}  // namespace

std::vector<std::int64_t> TileIrDivisors(const ParsedTileIr& parsed, const TileIrBody& body,
                                         const std::vector<TileIrType>& types) {
  return DivisorReader(parsed, body, types).Read();
}

}  // namespace v0
}  // namespace tuneonce
