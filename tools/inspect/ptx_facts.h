#ifndef TUNEONCE_TOOLS_INSPECT_PTX_FACTS_H_
#define TUNEONCE_TOOLS_INSPECT_PTX_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One operand of an instruction: the registers in it, as numbers of PtxKernel::registers.
struct PtxOperand {
  std::vector<int> registers;
  std::string_view text;   ///< Without brackets and blanks round it.
  bool is_memory = false;  ///< It stood in [].
};

struct PtxInstruction {
  std::string_view opcode;  ///< "ld.global.v4.b32"
  std::vector<PtxOperand> operands;

  /// Whether the opcode has the part, between its dots: "global".
  bool Has(std::string_view part) const;
  /// Before the first dot: "ld".
  std::string_view Base() const { return opcode.substr(0, opcode.find('.')); }
};

/// A kernel of a PTX text, cut into instructions; directives are left out. Its views point into `text`.
struct PtxKernel {
  struct Parameter {
    std::string_view name;
    bool is_pointer = false;  ///< By its declaration: `.ptr`.
    bool is_float = false;
  };

  std::string text;  ///< Without comments and lines of debugging.
  std::vector<Parameter> parameters;
  std::vector<PtxInstruction> instructions;
  std::vector<std::string_view> registers;  ///< "%r1", "%tid.x", each once.
  /// Instructions from a label to a jump back to it: first and last.
  std::vector<std::pair<std::size_t, std::size_t>> loops;

  PtxKernel() = default;
  PtxKernel(PtxKernel&&) = delete;  // The views.
  PtxKernel& operator=(PtxKernel&&) = delete;

  /// `symbol`: empty for the only one there is. Errors: InvalidArgument for what is no PTX, or has no such kernel.
  Status Read(std::string_view ptx, std::string_view symbol);
};

/// What is in a register: bits, of all that it may be made of.
enum PtxFact : std::uint32_t {
  kPtxElements = 1u << 0,   ///< What was loaded from a place of the thread's own, unreduced.
  kPtxReduced = 1u << 1,    ///< A reduction's result.
  kPtxProduct = 1u << 2,    ///< A matrix product's.
  kPtxSoftmax = 1u << 3,    ///< An exponential of products and reductions.
  kPtxNumBlocks = 1u << 4,  ///< The grid's extent.
  kPtxBlockId = 1u << 5,
  kPtxLane = 1u << 6,      ///< The thread's place in its block.
  kPtxContent = 1u << 7,   ///< What was loaded from places that differ from block to block, or thread to thread.
  kPtxScalar = 1u << 8,    ///< A parameter that is a float.
  kPtxShuffled = 1u << 9,  ///< Another thread's register; not in what is computed of it.
  kPtxScanned = 1u << 10,  ///< The register of a thread with a lower index; not in what is computed of it.
  kPtxShared = 1u << 11,   ///< Loaded from shared memory; not in what is computed of it.
  kPtxDot = 1u << 12,      ///< A multiply-add of two elements.
  kPtxNarrow =
      1u << 13,  ///< Rounded from 32 bits to fewer, as operands of products are; not in what is computed of it.
};

/// What an instruction does to memory.
enum class PtxAccess {
  kNone,
  kParameter,
  kLoad,
  kStore,
  kAtomic,
  kLoadShared,
  kStoreShared,
  kCopyToShared,
  kCopyToGlobal
};
PtxAccess AccessOf(const PtxInstruction& instruction);
/// mma, wgmma, tcgen05.mma.
bool IsPtxProduct(const PtxInstruction& instruction);
/// An addition, maximum or minimum.
bool IsPtxFold(const PtxInstruction& instruction);

/// Facts of a kernel's registers, whatever the order in which its instructions run.
struct PtxFacts {
  struct OfRegister {
    std::uint32_t facts = 0;
    std::uint32_t origins = 0;   ///< Parameters, of the first 32, by bit.
    std::uint64_t products = 0;  ///< Of which product: accumulators that are handed on are one. A bit by its hash.
    std::uint64_t loads = 0;     ///< Of which loads; likewise.

    /// Adds what `other` has.
    void Merge(const OfRegister& other);
  };
  std::vector<OfRegister> registers;
  std::uint32_t pointers = 0;  ///< Parameters that are.
  /// Facts of what was stored in shared memory, but for products. Of a softmax only what is narrow counts: sums of
  /// exponentials go through shared memory, too.
  std::uint32_t shared = 0;

  static PtxFacts Of(const PtxKernel& kernel);
  OfRegister Of(const PtxOperand& operand) const;
  /// Returns the merged facts of all operands that the instruction reads: all but the first, which is its result.
  OfRegister OfSources(const PtxInstruction& instruction) const;
  /// Whether a fold joins what several threads have: it is a reduction's step.
  bool JoinsThreads(const PtxInstruction& fold) const;
  /// Whether both are made of elements, and of no load together.
  static bool AreTwoElements(const OfRegister& a, const OfRegister& b);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_PTX_FACTS_H_
