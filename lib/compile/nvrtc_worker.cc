#include "compile/nvrtc_worker.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/encoding.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/nvrtc_program.h"
#include "compile/toolbox.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Changes with any field of the messages.
constexpr std::uint32_t kNvrtcMessagesVersion = 1;
/// A text takes at least its length.
constexpr std::size_t kLeastTextBytes = sizeof(std::uint64_t);

void ReadVersion(Decoder* reader) {
  const std::uint32_t version = reader->U32();
  if (version != kNvrtcMessagesVersion) {
    reader->Refuse(absl::StrCat("a message of NVRTC has version ", version, " instead of ", kNvrtcMessagesVersion,
                                ": install the library and its tuneonce_worker together"));
  }
}

template <typename Pairs>
void WritePairs(const Pairs& pairs, Encoder* writer) {
  writer->Count(pairs.size());
  for (const auto& [first, second] : pairs) writer->Text(first).Text(second);
}

std::vector<std::pair<std::string, std::string>> ReadPairs(Decoder* reader) {
  std::vector<std::pair<std::string, std::string>> pairs(reader->Count(2 * kLeastTextBytes));
  for (auto& [first, second] : pairs) {
    first = reader->Text();
    second = reader->Text();
  }
  return pairs;
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

std::string EncodeNvrtcRequest(const NvrtcRequest& request) {
  Encoder writer;
  writer.U32(kNvrtcMessagesVersion).Text(request.library).Text(request.text).Text(request.file);
  WritePairs(request.headers, &writer);
  writer.Texts(request.expressions);
  writer.Texts(request.options);
  return writer.Bool(request.wants_headers).Take();
}

Result<NvrtcRequest> DecodeNvrtcRequest(std::string_view bytes) {
  Decoder reader(bytes);
  ReadVersion(&reader);
  NvrtcRequest request;
  request.library = reader.Text();
  request.text = reader.Text();
  request.file = reader.Text();
  request.headers = ReadPairs(&reader);
  request.expressions = reader.Texts();
  request.options = reader.Texts();
  request.wants_headers = reader.Bool();
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return request;
}

std::string EncodeNvrtcOutput(const NvrtcOutput& output) {
  Encoder writer;
  writer.U32(kNvrtcMessagesVersion).I64(output.result).Text(output.log);
  WritePairs(output.lowered_names, &writer);
  writer.Bytes(output.cubin).Bytes(output.tile_ir).Bool(output.headers.has_value());
  if (output.headers) writer.Texts(*output.headers);
  return writer.Take();
}

Result<NvrtcOutput> DecodeNvrtcOutput(std::string_view bytes) {
  Decoder reader(bytes);
  ReadVersion(&reader);
  NvrtcOutput output;
  output.result = static_cast<int>(reader.I64());
  output.log = reader.Text();
  for (auto& [expression, name] : ReadPairs(&reader)) output.lowered_names.emplace(expression, name);
  output.cubin = reader.Bytes();
  output.tile_ir = reader.Bytes();
  if (reader.Bool()) output.headers = reader.Texts();
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return output;
}

Result<NvrtcOutput> CompileByNvrtc(const Toolbox& tools, const NvrtcLibrary& nvrtc, NvrtcRequest request,
                                   const WaitLimits& limits) {
  request.library = nvrtc.file;
  const Result<std::string>& worker = tools.Worker();
  const Result<TemporaryFolder> folder = tools.MakeFolder();
  if (worker.ok() && folder.ok() && folder->WriteFile(kRequestFile, EncodeNvrtcRequest(request)).ok()) {
    return CompileInWorker(*worker, *folder, tools.environment(), limits);
  }
  return NvrtcProgram::Compile(nvrtc, request, folder.ok() ? folder->path() : "", limits);
}

Status ServeNvrtc(const std::string& folder) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(absl::StrCat(folder, "/", kRequestFile)));
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcRequest request, DecodeNvrtcRequest(bytes));
  Environment environment;
  environment.nvrtc = request.library;
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, NvrtcLibrary::Load(environment));
  WaitLimits limits;
  limits.timeout_ms = std::numeric_limits<int>::max();  // The host ends this process.
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcOutput output, NvrtcProgram::Compile(*nvrtc, request, folder, limits));
  return WriteFile(absl::StrCat(folder, "/", kOutputFile), EncodeNvrtcOutput(output));
}

}  // namespace v0
}  // namespace tuneonce
