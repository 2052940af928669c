#ifndef TUNEONCE_LIB_COMPILE_CUBIN_H_
#define TUNEONCE_LIB_COMPILE_CUBIN_H_

#include "tuneonce/artifact.h"

namespace tuneonce {
inline namespace v0 {

/// EM_CUDA: an ELF file with this machine is a cubin.
inline constexpr int kMachineCuda = 190;

/// Reads `artifact->image` as a cubin and fills in its kernels, the resources of `artifact->symbol` (by default the
/// only kernel's; a C++ name becomes the mangled one, where it is one kernel's) and the code fingerprint. Errors:
/// InvalidArgument if the image is not a whole cubin, or has no such kernel.
Status DescribeCubin(Artifact* artifact);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_CUBIN_H_
