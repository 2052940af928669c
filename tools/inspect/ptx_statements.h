#ifndef TUNEONCE_TOOLS_INSPECT_PTX_STATEMENTS_H_
#define TUNEONCE_TOOLS_INSPECT_PTX_STATEMENTS_H_

#include <cstddef>
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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_PTX_STATEMENTS_H_
