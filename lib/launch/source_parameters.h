#ifndef TUNEONCE_LIB_LAUNCH_SOURCE_PARAMETERS_H_
#define TUNEONCE_LIB_LAUNCH_SOURCE_PARAMETERS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/parameter_block.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"

namespace tuneonce {
inline namespace v0 {

/// Compares the kernel that Tile IR or PTX declares with what `layout` passes: that it exists, and the number and sizes
/// of its parameters. Other kinds show this only after they are compiled, and pass. Errors: InvalidArgument, naming the
/// source's file and the parameter.
Status CheckSource(const ParameterLayout& layout, const KernelSource& source);

/// Compares the types of a tile kernel's parameters (Artifact::parameters) with what `layout` passes at `problem`:
/// their number and sizes, whether tensors are pointers, and floating-point types. Integers of one size, and pointers
/// to them, are not distinguished. Errors: InvalidArgument, naming the parameter, its declared type and the code's.
/// REQUIRES: `layout` is of `definition`.
Status CheckTileTypes(const ParameterLayout& layout, const KernelDefinition& definition, const Problem& problem,
                      const std::vector<std::string>& types);

/// Whether machine code from sources of this kind may have parameters behind those that a launch passes: tileiras adds
/// descriptors, which code inside the cubin fills. The kernel's own parameters are then those that its Tile IR declares
/// (CheckSource, CheckTileTypes).
bool MayHideParameters(SourceKind kind, CallingConvention convention);

/// Whether the kernel's name occurs in the text of a C++ source, or of its headers in memory; true for other kinds. A
/// kernel that is defined in a file that the text includes, or by a macro, need not occur.
bool MentionsKernel(const KernelSource& source);

/// Compares the names of a C++ kernel's parameters, where its text can be read without a compiler, with those that
/// `layout` passes. It may misread text that a compiler accepts: callers warn of an error (InvalidArgument, naming the
/// source's file and the parameter) and go on.
Status CompareNamesInCpp(const ParameterLayout& layout, const KernelSource& source);

/// Returns a C++ text with comments and the contents of literals replaced by blanks. The result is incorrect after a
/// raw string that contains a quote.
std::string WithoutComments(std::string_view text);

/// Returns the names of a C++ kernel's parameters, in order, without the CPU device's block, and "" for an unnamed one.
/// Returns nothing if the text has no such function, several different ones, or one with macros or function types.
std::optional<std::vector<std::string>> ParameterNamesInCpp(const KernelSource& source);

/// Bytes of each parameter of a PTX entry, 0 for a type of unknown size. Nothing if there is no such entry.
std::optional<std::vector<std::size_t>> ParameterSizesInPtx(const std::string& ptx, const std::string& symbol);

/// Returns what the PTX entry assumes of its parameters: `.align` of a pointer (PTX ISA, "Kernel Parameter Attribute:
/// .ptr"). Returns nothing if the entry does not exist.
std::vector<CodeAssumption> AssumptionsInPtx(const std::string& ptx, const std::string& symbol);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_SOURCE_PARAMETERS_H_
