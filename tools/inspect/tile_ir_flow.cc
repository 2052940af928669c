#include "inspect/tile_ir_flow.h"

#include "tile_ir/tile_ir_operations.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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

}  // namespace v0
}  // namespace tuneonce
