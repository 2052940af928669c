#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "inspect/classification.h"
#include "inspect/tile_ir_facts.h"
#include "tile_ir/tile_ir_body.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Counts what a body does, by what is in its values.
class EvidenceReader {
 public:
  EvidenceReader(const TileIrBody& body, const std::vector<TileIrType>& types, const TileIrFacts& facts)
      : body_(body), types_(types), facts_(facts) {}

  KernelEvidence Read() {
    for (const TileIrOperation& operation : body_.operations) {
      if (operation.code == TileIrCode::kReduce) NoteReduction(operation);
    }
    for (const TileIrOperation& operation : body_.operations) Note(operation);
    for (int parameter : stored_) evidence_.num_in_place += loaded_.count(parameter) > 0 ? 1 : 0;
    return evidence_;
  }

 private:
  const TileIrType& TypeOf(int value) const { return types_[body_.types[At(value)]]; }
  std::uint32_t FactsOf(int value) const { return facts_.facts[At(value)]; }
  /// Returns the facts of the operand at index `operand`, or 0 if the operation has no such operand.
  std::uint32_t FactsOf(const TileIrOperation& operation, std::size_t operand) const {
    return operand < operation.operands.size() ? FactsOf(operation.operands[operand]) : 0;
  }

  void NoteReduction(const TileIrOperation& operation) {
    ++evidence_.num_reductions;
    for (int operand : operation.operands) {
      std::int64_t elements = TypeOf(operand).NumElements();
      if (elements > 1 && (least_reduced_ == 0 || elements < least_reduced_)) least_reduced_ = elements;
    }
  }

  void NoteLoad(const TileIrOperation& operation) {
    ++evidence_.num_loads;
    if (operation.operands.empty()) return;
    if ((facts_.OfPlace(operation) & kFactContent) != 0 || DependsOnContent(operation))
      ++evidence_.num_loads_by_content;
    if (int origin = facts_.origins[At(operation.operands[0])]; origin >= 0) loaded_.insert(origin);
  }

  /// Whether an `if` round the operation asks for what was loaded.
  bool DependsOnContent(const TileIrOperation& operation) const {
    for (int at = operation.parent; at >= 0; at = body_.operations[At(at)].parent) {
      const TileIrOperation& round = body_.operations[At(at)];
      if (round.code == TileIrCode::kIf && (FactsOf(round, 0) & kFactContent) != 0) return true;
    }
    return false;
  }

  /// `place`, `value`: which operands these are.
  void NoteStore(const TileIrOperation& operation, std::size_t place, std::size_t value) {
    ++evidence_.num_stores;
    if (operation.operands.size() <= std::max(place, value)) return;
    int stored = operation.operands[value];
    std::int64_t elements = TypeOf(stored).NumElements();
    evidence_.tile_elements = std::max(evidence_.tile_elements, elements);
    constexpr std::uint32_t kBoth = kFactElements | kFactReduced;
    if (least_reduced_ > 0 && elements >= least_reduced_ && (FactsOf(stored) & kBoth) == kBoth) {
      evidence_.applies_reduction = true;
    }
    if (int origin = facts_.origins[At(operation.operands[place])]; origin >= 0) stored_.insert(origin);
    NoteLoops(operation);
  }

  /// A loop round a store that goes on by the number of blocks, or begins at the block's own place.
  void NoteLoops(const TileIrOperation& store) {
    for (int at = store.parent; at >= 0; at = body_.operations[At(at)].parent) {
      const TileIrOperation& loop = body_.operations[At(at)];
      constexpr std::size_t kLower = 0;
      constexpr std::size_t kStep = 2;
      if (loop.code == TileIrCode::kFor) {
        evidence_.is_persistent |= (FactsOf(loop, kStep) & kFactNumBlocks) != 0;
        evidence_.is_persistent |= (FactsOf(loop, kLower) & kFactBlockId) != 0;
      } else if (loop.code == TileIrCode::kLoop) {
        for (int carried : loop.arguments) evidence_.is_persistent |= (FactsOf(carried) & kFactNumBlocks) != 0;
      }
    }
  }

  /// Whether the nearest loop round the operation is a `loop`, which may end anywhere.
  bool IsInPlainLoop(const TileIrOperation& operation) const {
    for (int at = operation.parent; at >= 0; at = body_.operations[At(at)].parent) {
      if (body_.operations[At(at)].code == TileIrCode::kFor) return false;
      if (body_.operations[At(at)].code == TileIrCode::kLoop) return true;
    }
    return false;
  }

  void NoteProduct(const TileIrOperation& operation) {
    ++evidence_.num_products;
    if (IsInPlainLoop(operation)) ++evidence_.num_products_in_plain_loops;
    if (operation.code == TileIrCode::kMmaFScaled) evidence_.has_scaled_product = true;
    if (operation.operands.size() < 2) return;
    const TileIrType& a = TypeOf(operation.operands[0]);
    const TileIrType& b = TypeOf(operation.operands[1]);
    if (a.IsFloat8() && b.IsFloat8()) ++evidence_.num_float8_products;
    std::uint32_t facts = FactsOf(operation, 0) | FactsOf(operation, 1);
    if ((facts & kFactSoftmax) != 0) {
      ++evidence_.num_products_of_softmax;
    } else if ((facts & kFactProduct) != 0) {
      ++evidence_.num_products_of_products;
    }
    if (a.extents.size() < 2 || b.extents.size() < 2) return;
    evidence_.tile_m = std::max(evidence_.tile_m, a.extents[a.extents.size() - 2]);
    evidence_.tile_k = std::max(evidence_.tile_k, a.extents.back());
    evidence_.tile_n = std::max(evidence_.tile_n, b.extents.back());
  }

  /// The first two operands of a multiplication, or of a multiplication and addition.
  void NoteMultiplication(const TileIrOperation& operation) {
    std::uint32_t a = FactsOf(operation, 0);
    std::uint32_t b = FactsOf(operation, 1);
    constexpr std::uint32_t kScale = kFactElements | kFactScalar;
    bool is_scale_of_a = (a & kFactProduct) != 0 && (b & kFactProduct) == 0 && (b & kScale) != 0;
    bool is_scale_of_b = (b & kFactProduct) != 0 && (a & kFactProduct) == 0 && (a & kScale) != 0;
    evidence_.has_scaled_product |= is_scale_of_a || is_scale_of_b;
    if ((a & kFactProduct) == 0 || (b & kFactProduct) == 0) return;
    for (int i = 0; i < NumToldApart(); ++i) {
      for (int j = 0; j < NumToldApart(); ++j) {
        std::uint32_t first = kFactFirstProduct << i;
        std::uint32_t second = kFactFirstProduct << j;
        bool is_apart = (a & first) != 0 && (b & first) == 0 && (b & second) != 0 && (a & second) == 0;
        evidence_.has_gated_products |= is_apart && ShareOperand(i, j);
      }
    }
  }

  int NumToldApart() const { return std::min(kMaxToldApart, static_cast<int>(facts_.products.size())); }

  bool ShareOperand(int i, int j) const {
    const std::vector<int>& a = body_.operations[At(facts_.products[At(i)])].operands;
    const std::vector<int>& b = body_.operations[At(facts_.products[At(j)])].operands;
    return a.size() > 1 && b.size() > 1 && (a[0] == b[0] || a[1] == b[1]);
  }

  void Note(const TileIrOperation& operation) {
    switch (operation.code) {
      case TileIrCode::kLoadPtr:
      case TileIrCode::kLoadView:
      case TileIrCode::kMultimemLoadReduce:
        return NoteLoad(operation);
      case TileIrCode::kStorePtr:
        return NoteStore(operation, 0, 1);
      case TileIrCode::kStoreView:
        return NoteStore(operation, 1, 0);
      case TileIrCode::kMultimemStore:
        return NoteStore(operation, 0, 1);
      case TileIrCode::kAtomicCas:
      case TileIrCode::kAtomicRmw:
      case TileIrCode::kAtomicRedView:
      case TileIrCode::kMultimemReduce:
        ++evidence_.num_atomics;
        return;
      case TileIrCode::kScan:
        ++evidence_.num_scans;
        return;
      case TileIrCode::kPermute:
        ++evidence_.num_permutes;
        return;
      case TileIrCode::kMulF:
      case TileIrCode::kFma:
        return NoteMultiplication(operation);
      default:
        if (IsTileIrProduct(operation.code)) NoteProduct(operation);
    }
  }

  const TileIrBody& body_;
  const std::vector<TileIrType>& types_;
  const TileIrFacts& facts_;
  KernelEvidence evidence_;
  std::int64_t least_reduced_ = 0;
  std::set<int> loaded_;
  std::set<int> stored_;
};

}  // namespace

Result<KernelEvidence> TileIrEvidence(std::string_view bytecode, std::string_view symbol) {
  TUNEONCE_ASSIGN_OR_RETURN(ParsedTileIr parsed, ParsedTileIr::Parse(bytecode));
  for (const TileIrFunction& function : parsed.functions) {
    if (!function.is_entry || parsed.NameOf(function) != symbol) continue;
    TUNEONCE_ASSIGN_OR_RETURN(TileIrBody body, TileIrBody::Read(parsed, function));
    const std::vector<TileIrType> types = ReadTileIrTypes(parsed);
    const TileIrFacts facts = TileIrFacts::Of(body, types);
    KernelEvidence evidence = EvidenceReader(body, types, facts).Read();
    AddMemoryEvidence(parsed, body, types, facts, &evidence);
    return evidence;
  }
  return NotFoundError(absl::StrCat("Tile IR bytecode: no entry '", std::string(symbol), "'"));
}

}  // namespace v0
}  // namespace tuneonce
