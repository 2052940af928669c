#include "inspect/tile_ir_facts.h"

#include <algorithm>

#include "tile_ir/tile_ir_body.h"

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

/// Facts come once round each loop per pass, so that nests of loops need a pass per level, and carried values that are
/// handed on from one to the next one per value. What is not settled then stays as it is: fewer facts, no wrong ones.
constexpr int kMaxPasses = 64;

/// One pass over the operations.
class FactSpreader {
 public:
  FactSpreader(const TileIrBody& body, const std::vector<TileIrType>& types, TileIrFacts* facts)
      : body_(body), types_(types), carried_(CarriedValues(body)), facts_(*facts) {}

  /// True if anything was added.
  bool Pass() {
    is_changed_ = false;
    next_product_ = 0;
    for (const TileIrOperation& operation : body_.operations) Spread(operation);
    for (const auto& [from, to] : carried_) Hand(from, to);
    return is_changed_;
  }

 private:
  void Add(int value, std::uint32_t facts) {
    if (types_[body_.types[At(value)]].is_token) return;
    std::uint32_t& of = facts_.facts[At(value)];
    is_changed_ |= (of | facts) != of;
    of |= facts;
  }

  void AddToResults(const TileIrOperation& operation, std::uint32_t facts) {
    for (int i = 0; i < operation.num_results; ++i) Add(operation.first_result + i, facts);
  }

  /// `to` may be `from`: its facts and its origin.
  void Hand(int from, int to) {
    Add(to, facts_.facts[At(from)]);
    int& origin = facts_.origins[At(to)];
    if (origin >= 0 || facts_.origins[At(from)] < 0) return;
    origin = facts_.origins[At(from)];
    is_changed_ = true;
  }

  void SpreadFor(const TileIrOperation& operation) {
    constexpr std::size_t kBounds = 3;  // Lower bound, upper bound, step: facts of the index.
    std::size_t bounds = std::min(kBounds, operation.operands.size());
    for (std::size_t i = 0; i < bounds && !operation.arguments.empty(); ++i) {
      Add(operation.arguments[0], facts_.facts[At(operation.operands[i])]);
    }
  }

  void SpreadProduct(const TileIrOperation& operation) {
    std::uint32_t facts = kFactProduct;
    if (next_product_ < kMaxToldApart) facts |= kFactFirstProduct << next_product_;
    ++next_product_;
    constexpr std::size_t kAccumulator = 2;
    if (operation.operands.size() > kAccumulator) facts |= facts_.facts[At(operation.operands[kAccumulator])];
    AddToResults(operation, facts);
  }

  void Spread(const TileIrOperation& operation) {
    switch (operation.code) {
      case TileIrCode::kGetNumTileBlocks:
        return AddToResults(operation, kFactNumBlocks);
      case TileIrCode::kGetTileBlockId:
        return AddToResults(operation, kFactBlockId);
      case TileIrCode::kLoadPtr:
      case TileIrCode::kLoadView:
        return SpreadLoad(operation);
      case TileIrCode::kAtomicCas:
      case TileIrCode::kAtomicRmw:
        return AddToResults(operation, kFactElements | kFactOfOtherBlocks);
      case TileIrCode::kMultimemLoadReduce:
        return AddToResults(operation, kFactElements | kFactReduced);
      case TileIrCode::kReduce:
        return AddToResults(operation, (facts_.OfOperands(operation) & ~kFactElements) | kFactReduced);
      case TileIrCode::kFor:
        return SpreadFor(operation);
      case TileIrCode::kLoop:
      case TileIrCode::kContinue:
      case TileIrCode::kBreak:
      case TileIrCode::kYield:
      case TileIrCode::kIf:
        return;  // What control flow hands on is in carried_.
      default:
        return IsTileIrProduct(operation.code) ? SpreadProduct(operation) : SpreadOther(operation);
    }
  }

  void SpreadLoad(const TileIrOperation& operation) {
    std::uint32_t place = facts_.OfPlace(operation);
    bool differs = (place & (kFactBlockId | kFactContent)) != 0;
    AddToResults(operation, differs ? kFactElements | kFactContent : kFactElements);
    if (operation.modes[0] != TileIrMemoryOrder::kWeak) AddToResults(operation, kFactOfOtherBlocks);
  }

  /// What a comparison adds to the facts of its operands. One of another comparison's result, as C++ writes conditions,
  /// is not a signal of its own.
  static std::uint32_t OfComparison(const TileIrOperation& operation, std::uint32_t facts) {
    constexpr std::uint8_t kEqual = 0, kNotEqual = 1;
    const bool is_equality = operation.modes[0] == kEqual || operation.modes[0] == kNotEqual;
    const bool is_first = (facts & kFactComparison) == 0;
    const bool is_signal = is_equality && is_first && (facts & kFactOfOtherBlocks) != 0;
    return is_signal ? kFactComparison | kFactSignal : kFactComparison;
  }

  void SpreadOther(const TileIrOperation& operation) {
    std::uint32_t facts = facts_.OfOperands(operation);
    bool is_exponential = operation.code == TileIrCode::kExp || operation.code == TileIrCode::kExp2;
    if (is_exponential && (facts & kFactProduct) != 0 && (facts & kFactReduced) != 0) facts |= kFactSoftmax;
    if (operation.code == TileIrCode::kCmpI) facts |= OfComparison(operation, facts);
    AddToResults(operation, facts);
    if (operation.num_results != 1) return;
    for (int operand : operation.operands) {
      if (facts_.origins[At(operand)] >= 0) return Hand(operand, operation.first_result);
    }
  }

  const TileIrBody& body_;
  const std::vector<TileIrType>& types_;
  const std::vector<std::pair<int, int>> carried_;
  TileIrFacts& facts_;
  bool is_changed_ = false;
  int next_product_ = 0;
};

}  // namespace

std::vector<std::pair<int, int>> CarriedValues(const TileIrBody& body) { return CarriedValueFinder(body).Find(); }

bool IsTileIrProduct(int code) {
  return code == TileIrCode::kMmaF || code == TileIrCode::kMmaI || code == TileIrCode::kMmaFScaled;
}

std::uint32_t TileIrFacts::OfOperands(const TileIrOperation& operation) const {
  std::uint32_t all = 0;
  for (int operand : operation.operands) all |= facts[At(operand)];
  return all;
}

std::uint32_t TileIrFacts::OfPlace(const TileIrOperation& load) const {
  if (load.operands.empty()) return 0;
  return load.code == TileIrCode::kLoadPtr ? facts[At(load.operands[0])] : OfOperands(load);
}

TileIrFacts TileIrFacts::Of(const TileIrBody& body, const std::vector<TileIrType>& types) {
  TileIrFacts facts;
  facts.facts.assign(body.types.size(), 0);
  facts.origins.assign(body.types.size(), -1);
  for (int i = 0; i < body.num_parameters; ++i) {
    const TileIrType& type = types[body.types[At(i)]];
    if (type.is_pointer) facts.origins[At(i)] = i;
    if (!type.is_pointer && type.IsFloat()) facts.facts[At(i)] = kFactScalar;
  }
  for (std::size_t i = 0; i < body.operations.size(); ++i) {
    if (IsTileIrProduct(body.operations[i].code)) facts.products.push_back(static_cast<int>(i));
  }
  FactSpreader spreader(body, types, &facts);
  for (int pass = 0; pass < kMaxPasses && spreader.Pass();) ++pass;
  return facts;
}

}  // namespace v0
}  // namespace tuneonce
