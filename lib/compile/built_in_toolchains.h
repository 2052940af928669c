#ifndef TUNEONCE_LIB_COMPILE_BUILT_IN_TOOLCHAINS_H_
#define TUNEONCE_LIB_COMPILE_BUILT_IN_TOOLCHAINS_H_

#include "base/environment.h"
#include "tuneonce/toolchain.h"

namespace tuneonce {
inline namespace v0 {

/// The toolchains that the library brings along, with the tools of one environment: for Tile IR, PTX, CUDA C++, CUDA
/// Tile C++, the CPU device's C++, and cubins. A tool that is missing fails when it is needed.
TUNEONCE_API ToolchainSet BuiltInToolchains(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_BUILT_IN_TOOLCHAINS_H_
