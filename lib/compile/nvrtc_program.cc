#include "compile/nvrtc_program.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::string_view kEvent = "Processing Header File";
constexpr std::string_view kBuiltIn = "__nv_nvrtc_builtin_header.h";

/// The JSON string whose opening quote is at `*at`; moves behind its closing one. Nothing for one that does not end, or
/// with an escape that no path needs.
std::optional<std::string> ReadString(std::string_view text, std::size_t* at) {
  std::string value;
  for (std::size_t i = *at + 1; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      *at = i + 1;
      return value;
    }
    if (c == '\\') {
      c = ++i < text.size() ? text[i] : '\0';
      if (c != '"' && c != '\\' && c != '/') return std::nullopt;
    }
    value += c;
  }
  return std::nullopt;
}

/// Returns the value of the string member `key` of the JSON object `event`, or nullopt if it has no such member.
std::optional<std::string> Member(std::string_view event, std::string_view key) {
  std::optional<std::string> last;  // String before the one that is read.
  for (std::size_t at = event.find('"'); at != std::string_view::npos; at = event.find('"', at)) {
    std::size_t before = at;
    std::optional<std::string> text = ReadString(event, &at);
    if (!text) return std::nullopt;
    std::size_t colon = event.find_last_not_of(" \t\r\n", before - 1);
    if (last == key && before > 0 && event[colon] == ':') return text;
    last = std::move(text);
  }
  return std::nullopt;
}

/// Returns the part of an event that holds its name, which is at `at`, and its detail. An event is one object,
/// {"args": {"detail": PATH}, ..., "name": EVENT, ...}. For sm_100 and newer, "args" is its last member.
std::optional<std::string_view> EventAround(std::string_view trace, std::size_t at, std::size_t name_size) {
  const std::size_t behind = at + name_size;
  const std::size_t close = trace.find('}', behind);
  if (close == std::string_view::npos) return std::nullopt;
  if (trace.substr(behind, close - behind).find("\"args\"") != std::string_view::npos) {
    const std::size_t key = trace.rfind("\"name\"", at);
    if (key == std::string_view::npos) return std::nullopt;
    return trace.substr(key, trace.find("}}", behind) - key);
  }
  const std::size_t begin = trace.rfind("{\"args\"", at);
  if (begin == std::string_view::npos) return std::nullopt;
  return trace.substr(begin, behind - begin);
}

/// The headers that the trace in `folder` names.
std::optional<std::vector<std::string>> TracedHeaders(const std::string& folder) {
  for (const char* name : {"/trace.json", "/trace"}) {  // NVRTC 13.0 adds the extension.
    const Result<std::string> trace = ReadFile(folder + name);
    if (!trace.ok()) continue;
    if (std::optional<std::vector<std::string>> headers = HeadersInTrace(*trace)) return headers;
  }
  return std::nullopt;
}

/// What `get` writes into a buffer of the size that `get_size` returns. Empty if a call fails or the library lacks it.
std::string BytesOf(int (*get_size)(NvrtcLibrary::Program, std::size_t*), int (*get)(NvrtcLibrary::Program, char*),
                    NvrtcLibrary::Program program) {
  std::size_t size = 0;
  if (get_size == nullptr || get == nullptr || get_size(program, &size) != 0 || size == 0) return "";
  std::string bytes(size, '\0');
  return get(program, bytes.data()) == 0 ? bytes : "";
}

/// One compile of NVRTC.
class NvrtcProgram {
 public:
  static Result<NvrtcOutput> Compile(const NvrtcLibrary& nvrtc, const NvrtcRequest& request, const std::string& folder,
                                     const WaitLimits& limits) {
    NvrtcOutput output;
    for (bool without_cache : {true, false}) {
      for (bool with_trace : {true, false}) {
        if (with_trace && (!request.wants_headers || folder.empty())) continue;
        std::vector<std::string> all = request.options;
        if (without_cache) all.emplace_back("--no-cache");
        if (with_trace) all.push_back("--fdevice-time-trace=" + folder + "/trace");
        NvrtcProgram program(nvrtc, limits);
        TUNEONCE_RETURN_IF_ERROR(program.Create(request));
        TUNEONCE_ASSIGN_OR_RETURN(const int result, program.CompileWith(all));
        output = program.Output(result, request);
        if (result == NvrtcLibrary::kInvalidOption || result == NvrtcLibrary::kTraceNotWritten) continue;
        if (with_trace) output.headers = TracedHeaders(folder);
        return output;
      }
    }
    return output;
  }

  ~NvrtcProgram() {
    if (program_ != nullptr) nvrtc_.DestroyProgram(&program_);
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

 private:
  NvrtcProgram(const NvrtcLibrary& nvrtc, const WaitLimits& limits) : nvrtc_(nvrtc), limits_(limits) {}

  Status Create(const NvrtcRequest& request) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const auto& [name, header] : request.headers) {
      names.push_back(name.c_str());
      texts.push_back(WithoutByteOrderMark(header).data());  // The end of the header is its own.
    }
    int result = nvrtc_.CreateProgram(&program_, request.text.c_str(), request.file.c_str(),
                                      static_cast<int>(texts.size()), texts.data(), names.data());
    for (const std::string& expression : request.expressions) {
      if (result == 0) result = nvrtc_.AddNameExpression(program_, expression.c_str());
    }
    if (result == 0 && nvrtc_.SetFlowCallback != nullptr) result = nvrtc_.SetFlowCallback(program_, &IsOver, this);
    return result == 0 ? Status() : InternalError(absl::StrCat("nvrtcCreateProgram: ", nvrtc_.GetErrorString(result)));
  }
  /// Returns NVRTC's result. Errors: those of `limits`.
  Result<int> CompileWith(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int result = nvrtc_.CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
    if (result != NvrtcLibrary::kCancelled) return result;
    const Status over = WhyOver();
    return over.ok() ? InternalError("NVRTC cancelled a compilation, although tuneonce did not ask for that") : over;
  }
  NvrtcOutput Output(int result, const NvrtcRequest& request) const {
    NvrtcOutput output;
    output.result = result;
    output.log = Log();
    if (result != 0) return output;
    for (const std::string& expression : request.expressions) {
      const char* name = nullptr;
      if (nvrtc_.GetLoweredName(program_, expression.c_str(), &name) == 0 && name != nullptr) {
        output.lowered_names.emplace(expression, name);
      }
    }
    output.cubin = BytesOf(nvrtc_.GetCUBINSize, nvrtc_.GetCUBIN, program_);
    output.tile_ir = BytesOf(nvrtc_.GetTileIRSize, nvrtc_.GetTileIR, program_);
    return output;
  }
  std::string Log() const {
    std::string log = BytesOf(nvrtc_.GetProgramLogSize, nvrtc_.GetProgramLog, program_);
    log.resize(log.find_last_not_of('\0') + 1);  // It ends with one NUL, or with two.
    return log;
  }
  /// NVRTC's callback: 1 once the compile is to end. `self`: the program.
  static int IsOver(void* self, void* /*reserved*/) {
    return static_cast<const NvrtcProgram*>(self)->WhyOver().ok() ? 0 : 1;
  }
  /// Why IsOver ended the compile.
  Status WhyOver() const {
    if (limits_.cancelled != nullptr && limits_.cancelled->load()) return CancelledError("NVRTC was cancelled");
    if (std::chrono::steady_clock::now() - started_ < std::chrono::milliseconds(limits_.timeout_ms)) return Status();
    return DeadlineExceededError(absl::StrCat("NVRTC did not finish within ", limits_.timeout_ms, " ms"));
  }

  const NvrtcLibrary& nvrtc_;
  const WaitLimits limits_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  NvrtcLibrary::Program program_ = nullptr;
};

}  // namespace

std::optional<std::vector<std::string>> HeadersInTrace(const std::string& trace) {
  if (trace.find("\"traceEvents\"") == std::string::npos) return std::nullopt;
  std::vector<std::string> headers;
  bool has_built_in = false;
  const std::string name = "\"" + std::string(kEvent) + "\"";
  for (std::size_t at = trace.find(name); at != std::string::npos; at = trace.find(name, at + 1)) {
    const std::optional<std::string_view> event = EventAround(trace, at, name.size());
    if (!event) return std::nullopt;
    std::optional<std::string> detail = Member(*event, "detail");
    if (!detail || Member(*event, "name") != kEvent) return std::nullopt;
    if (*detail == kBuiltIn) {
      has_built_in = true;
    } else {
      headers.push_back(*std::move(detail));
    }
  }
  if (!has_built_in) return std::nullopt;
  return headers;
}

Result<NvrtcOutput> CompileInProcess(const NvrtcLibrary& nvrtc, const NvrtcRequest& request, const std::string& folder,
                                     const WaitLimits& limits) {
  return NvrtcProgram::Compile(nvrtc, request, folder, limits);
}

}  // namespace v0
}  // namespace tuneonce
