#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "inspect/classification.h"
#include "inspect/ptx_facts.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Counts what a kernel does, by what is in its registers.
class PtxEvidenceReader {
 public:
  explicit PtxEvidenceReader(const PtxKernel& kernel) : kernel_(kernel), facts_(PtxFacts::Of(kernel)) {}

  KernelEvidence Read() {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) Note(kernel_.instructions[i], i);
    for (std::uint32_t both = loaded_ & stored_ & facts_.pointers; both != 0; both &= both - 1)
      ++evidence_.num_in_place;
    if (exchanges_elements_ && evidence_.num_reductions == 0) ++evidence_.num_permutes;
    NoteLoops();
    return evidence_;
  }

 private:
  std::uint32_t FactsOf(const PtxInstruction& instruction, std::size_t operand) const {
    return operand < instruction.operands.size() ? facts_.Of(instruction.operands[operand]).facts : 0;
  }

  /// Whether one of `places`, which are sorted, lies within the loop.
  static bool HasAny(const std::vector<std::size_t>& places, const std::pair<std::size_t, std::size_t>& loop) {
    auto it = std::lower_bound(places.begin(), places.end(), loop.first);
    return it != places.end() && *it <= loop.second;
  }

  /// Blocks stay where one loop stores and multiplies, or stores and goes on by the number of blocks. What is put into
  /// shared memory before the last product, in no loop with it, may be its operand: that is not followed.
  void NoteLoops() {
    std::size_t first_in_loop = last_product_;
    for (const auto& loop : kernel_.loops) {
      evidence_.is_persistent |= HasAny(stores_, loop) && HasAny(goes_on_, loop);
      if (HasAny({last_product_}, loop)) first_in_loop = std::min(first_in_loop, loop.first);
    }
    for (std::size_t from : shared_products_) evidence_.num_products_of_products += from < first_in_loop ? 1 : 0;
  }

  void NoteLoad(const PtxOperand& place) {
    ++evidence_.num_loads;
    PtxFacts::OfRegister of = facts_.Of(place);
    if ((of.facts & kPtxContent) != 0) ++evidence_.num_loads_by_content;
    loaded_ |= of.origins;
  }

  void NoteStore(const PtxOperand& place, std::uint32_t stored, std::size_t at) {
    ++evidence_.num_stores;
    stores_.push_back(at);
    PtxFacts::OfRegister of = facts_.Of(place);
    stored_ |= of.origins;
    constexpr std::uint32_t kBoth = kPtxElements | kPtxReduced;
    if ((of.facts & kPtxLane) != 0 && (stored & kBoth) == kBoth) evidence_.applies_reduction = true;
  }

  void NoteProduct(const PtxInstruction& instruction, std::size_t at) {
    ++evidence_.num_products;
    last_product_ = at;
    goes_on_.push_back(at);
    const std::string_view opcode = instruction.opcode;
    bool is_float8 = opcode.find(".e4m3") != std::string_view::npos || opcode.find(".e5m2") != std::string_view::npos ||
                     opcode.find("f8f6f4") != std::string_view::npos || opcode.find(".mxf8") != std::string_view::npos;
    if (is_float8) ++evidence_.num_float8_products;
    if (opcode.find("block_scale") != std::string_view::npos) evidence_.has_scaled_product = true;
    std::uint32_t facts = FactsOf(instruction, 1) | FactsOf(instruction, 2);
    if ((facts & kPtxSoftmax) != 0) {
      ++evidence_.num_products_of_softmax;
    } else if ((facts & kPtxProduct) != 0) {
      ++evidence_.num_products_of_products;
    }
  }

  void NoteMultiplication(const PtxInstruction& instruction) {
    if (instruction.operands.size() < 3) return;
    PtxFacts::OfRegister a = facts_.Of(instruction.operands[1]);
    PtxFacts::OfRegister b = facts_.Of(instruction.operands[2]);
    constexpr std::uint32_t kScale = kPtxElements | kPtxContent | kPtxScalar;
    bool a_is = (a.facts & kPtxProduct) != 0;
    bool b_is = (b.facts & kPtxProduct) != 0;
    evidence_.has_scaled_product |=
        (a_is && !b_is && (b.facts & kScale) != 0) || (b_is && !a_is && (a.facts & kScale) != 0);
    evidence_.has_gated_products |=
        a_is && b_is && a.products != 0 && b.products != 0 && (a.products & b.products) == 0;
    if (instruction.operands.size() < 4 || instruction.Base() != "fma") return;
    bool adds_up = (FactsOf(instruction, 3) & kPtxDot) != 0;
    if (adds_up && PtxFacts::AreTwoElements(a, b)) {
      ++evidence_.num_plain_products;
    }
  }

  void NoteFold(const PtxInstruction& instruction, std::size_t at) {
    const std::uint32_t all = facts_.OfSources(instruction).facts;
    if (facts_.JoinsThreads(instruction)) ++evidence_.num_reductions;
    if ((all & kPtxScanned) != 0) ++evidence_.num_scans;
    if ((all & kPtxNumBlocks) != 0) goes_on_.push_back(at);
  }

  void NoteAccess(const PtxInstruction& instruction, std::size_t at) {
    const std::vector<PtxOperand>& operands = instruction.operands;
    switch (AccessOf(instruction)) {
      case PtxAccess::kLoad:
      case PtxAccess::kCopyToShared:
        if (operands.size() > 1) NoteLoad(operands[1]);
        return;
      case PtxAccess::kStore:
        if (operands.size() > 1) NoteStore(operands[0], FactsOf(instruction, 1), at);
        return;
      case PtxAccess::kCopyToGlobal:
        if (!operands.empty()) NoteStore(operands[0], facts_.shared, at);
        return;
      case PtxAccess::kAtomic:
        ++evidence_.num_atomics;
        return;
      case PtxAccess::kLoadShared:
        exchanges_elements_ |= (facts_.shared & kPtxElements) != 0;
        return;
      case PtxAccess::kStoreShared:
        if ((FactsOf(instruction, 1) & kPtxProduct) != 0) shared_products_.push_back(at);
        return;
      default:
        return;
    }
  }

  void Note(const PtxInstruction& instruction, std::size_t at) {
    const std::string_view base = instruction.Base();
    if (IsPtxProduct(instruction)) return NoteProduct(instruction, at);
    if (base == "redux") ++evidence_.num_reductions;
    if (base == "shfl" && instruction.Has("idx")) {
      exchanges_elements_ |= (FactsOf(instruction, 1) & kPtxElements) != 0;
    } else if (IsPtxFold(instruction)) {
      NoteFold(instruction, at);
    } else if (base == "mul" || base == "fma") {
      NoteMultiplication(instruction);
    } else {
      NoteAccess(instruction, at);
    }
  }

  const PtxKernel& kernel_;
  const PtxFacts facts_;
  KernelEvidence evidence_;
  std::uint32_t loaded_ = 0;  // Parameters, by bit.
  std::uint32_t stored_ = 0;
  std::vector<std::size_t> stores_;           // Instructions.
  std::vector<std::size_t> goes_on_;          // That multiply, or add the number of blocks.
  std::vector<std::size_t> shared_products_;  // That put a product's result into shared memory.
  std::size_t last_product_ = 0;
  bool exchanges_elements_ = false;
};

/// Calls of functions that the driver has are of no matter; what others do is not seen.
Status CheckCalls(const PtxKernel& kernel) {
  constexpr std::string_view kOfDriver[] = {"vprintf", "__assertfail", "malloc", "free"};
  for (const PtxInstruction& instruction : kernel.instructions) {
    if (instruction.Base() != "call") continue;
    bool is_known =
        std::any_of(instruction.operands.begin(), instruction.operands.end(), [&](const PtxOperand& operand) {
          return std::find(std::begin(kOfDriver), std::end(kOfDriver), operand.text) != std::end(kOfDriver);
        });
    if (!is_known)
      return UnimplementedError(
          "PTX: the kernel calls a function, and the analysis does not look into calls: make the function inline "
          "(__forceinline__)");
  }
  return Status();
}

}  // namespace

Result<KernelEvidence> PtxEvidence(std::string_view ptx, std::string_view symbol) {
  PtxKernel kernel;
  TUNEONCE_RETURN_IF_ERROR(kernel.Read(ptx, symbol));
  TUNEONCE_RETURN_IF_ERROR(CheckCalls(kernel));
  return PtxEvidenceReader(kernel).Read();
}

}  // namespace v0
}  // namespace tuneonce
