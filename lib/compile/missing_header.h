#ifndef TUNEONCE_LIB_COMPILE_MISSING_HEADER_H_
#define TUNEONCE_LIB_COMPILE_MISSING_HEADER_H_

#include "tuneonce/api.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// Whether a compile of C++ ended because a header was not found, in the words of NVRTC's toolchain, gcc or clang.
TUNEONCE_API bool LacksHeader(const Status& compiled);

/// Whether the values of a C++ source's macros may decide which headers are read: a macro's name occurs in the text up
/// to its last `#include`, or in a header that this part of the text leads to in the source's own folders. The headers
/// of a compiler or a toolkit know no macro of a kernel. True if that cannot be told: a header that a macro names.
TUNEONCE_API bool MacrosMayDecideHeaders(const KernelSource& source);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_MISSING_HEADER_H_
