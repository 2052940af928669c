#ifndef TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_

#include <chrono>
#include <string>
#include <vector>

#include "compile/nvrtc_library.h"
#include "compile/nvrtc_messages.h"
#include "tuneonce/compile_options.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One compile of NVRTC in this process. CompileByNvrtc (nvrtc_worker.h) decides which process that is.
class NvrtcProgram {
 public:
  /// Compiles with the request's options, and with those of the following that this NVRTC knows:
  /// - --no-cache: where there is a driver, NVRTC 13.0 keeps cubins in the driver's cache, and takes those of other
  ///   options out of it (docs/internal/driver_rules.md).
  /// - --fdevice-time-trace: names the headers that were read. The trace is written to `folder`, where `request` wants
  ///   the headers and the folder is not empty. NVRTC before CUDA 12.8 writes no trace, nor does any on a full disk;
  ///   the output then has no headers.
  ///
  /// A text that does not compile is not an error here: see `NvrtcOutput::result`. Errors: DeadlineExceeded and
  /// Cancelled, by `limits`, which act only after NVRTC's front end; Internal.
  static Result<NvrtcOutput> Compile(const NvrtcLibrary& nvrtc, const NvrtcRequest& request, const std::string& folder,
                                     const WaitLimits& limits);

  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

 private:
  NvrtcProgram(const NvrtcLibrary& nvrtc, const WaitLimits& limits) : nvrtc_(nvrtc), limits_(limits) {}

  Status Create(const NvrtcRequest& request);
  /// Returns NVRTC's result. Errors: those of `limits`.
  Result<int> CompileWith(const std::vector<std::string>& options);
  NvrtcOutput Output(int result, const NvrtcRequest& request) const;
  std::string Log() const;
  /// NVRTC's callback: 1 once the compile is to end. `self`: the program.
  static int IsOver(void* self, void* reserved);
  /// Why IsOver ended the compile.
  Status WhyOver() const;

  const NvrtcLibrary& nvrtc_;
  const WaitLimits limits_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  NvrtcLibrary::Program program_ = nullptr;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_
