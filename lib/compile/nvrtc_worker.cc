#include "compile/nvrtc_worker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/field_codec.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/nvrtc_program.h"
#include "compile/toolbox.h"

namespace tuneonce {
inline namespace v0 {

TUNEONCE_FIELDS(NvrtcRequest, m.library, m.text, m.file, m.headers, m.expressions, m.options, m.wants_headers);
TUNEONCE_FIELDS(NvrtcOutput, m.result, m.log, m.lowered_names, m.cubin, m.tile_ir, m.headers);

namespace {

/// Changes with any field of the messages.
constexpr std::uint32_t kNvrtcMessagesVersion = 1;

template <typename Message>
std::string Encode(const Message& message) {
  PlainEncoder fields;
  fields.encoder().U32(kNvrtcMessagesVersion);
  fields(message);
  return fields.encoder().Take();
}

template <typename Message>
Result<Message> Decode(std::string_view bytes) {
  PlainDecoder fields(bytes);
  if (const std::uint32_t version = fields.decoder().U32(); version != kNvrtcMessagesVersion) {
    fields.decoder().Refuse(absl::StrCat("a message of NVRTC has version ", version, " instead of ",
                                         kNvrtcMessagesVersion,
                                         ": install the library and its tuneonce_worker together"));
  }
  Message message;
  fields(message);
  TUNEONCE_RETURN_IF_ERROR(fields.decoder().Done());
  return message;
}

constexpr char kRequestFile[] = "request";
constexpr char kOutputFile[] = "output";

/// TMPDIR is the folder of the compile.
std::vector<std::string> VariablesOfNvrtc(const Environment& environment) {
  std::vector<std::string> variables = environment.of_worker;
  variables.erase(std::remove_if(variables.begin(), variables.end(),
                                 [](const std::string& each) { return absl::StartsWith(each, "TMPDIR="); }),
                  variables.end());
  return variables;
}

Result<NvrtcOutput> CompileInWorker(const std::string& worker, const TemporaryFolder& folder,
                                    const Environment& environment, const WaitLimits& limits) {
  const Status run = RunCompiler({worker, kNvrtcCommand, folder.path()}, folder, limits, VariablesOfNvrtc(environment),
                                 /*name=*/"NVRTC")
                         .status();
  // InvalidArgument would blame the source, for which NVRTC has a result.
  if (run.code() == StatusCode::kInvalidArgument) return InternalError(run.message());
  TUNEONCE_RETURN_IF_ERROR(run);
  const Result<std::string> output = ReadFile(absl::StrCat(folder.path(), "/", kOutputFile));
  if (output.ok()) return DecodeNvrtcOutput(*output);
  return InternalError(absl::StrCat("'", worker,
                                    "' ended without an error, but left no output of NVRTC: it may be of another "
                                    "version; install the library and its tuneonce_worker together"));
}

}  // namespace

Result<std::string> NvrtcOutput::LoweredName(const std::string& expression) const {
  if (auto found = lowered_names.find(expression); found != lowered_names.end()) return found->second;
  return InternalError(absl::StrCat("NVRTC does not return the lowered name of '", expression, "'"));
}

std::string EncodeNvrtcRequest(const NvrtcRequest& request) { return Encode(request); }
Result<NvrtcRequest> DecodeNvrtcRequest(std::string_view bytes) { return Decode<NvrtcRequest>(bytes); }
std::string EncodeNvrtcOutput(const NvrtcOutput& output) { return Encode(output); }
Result<NvrtcOutput> DecodeNvrtcOutput(std::string_view bytes) { return Decode<NvrtcOutput>(bytes); }

Result<NvrtcOutput> CompileByNvrtc(const Toolbox& tools, const NvrtcLibrary& nvrtc, NvrtcRequest request,
                                   const WaitLimits& limits) {
  request.library = nvrtc.file;
  const Result<std::string>& worker = tools.Worker();
  const Result<TemporaryFolder> folder = tools.MakeFolder();
  if (worker.ok() && folder.ok() && folder->WriteFile(kRequestFile, EncodeNvrtcRequest(request)).ok()) {
    return CompileInWorker(*worker, *folder, tools.environment(), limits);
  }
  return CompileInProcess(nvrtc, request, folder.ok() ? folder->path() : "", limits);
}

Status ServeNvrtc(const std::string& folder) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(absl::StrCat(folder, "/", kRequestFile)));
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcRequest request, DecodeNvrtcRequest(bytes));
  Environment environment;
  environment.nvrtc = request.library;
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, NvrtcLibrary::Load(environment));
  WaitLimits limits;
  limits.timeout_ms = std::numeric_limits<int>::max();  // The host ends this process.
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcOutput output, CompileInProcess(*nvrtc, request, folder, limits));
  return WriteFile(absl::StrCat(folder, "/", kOutputFile), EncodeNvrtcOutput(output));
}

}  // namespace v0
}  // namespace tuneonce
