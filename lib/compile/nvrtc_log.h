#ifndef TUNEONCE_LIB_COMPILE_NVRTC_LOG_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_LOG_H_

#include <string>
#include <vector>

#include "compile/nvrtc_library.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Turns NVRTC's log of a source that does not compile into a message for the user. For a missing header, the message
/// is one line: the file and line that include it, the folders that were searched, and what to do. For an unknown name
/// that is an argument in the kernel's name expression, the message adds that the name is not defined as a macro.
/// Otherwise the message is NVRTC's own text, which names the file and line.
std::string ExplainNvrtcLog(const std::string& log, const KernelSource& source, const std::vector<std::string>& folders,
                            const CudaHeaders& headers);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_LOG_H_
