#ifndef TUNEONCE_LIB_COMPILE_NVRTC_WORKER_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_WORKER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/nvrtc_library.h"
#include "compile/toolbox.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What NVRTC is asked to compile.
struct NvrtcRequest {
  std::string library;  ///< NvrtcLibrary::file.
  std::string text;
  std::string file;                                          ///< What messages call the text.
  std::vector<std::pair<std::string, std::string>> headers;  ///< Headers in memory: names and texts.
  std::vector<std::string> expressions;                      ///< Name expressions that are instantiated.
  std::vector<std::string> options;
  bool wants_headers = false;  ///< Whether `NvrtcOutput::headers` is needed. It costs a time trace.
};

/// What NVRTC made of a request. Without an error (`result` is 0) it has the names and the code.
struct NvrtcOutput {
  int result = 0;  ///< NVRTC's nvrtcResult.
  std::string log;
  std::map<std::string, std::string> lowered_names;  ///< By expression, without those that NVRTC does not know.
  std::string cubin;                                 ///< Empty if NVRTC made none, as `tile_ir`.
  std::string tile_ir;
  std::optional<std::vector<std::string>> headers;  ///< The headers that were read. Null if NVRTC does not tell.

  /// Errors: Internal, if NVRTC does not know the expression.
  Result<std::string> LoweredName(const std::string& expression) const;
};

/// The messages between a host and the worker that compiles for it. Errors: Internal, for bytes that are cut or
/// invalid, or those of another version.
std::string EncodeNvrtcRequest(const NvrtcRequest& request);
Result<NvrtcRequest> DecodeNvrtcRequest(std::string_view bytes);
std::string EncodeNvrtcOutput(const NvrtcOutput& output);
Result<NvrtcOutput> DecodeNvrtcOutput(std::string_view bytes);

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
