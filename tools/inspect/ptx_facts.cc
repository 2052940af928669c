#include "inspect/ptx_facts.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr int kMaxPtxPasses = 64;  // Facts come once round each loop per pass; what is not settled then stays unsaid.
constexpr std::uint32_t kOfOneMove = kPtxShuffled | kPtxScanned | kPtxShared | kPtxNarrow;
constexpr std::size_t kMaxOrigins = 32;

std::size_t Slot(int number) { return static_cast<std::size_t>(number); }
bool Starts(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

/// One of 64 bits, by Fibonacci hashing: numbers of accumulators are multiples of powers of two apart.
std::uint64_t BitOf(std::size_t number) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return std::uint64_t{1} << (number * kGoldenRatio >> 58);
}

std::uint32_t FactsOfSpecial(std::string_view name) {
  if (Starts(name, "%ctaid") || Starts(name, "%clusterid")) return kPtxBlockId;
  if (Starts(name, "%nctaid") || Starts(name, "%nclusterid")) return kPtxNumBlocks;
  if (Starts(name, "%tid") || name == "%laneid" || name == "%warpid") return kPtxLane;
  return 0;
}

/// Whether it rounds 32-bit floats to fewer bits: "cvt.rn.f16x2.f32".
bool IsNarrowing(std::string_view opcode) {
  constexpr std::string_view kFrom = ".f32";
  const std::size_t end = opcode.rfind(kFrom);
  if (!Starts(opcode, "cvt.") || end == std::string_view::npos || end + kFrom.size() != opcode.size()) return false;
  for (std::string_view narrow : {".f16", ".bf16", ".e4m3x2", ".e5m2x2"}) {
    if (opcode.find(narrow) != std::string_view::npos) return true;
  }
  return false;
}

bool IsMove(std::string_view base) { return base == "mov" || base == "cvt" || base == "cvta" || base == "selp"; }

/// Passes over the instructions until nothing is added.
class PtxSpreader {
 public:
  PtxSpreader(const PtxKernel& kernel, PtxFacts* facts) : kernel_(kernel), facts_(*facts) {
    facts_.registers.resize(kernel.registers.size());
    for (std::size_t i = 0; i < kernel.registers.size(); ++i) {
      facts_.registers[i].facts = FactsOfSpecial(kernel.registers[i]);
    }
    for (std::size_t i = 0; i < std::min(kMaxOrigins, kernel.parameters.size()); ++i) {
      if (kernel.parameters[i].is_pointer) facts_.pointers |= 1u << i;
    }
    NumberProducts();
  }

  bool Pass() {
    is_changed_ = false;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) Spread(kernel_.instructions[i], i);
    return is_changed_;
  }

 private:
  /// Accumulators that one product hands to the next, by name, are one product.
  void NumberProducts() {
    is_accumulator_.resize(kernel_.registers.size());
    roots_.resize(kernel_.registers.size());
    std::iota(roots_.begin(), roots_.end(), 0);
    for (const PtxInstruction& each : kernel_.instructions) {
      if (!IsPtxProduct(each) || each.operands.empty()) continue;
      const std::vector<int>& results = each.operands[0].registers;
      constexpr std::size_t kAccumulator = 3;
      for (int result : results) Unite(result, results[0]);
      if (each.operands.size() <= kAccumulator || each.Base() != "mma") continue;
      for (int handed : each.operands[kAccumulator].registers) {
        if (!results.empty()) Unite(handed, results[0]);
      }
    }
  }

  void Unite(int accumulator, int with) {
    roots_[Slot(Root(accumulator))] = Root(with);
    is_accumulator_[Slot(accumulator)] = true;
  }

  int Root(int of) {
    while (roots_[Slot(of)] != of) of = roots_[Slot(of)] = roots_[Slot(roots_[Slot(of)])];
    return of;
  }

  void Add(const PtxOperand& to, const PtxFacts::OfRegister& what) {
    for (int number : to.registers) {
      PtxFacts::OfRegister& of = facts_.registers[Slot(number)];
      PtxFacts::OfRegister before = of;
      PtxFacts::OfRegister added = what;
      // What an accumulator starts from, zeros, is often a copy of another one's register.
      if (is_accumulator_[Slot(number)]) added.products = BitOf(Slot(Root(number)));
      if ((what.facts & kPtxProduct) == 0) added.products = 0;
      of.Merge(added);
      is_changed_ |= of.facts != before.facts || of.origins != before.origins || of.products != before.products ||
                     of.loads != before.loads;
    }
  }

  void AddToShared(std::uint32_t facts) {
    constexpr std::uint32_t kKept = kPtxElements | kPtxReduced | kPtxContent;
    const std::uint32_t kept = facts & (kKept | ((facts & kPtxNarrow) != 0 ? std::uint32_t{kPtxSoftmax} : 0));
    is_changed_ |= (facts_.shared | kept) != facts_.shared;
    facts_.shared |= kept;
  }

  void SpreadParameter(const PtxInstruction& instruction) {
    if (instruction.operands.size() < 2) return;
    std::string_view name = instruction.operands[1].text.substr(0, instruction.operands[1].text.find('+'));
    for (std::size_t i = 0; i < std::min(kMaxOrigins, kernel_.parameters.size()); ++i) {
      if (kernel_.parameters[i].name != name) continue;
      PtxFacts::OfRegister what;
      what.origins = 1u << i;
      if (kernel_.parameters[i].is_float) what.facts = kPtxScalar;
      Add(instruction.operands[0], what);
    }
  }

  void SpreadLoad(const PtxInstruction& instruction, std::size_t at) {
    if (instruction.operands.size() < 2) return;
    std::uint32_t place = facts_.Of(instruction.operands[1]).facts;
    PtxFacts::OfRegister what;
    what.loads = BitOf(at);
    if ((place & (kPtxBlockId | kPtxLane | kPtxContent)) != 0) what.facts |= kPtxContent;
    if ((place & kPtxLane) != 0) what.facts |= kPtxElements;
    Add(instruction.operands[0], what);
  }

  void SpreadProduct(const PtxInstruction& instruction, std::size_t at) {
    if (instruction.operands.empty()) return;
    PtxFacts::OfRegister what;
    what.facts = kPtxProduct;
    const std::vector<int>& results = instruction.operands[0].registers;
    what.products = BitOf(results.empty() ? at : Slot(Root(results[0])));
    Add(instruction.operands[0], what);
  }

  /// An exchange between threads and a sum, maximum or minimum of it: a reduction, or of threads below a scan.
  void SpreadFold(const PtxInstruction& instruction, PtxFacts::OfRegister what) {
    if (facts_.JoinsThreads(instruction))
      what.facts = (what.facts & ~static_cast<std::uint32_t>(kPtxElements)) | kPtxReduced;
    what.facts &= ~kOfOneMove;
    Add(instruction.operands[0], what);
  }

  void SpreadOther(const PtxInstruction& instruction) {
    if (instruction.operands.size() < 2) return;
    PtxFacts::OfRegister what = facts_.OfSources(instruction);
    std::string_view base = instruction.Base();
    if (instruction.opcode.find("cvta.to.global") == 0 && (facts_.pointers | what.origins) != facts_.pointers) {
      facts_.pointers |= what.origins;
      is_changed_ = true;
    }
    if (base == "shfl") {
      if (instruction.Has("up")) what.facts |= kPtxScanned;
      if (instruction.Has("bfly") || instruction.Has("down")) what.facts |= kPtxShuffled;
    } else if (base == "redux") {
      what.facts = (what.facts & ~static_cast<std::uint32_t>(kPtxElements)) | kPtxReduced;
    } else if (IsPtxFold(instruction)) {
      return SpreadFold(instruction, what);
    } else if (base == "ex2" && (what.facts & kPtxProduct) != 0 && (what.facts & kPtxReduced) != 0) {
      what.facts |= kPtxSoftmax;
    }
    if (base != "shfl" && !IsMove(base)) what.facts &= ~kOfOneMove;
    if (base != "fma" && base != "mad" && !IsMove(base)) what.facts &= ~static_cast<std::uint32_t>(kPtxDot);
    if (IsMultiplyAdd(instruction)) what.facts |= kPtxDot;
    if (IsNarrowing(instruction.opcode)) what.facts |= kPtxNarrow;
    Add(instruction.operands[0], what);
  }

  /// Returns whether `instruction` multiplies and adds two elements of different loads. Two factors that come from the
  /// same load do not count, because that is not a dot product of two inputs.
  bool IsMultiplyAdd(const PtxInstruction& instruction) const {
    constexpr std::size_t kAddend = 3;
    if (instruction.Base() != "fma" || instruction.operands.size() <= kAddend) return false;
    return PtxFacts::AreTwoElements(facts_.Of(instruction.operands[1]), facts_.Of(instruction.operands[2]));
  }

  void Spread(const PtxInstruction& instruction, std::size_t at) {
    if (IsPtxProduct(instruction)) return SpreadProduct(instruction, at);
    const std::vector<PtxOperand>& operands = instruction.operands;
    switch (AccessOf(instruction)) {
      case PtxAccess::kParameter:
        return SpreadParameter(instruction);
      case PtxAccess::kLoad:
      case PtxAccess::kAtomic:
        return SpreadLoad(instruction, at);
      case PtxAccess::kLoadShared: {
        PtxFacts::OfRegister what;
        what.facts = facts_.shared | kPtxShared;
        what.loads = BitOf(at);
        if (!operands.empty()) Add(operands[0], what);
        return;
      }
      case PtxAccess::kStoreShared:
        return AddToShared(operands.size() > 1 ? facts_.Of(operands[1]).facts : 0);
      case PtxAccess::kCopyToShared:
        return AddToShared(kPtxElements | kPtxContent);
      case PtxAccess::kStore:
      case PtxAccess::kCopyToGlobal:
        return;
      case PtxAccess::kNone:
        break;
    }
    if (instruction.opcode.find("tcgen05.ld") == 0 && !operands.empty()) {
      PtxFacts::OfRegister what;
      what.facts = kPtxProduct;
      return Add(operands[0], what);
    }
    SpreadOther(instruction);
  }

  const PtxKernel& kernel_;
  PtxFacts& facts_;
  std::vector<int> roots_;  // By register: of its product.
  std::vector<bool> is_accumulator_;
  bool is_changed_ = false;
};

}  // namespace

PtxAccess AccessOf(const PtxInstruction& instruction) {
  const std::string_view base = instruction.Base();
  auto is_in = [&](std::string_view space) { return instruction.opcode.find(space) != std::string_view::npos; };
  if (base == "ldmatrix") return PtxAccess::kLoadShared;
  if (base == "stmatrix") return PtxAccess::kStoreShared;
  if (base == "cp" && is_in(".async")) {
    std::size_t shared = instruction.opcode.find(".shared");
    std::size_t global = instruction.opcode.find(".global");
    if (shared == std::string_view::npos || global == std::string_view::npos) return PtxAccess::kNone;
    return shared < global ? PtxAccess::kCopyToShared : PtxAccess::kCopyToGlobal;
  }
  const bool is_other = is_in(".local") || is_in(".const");
  if (base == "ld" || base == "ldu") {
    if (is_in(".param")) return PtxAccess::kParameter;
    if (is_in(".shared")) return PtxAccess::kLoadShared;
    return is_other ? PtxAccess::kNone : PtxAccess::kLoad;
  }
  if (base == "st") {
    if (is_in(".shared")) return PtxAccess::kStoreShared;
    return is_other || is_in(".param") ? PtxAccess::kNone : PtxAccess::kStore;
  }
  if (base == "atom" || base == "red")
    return is_in(".shared") || is_in(".async") ? PtxAccess::kNone : PtxAccess::kAtomic;
  return PtxAccess::kNone;
}

bool IsPtxProduct(const PtxInstruction& instruction) {
  std::string_view opcode = instruction.opcode;
  return Starts(opcode, "mma.") || Starts(opcode, "wgmma.mma_async") || Starts(opcode, "tcgen05.mma") ||
         Starts(opcode, "wmma.mma");
}

bool IsPtxFold(const PtxInstruction& instruction) {
  const std::string_view base = instruction.Base();
  return base == "add" || base == "max" || base == "min";
}

void PtxFacts::OfRegister::Merge(const OfRegister& other) {
  facts |= other.facts;
  origins |= other.origins;
  products |= other.products;
  loads |= other.loads;
}

bool PtxFacts::AreTwoElements(const OfRegister& a, const OfRegister& b) {
  return (a.facts & b.facts & kPtxElements) != 0 && (a.loads & b.loads) == 0;
}

PtxFacts::OfRegister PtxFacts::Of(const PtxOperand& operand) const {
  OfRegister all;
  for (int number : operand.registers) all.Merge(registers[Slot(number)]);
  return all;
}

PtxFacts::OfRegister PtxFacts::OfSources(const PtxInstruction& instruction) const {
  OfRegister all;
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) all.Merge(Of(instruction.operands[i]));
  return all;
}

bool PtxFacts::JoinsThreads(const PtxInstruction& fold) const {
  int num_shared = 0;
  for (std::size_t i = 1; i < fold.operands.size(); ++i) {
    if ((Of(fold.operands[i]).facts & kPtxShared) != 0) ++num_shared;
  }
  return num_shared > 1 || (OfSources(fold).facts & kPtxShuffled) != 0;
}

PtxFacts PtxFacts::Of(const PtxKernel& kernel) {
  PtxFacts facts;
  PtxSpreader spreader(kernel, &facts);
  for (int pass = 0; pass < kMaxPtxPasses && spreader.Pass();) ++pass;
  return facts;
}

}  // namespace v0
}  // namespace tuneonce
