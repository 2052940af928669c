#ifndef TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "compile/nvrtc_library.h"
#include "compile/nvrtc_worker.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the headers that NVRTC read, under NVRTC's names for them, from the time trace that it wrote
/// (--fdevice-time-trace). NVRTC has no option that lists them, but the trace has an event for each header, however
/// short (compared with the files that NVRTC opened: 610 of 610 for CUB's block reduction).
///
/// The result leaves out NVRTC's own built-in header, which each compile reads first. A trace that does not name that
/// header has no header events (CUDA 12.8 and 12.9), or has lost the first of them (CUDA 13.0, for the rest of the
/// process once a header of some source had an error). Returns nullopt for such a trace and for a text that is not a
/// trace, because the headers are unknown then.
std::optional<std::vector<std::string>> HeadersInTrace(const std::string& trace);

/// Compiles by NVRTC in this process; CompileByNvrtc (nvrtc_worker.h) decides which process that is. The options are
/// the request's, and those of the following that this NVRTC knows:
/// - --no-cache: where there is a driver, NVRTC 13.0 keeps cubins in the driver's cache, and takes those of other
/// options
///   out of it (docs/internal/driver_rules.md).
/// - --fdevice-time-trace: names the headers that were read. The trace is written to `folder`, where `request` wants
/// the
///   headers and the folder is not empty. NVRTC before CUDA 12.8 writes no trace, nor does any on a full disk; the
///   output then has no headers.
///
/// A text that does not compile is not an error here: see `NvrtcOutput::result`. Errors: DeadlineExceeded and
/// Cancelled, by `limits`, which act only after NVRTC's front end; Internal.
Result<NvrtcOutput> CompileInProcess(const NvrtcLibrary& nvrtc, const NvrtcRequest& request, const std::string& folder,
                                     const WaitLimits& limits);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_
