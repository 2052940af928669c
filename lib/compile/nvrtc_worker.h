#ifndef TUNEONCE_LIB_COMPILE_NVRTC_WORKER_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_WORKER_H_

#include <string>

#include "compile/nvrtc_library.h"
#include "compile/nvrtc_messages.h"
#include "compile/toolbox.h"
#include "tuneonce/compile_options.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The first argument of a tuneonce_worker that calls NVRTC. The second is the folder of the request.
inline constexpr char kNvrtcCommand[] = "nvrtc";

/// Compiles by NVRTC in a process of its own, which has the request's deadline as every compiler has, and whose crash
/// is an error. A text that does not compile is not an error here: see `NvrtcOutput::result`.
///
/// If FindWorker finds no worker, or its folder cannot be written, NVRTC runs in this process, where limits act only
/// after its front end.
///
/// Sets the library of `request` to `nvrtc`. Errors: DeadlineExceeded and Cancelled, by `limits`; Internal if a signal
/// ended NVRTC ("NVRTC was ended by signal 11 (SIGSEGV)") or the worker failed; Unavailable.
Result<NvrtcOutput> CompileByNvrtc(const Toolbox& tools, const NvrtcLibrary& nvrtc, NvrtcRequest request,
                                   const WaitLimits& limits);

/// The part of the worker: compiles the request in `folder`, and writes what came of it there. Errors: Unavailable if
/// NVRTC cannot be loaded; ResourceExhausted; Internal.
Status ServeNvrtc(const std::string& folder);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_WORKER_H_
