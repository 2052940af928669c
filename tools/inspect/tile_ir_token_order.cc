#include "inspect/tile_ir_token_order.h"

#include <utility>

#include "inspect/tile_ir_flow.h"
#include "tile_ir/tile_ir_operations.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Accesses of the largest of our own kernels: 30. A body with more than this would take a megabyte of bits.
constexpr int kMostAccesses = 512;
constexpr int kBitsOfWord = 64;
/// As in TileIrFacts: nests of loops need a pass per level. What is not settled then counts as unordered, and real
/// bodies settle within five.
constexpr int kMaxOrderPasses = 64;

/// Control flow, and operations that only join tokens, do not count.
bool IsAccess(int code) {
  switch (code) {
    case TileIrCode::kAtomicCas:
    case TileIrCode::kAtomicRmw:
    case TileIrCode::kAtomicRedView:
    case TileIrCode::kLoadPtr:
    case TileIrCode::kLoadView:
    case TileIrCode::kStorePtr:
    case TileIrCode::kStoreView:
      return true;
    default:
      return false;
  }
}

}  // namespace

TileIrTokenOrder::TileIrTokenOrder(const TileIrBody& body, const std::vector<TileIrType>& types) {
  int num_accesses = 0;
  for (const TileIrOperation& operation : body.operations) {
    numbers_.push_back(IsAccess(operation.code) ? num_accesses++ : -1);
  }
  is_too_large_ = num_accesses > kMostAccesses;
  if (is_too_large_) return;
  const Accesses none(static_cast<std::size_t>((num_accesses + kBitsOfWord - 1) / kBitsOfWord), 0);
  for (std::uint64_t type : body.types) of_tokens_.push_back(types[type].is_token ? none : Accesses());
  for (int number : numbers_) of_accesses_.push_back(number >= 0 ? none : Accesses());
  Follow(body);
}

bool TileIrTokenOrder::Add(const Accesses& more, Accesses* to) {
  bool is_changed = false;
  for (std::size_t i = 0; i < more.size() && i < to->size(); ++i) {
    is_changed |= ((*to)[i] | more[i]) != (*to)[i];
    (*to)[i] |= more[i];
  }
  return is_changed;
}

void TileIrTokenOrder::Follow(const TileIrBody& body) {
  const std::vector<std::pair<int, int>> carried = CarriedValues(body);
  auto tokens_of = [&](int value) -> Accesses& { return of_tokens_[static_cast<std::size_t>(value)]; };
  bool is_changed = true;
  for (int pass = 0; pass < kMaxOrderPasses && is_changed; ++pass) {
    is_changed = false;
    for (std::size_t at = 0; at < body.operations.size(); ++at) {
      const TileIrOperation& operation = body.operations[at];
      const bool has_blocks = operation.code == TileIrCode::kFor || operation.code == TileIrCode::kLoop ||
                              operation.code == TileIrCode::kIf;
      if (has_blocks) continue;  // What they hand on is in `carried`.
      for (int operand : operation.operands) {
        if (numbers_[at] >= 0) is_changed |= Add(tokens_of(operand), &of_accesses_[at]);
        for (int i = 0; i < operation.num_results; ++i) {
          is_changed |= Add(tokens_of(operand), &tokens_of(operation.first_result + i));
        }
      }
      if (numbers_[at] < 0) continue;
      Accesses own(of_accesses_[at].size(), 0);
      own[static_cast<std::size_t>(numbers_[at] / kBitsOfWord)] |= std::uint64_t{1} << (numbers_[at] % kBitsOfWord);
      for (int i = 0; i < operation.num_results; ++i) is_changed |= Add(own, &tokens_of(operation.first_result + i));
    }
    for (const auto& [from, to] : carried) is_changed |= Add(tokens_of(from), &tokens_of(to));
  }
}

bool TileIrTokenOrder::IsBefore(int earlier, int later) const {
  if (is_too_large_) return true;
  const int number = numbers_[static_cast<std::size_t>(earlier)];
  const Accesses& before = of_accesses_[static_cast<std::size_t>(later)];
  if (number < 0 || before.empty()) return false;
  return (before[static_cast<std::size_t>(number / kBitsOfWord)] >> (number % kBitsOfWord) & 1) != 0;
}

}  // namespace v0
}  // namespace tuneonce
