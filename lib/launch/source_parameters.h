#ifndef TUNEONCE_LIB_LAUNCH_SOURCE_PARAMETERS_H_
#define TUNEONCE_LIB_LAUNCH_SOURCE_PARAMETERS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launch/parameter_block.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
inline namespace v0 {

/// Checks what a source shows of its kernel before it is compiled against what `layout` passes: Tile IR and PTX show
/// that the kernel exists, and number and sizes of its parameters; C++ shows their names and order, where its text is
/// plain enough to be read without a compiler. Errors: InvalidArgument, naming the source's file and the parameter.
Status CheckSource(const ParameterLayout& layout, const KernelSource& source);

/// The names of a C++ kernel's parameters, in order, without the CPU device's block; "" for one that shows no name.
/// Nothing if the text has no such function, several that differ, or one that macros or function types make unclear.
std::optional<std::vector<std::string>> ParameterNamesInCpp(const KernelSource& source);

/// Bytes of each parameter of a PTX entry, 0 for a type of unknown size. Nothing if there is no such entry.
std::optional<std::vector<std::size_t>> ParameterSizesInPtx(const std::string& ptx, const std::string& symbol);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_SOURCE_PARAMETERS_H_
