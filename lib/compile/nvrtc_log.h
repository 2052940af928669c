#ifndef TUNEONCE_LIB_COMPILE_NVRTC_LOG_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_LOG_H_

#include <string>
#include <vector>

#include "compile/cuda_headers.h"
#include "tuneonce/api.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
inline namespace v0 {

/// What NVRTC said of a source that does not compile, as a user needs it: of a header that is missing one line with the
/// file and line that ask for it, where was looked and what to do; of a name that only the kernel's name expression
/// says, that it is no macro. Else NVRTC's own words, which name file and line.
TUNEONCE_API std::string ExplainNvrtcLog(const std::string& log, const KernelSource& source,
                                         const std::vector<std::string>& folders, const CudaHeaders& headers);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_LOG_H_
