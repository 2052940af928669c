#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "inspect/tile_ir_facts.h"
#include "tile_ir/tile_ir_body.h"

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

/// TMA copies lines that begin at multiples of it (CUDA Programming Guide, "Tensor Memory Accelerator").
constexpr std::int64_t kTmaAlignment = 16;
/// Exchange, of atomic_rmw's modes.
constexpr std::uint8_t kExchange = 0x09;

/// Bytes of an element of this type; 0 for an unknown type, or one of less than a byte.
std::int64_t BytesOf(std::uint8_t element) {
  constexpr std::int64_t kBytes[] = {1, 1, 2, 4, 8, 2, 2, 4, 4, 8, 1, 1};  // i1 to i64, f16, bf16, f32, tf32, f64, f8.
  return element < std::size(kBytes) ? kBytes[element] : 0;
}

/// An atomic operation that other blocks' operations undo or wait for: what a lock is made of. An addition is more
/// often a counter.
bool IsOfLock(const TileIrOperation& operation) {
  constexpr std::size_t kKind = 2;  // Behind memory order and scope.
  if (operation.code == TileIrCode::kAtomicCas) return true;
  if (operation.code == TileIrCode::kAtomicRmw) return operation.modes[kKind] == kExchange;
  const bool is_load = operation.code == TileIrCode::kLoadPtr || operation.code == TileIrCode::kLoadView;
  return is_load && operation.modes[0] != TileIrMemoryOrder::kWeak;
}

bool Acquires(const TileIrOperation& operation) {
  return operation.modes[0] == TileIrMemoryOrder::kAcquire || operation.modes[0] == TileIrMemoryOrder::kAcquireRelease;
}

/// Which accesses to memory tokens put in an order. Tile IR orders no others, whatever the order in which they are
/// written. Accesses are the operations that take or return a token.
class TileIrTokenOrder {
 public:
  TileIrTokenOrder(const TileIrBody& body, const std::vector<TileIrType>& types) {
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

  /// Whether the body has more accesses than are followed.
  bool is_too_large() const { return is_too_large_; }
  /// Whether the operation `later` takes a token that the operation `earlier` has a part in, in the same iteration of a
  /// loop or a later one. True for all of a body that is too large. REQUIRES: indices of operations.
  bool IsBefore(int earlier, int later) const {
    if (is_too_large_) return true;
    const int number = numbers_[static_cast<std::size_t>(earlier)];
    const Accesses& before = of_accesses_[static_cast<std::size_t>(later)];
    if (number < 0 || before.empty()) return false;
    return (before[static_cast<std::size_t>(number / kBitsOfWord)] >> (number % kBitsOfWord) & 1) != 0;
  }

 private:
  /// One bit for each access.
  using Accesses = std::vector<std::uint64_t>;

  void Follow(const TileIrBody& body) {
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
  bool Add(const Accesses& more, Accesses* to) {
    bool is_changed = false;
    for (std::size_t i = 0; i < more.size() && i < to->size(); ++i) {
      is_changed |= ((*to)[i] | more[i]) != (*to)[i];
      (*to)[i] |= more[i];
    }
    return is_changed;
  }

  std::vector<int> numbers_;           // By operation: its bit; -1 if it does not access memory.
  std::vector<Accesses> of_tokens_;    // By value: the accesses that come before the token; empty of other values.
  std::vector<Accesses> of_accesses_;  // By operation: those before it.
  bool is_too_large_ = false;
};

/// How a body accesses memory: what the compiler sees of strides, which loads and stores are ordered, and whether
/// blocks communicate. REQUIRES: the arguments outlive it.
class TileIrMemory {
 public:
  TileIrMemory(const ParsedTileIr& parsed, const TileIrBody& body, const std::vector<TileIrType>& types,
               const TileIrFacts& facts)
      : parsed_(parsed), body_(body), types_(types), facts_(facts), order_(body, types) {}

  void AddTo(KernelEvidence* evidence) const {
    AddStrides(evidence);
    AddOrder(evidence);
    AddCommunication(evidence);
  }

 private:
  /// A load or store without an order of its own, which tokens alone put in one.
  struct Access {
    int operation;
    int origin;  ///< The kernel parameter that it accesses.
  };

  void AddStrides(KernelEvidence* evidence) const {
    const std::vector<std::int64_t> divisors = TileIrDivisors(parsed_, body_, types_);
    std::vector<int> made_by(body_.types.size(), -1);
    for (std::size_t i = 0; i < body_.operations.size(); ++i) {
      if (body_.operations[i].num_results == 1) made_by[At(body_.operations[i].first_result)] = static_cast<int>(i);
    }
    for (const TileIrOperation& operation : body_.operations) {
      const bool is_load = operation.code == TileIrCode::kLoadView;
      const std::size_t view_operand = is_load ? 0 : 1;
      if (!is_load && operation.code != TileIrCode::kStoreView) continue;
      if (operation.forbids_tma || operation.operands.size() <= view_operand) continue;
      const int partition_at = made_by[At(operation.operands[view_operand])];
      if (partition_at < 0) continue;
      const TileIrOperation& partition = body_.operations[At(partition_at)];
      const std::optional<TileIrPartition> cut = ReadTileIrPartition(parsed_, body_.types[At(partition.first_result)]);
      if (!cut || partition.operands.empty() || made_by[At(partition.operands[0])] < 0) continue;
      const TileIrOperation& view = body_.operations[At(made_by[At(partition.operands[0])])];
      const std::optional<TileIrViewType> type = ReadTileIrViewType(parsed_, body_.types[At(view.first_result)]);
      const int origin = facts_.origins[At(view.first_result)];
      if (!type || origin < 0 || BytesOf(type->element) == 0) continue;
      // TMA cannot copy a tile that is short along the contiguous dimension, whatever the strides are.
      bool is_short = false;
      for (std::size_t d = 0; d < cut->tile.size() && d < cut->dimensions.size(); ++d) {
        const auto dimension = static_cast<std::size_t>(cut->dimensions[d]);
        const bool is_contiguous = dimension < type->strides.size() && type->strides[dimension] == 1;
        is_short |= is_contiguous && cut->tile[d] * BytesOf(type->element) < kTmaAlignment;
      }
      if (is_short) continue;
      (HasAlignedStrides(view, *type, divisors) ? evidence->aligned_tensors : evidence->unaligned_tensors)
          .insert(origin);
    }
  }
  /// Whether the strides of a tensor view are seen to be multiples of 16 bytes, but for those of 1.
  bool HasAlignedStrides(const TileIrOperation& view, const TileIrViewType& type,
                         const std::vector<std::int64_t>& divisors) const {
    // The last operands are the strides that the type does not give as constants.
    const auto num_open = static_cast<std::size_t>(std::count(type.strides.begin(), type.strides.end(), std::nullopt));
    if (num_open > view.operands.size()) return true;
    std::size_t next = view.operands.size() - num_open;
    return std::all_of(type.strides.begin(), type.strides.end(), [&](const std::optional<std::int64_t>& stride) {
      const std::int64_t divisor = stride ? *stride : divisors[At(view.operands[next++])];
      return stride == 1 || divisor % kTmaAlignment * BytesOf(type.element) % kTmaAlignment == 0;
    });
  }
  void AddOrder(KernelEvidence* evidence) const {
    if (order_.is_too_large()) return;
    const std::vector<Access> stores = Stores();
    for (const Access& load : Loads()) {
      for (const Access& store : stores) {
        if (load.origin != store.origin || evidence->unordered_tensors.count(load.origin) > 0) continue;
        const bool is_ordered =
            order_.IsBefore(load.operation, store.operation) || order_.IsBefore(store.operation, load.operation);
        if (!is_ordered && !AreExclusive(load.operation, store.operation)) {
          evidence->unordered_tensors.insert(load.origin);
        }
      }
    }
  }
  bool AreExclusive(int a, int b) const {
    for (int at = a; at >= 0; at = body_.operations[At(at)].parent) {
      for (int other = b; other >= 0; other = body_.operations[At(other)].parent) {
        const TileIrOperation &x = body_.operations[At(at)], &y = body_.operations[At(other)];
        if (x.parent != y.parent || x.parent < 0 || x.region == y.region) continue;
        if (body_.operations[At(x.parent)].code == TileIrCode::kIf) return true;
      }
    }
    return false;
  }
  /// What blocks do with what they read of each other.
  void AddCommunication(KernelEvidence* evidence) const {
    bool is_signal = false;
    std::vector<int> branches;
    for (std::size_t i = 0; i < body_.operations.size(); ++i) {
      const TileIrOperation& branch = body_.operations[i];
      if (branch.code != TileIrCode::kIf || branch.operands.empty()) continue;
      const std::uint32_t facts = facts_.facts[At(branch.operands[0])];
      is_signal |= (facts & kFactSignal) != 0;
      if ((facts & kFactOfOtherBlocks) != 0) branches.push_back(static_cast<int>(i));
    }
    if (branches.empty()) return;
    evidence->waits_for_blocks = WaitsForBlocks(branches);
    if (!is_signal || order_.is_too_large()) return;
    std::vector<int> acquiring;
    for (std::size_t i = 0; i < body_.operations.size(); ++i) {
      if (Acquires(body_.operations[i])) acquiring.push_back(static_cast<int>(i));
    }
    // A tensor that blocks store and load is how they hand data on. Some load of it comes behind an operation that
    // acquires what another block released, or nothing makes the other block's data visible.
    std::map<int, bool> is_acquired;
    for (const Access& load : Loads()) {
      is_acquired[load.origin] |= std::any_of(acquiring.begin(), acquiring.end(), [&](int operation) {
        return order_.IsBefore(operation, load.operation);
      });
    }
    for (const Access& store : Stores()) {
      auto loaded = is_acquired.find(store.origin);
      evidence->has_unordered_signal |= loaded != is_acquired.end() && !loaded->second;
    }
  }
  /// `branches`: those whose condition depends on other blocks.
  bool WaitsForBlocks(const std::vector<int>& branches) const {
    std::set<int> asking, deciding;  // Loops; operations between a loop and what ends or continues it.
    for (const TileIrOperation& operation : body_.operations) {
      const bool decides = operation.code == TileIrCode::kBreak || operation.code == TileIrCode::kContinue;
      if (!decides && !IsOfLock(operation)) continue;
      for (int at = operation.parent; at >= 0; at = body_.operations[At(at)].parent) {
        if (!decides) asking.insert(at);
        if (decides && body_.operations[At(at)].code == TileIrCode::kLoop) break;
        if (decides) deciding.insert(at);
      }
    }
    return std::any_of(branches.begin(), branches.end(), [&](int branch) {
      int loop = body_.operations[At(branch)].parent;
      while (loop >= 0 && body_.operations[At(loop)].code != TileIrCode::kLoop)
        loop = body_.operations[At(loop)].parent;
      return loop >= 0 && asking.count(loop) > 0 && deciding.count(branch) > 0;
    });
  }
  std::vector<Access> AccessesOf(int ptr_code, int view_code, std::size_t view_operand) const {
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < body_.operations.size(); ++i) {
      const TileIrOperation& operation = body_.operations[i];
      const bool is_view = operation.code == view_code;
      const std::size_t place = is_view ? view_operand : 0;
      if ((!is_view && operation.code != ptr_code) || operation.operands.size() <= place) continue;
      const int origin = facts_.origins[At(operation.operands[place])];
      if (origin >= 0 && operation.modes[0] == TileIrMemoryOrder::kWeak)
        accesses.push_back({static_cast<int>(i), origin});
    }
    return accesses;
  }
  std::vector<Access> Loads() const { return AccessesOf(TileIrCode::kLoadPtr, TileIrCode::kLoadView, 0); }
  std::vector<Access> Stores() const { return AccessesOf(TileIrCode::kStorePtr, TileIrCode::kStoreView, 1); }

  const ParsedTileIr& parsed_;
  const TileIrBody& body_;
  const std::vector<TileIrType>& types_;
  const TileIrFacts& facts_;
  const TileIrTokenOrder order_;
};

}  // namespace

void AddMemoryEvidence(const ParsedTileIr& parsed, const TileIrBody& body, const std::vector<TileIrType>& types,
                       const TileIrFacts& facts, KernelEvidence* evidence) {
  TileIrMemory(parsed, body, types, facts).AddTo(evidence);
}

}  // namespace v0
}  // namespace tuneonce
