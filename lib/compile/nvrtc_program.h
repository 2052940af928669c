#ifndef TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "compile/nvrtc_library.h"
#include "tuneonce/compile_options.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One call of NVRTC for one text, and what came of it. Destroys NVRTC's program.
class NvrtcProgram {
 public:
  ~NvrtcProgram();
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  /// What is compiled, besides the source's headers.
  struct Request {
    std::string text;
    std::vector<std::string> expressions;  ///< Name expressions that are instantiated.
    std::vector<std::string> options;
  };

  /// Compiles with the options, and with those of the following that this NVRTC knows. Gives up `*folder` where NVRTC
  /// writes no trace there: older ones have none (before CUDA 12.8), and some disks no room for it.
  /// - --no-cache: where there is a driver, NVRTC 13.0 keeps cubins in the driver's cache, and takes those of other
  ///   options out of it (docs/internal/driver_rules.md).
  /// - --fdevice-time-trace: names the headers that were read.
  /// A text that does not compile is not an error here: see `result`. Errors: DeadlineExceeded and Cancelled, by
  /// `limits`; Internal. NVRTC asks for cancellation only after its front end: parsing and templates are not
  /// interrupted.
  /// REQUIRES: `nvrtc` and `source` outlive the program.
  static Result<std::unique_ptr<NvrtcProgram>> CompileAsKnown(const NvrtcLibrary& nvrtc, const KernelSource& source,
                                                              const Request& request, const WaitLimits& limits,
                                                              std::optional<TemporaryFolder>* folder);

  /// NVRTC's result.
  int result() const { return result_; }
  std::string Log() const;
  /// Errors: Internal, if NVRTC does not know the expression.
  Result<std::string> LoweredName(const std::string& expression) const;
  /// Errors: Internal, if NVRTC made none.
  Result<std::string> Cubin() const;
  Result<std::string> TileIr() const;

 private:
  NvrtcProgram(const NvrtcLibrary& nvrtc, const KernelSource& source, const WaitLimits& limits);

  Status Create(const Request& request);
  int Compile(const std::vector<std::string>& options);
  /// NVRTC's callback: 1 once the compile is to end. `self`: the program.
  static int IsOver(void* self, void* reserved);
  /// Why IsOver ended the compile.
  Status WhyOver() const;

  const NvrtcLibrary& nvrtc_;
  const KernelSource& source_;
  const WaitLimits limits_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  NvrtcLibrary::Program program_ = nullptr;
  int result_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_PROGRAM_H_
