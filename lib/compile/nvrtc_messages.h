#ifndef TUNEONCE_LIB_COMPILE_NVRTC_MESSAGES_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_MESSAGES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_MESSAGES_H_
