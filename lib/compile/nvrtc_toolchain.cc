#include "compile/nvrtc_toolchain.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "compile/cubin.h"
#include "compile/cuda_headers.h"
#include "compile/dependency_file.h"
#include "compile/header_search.h"
#include "compile/header_trace.h"
#include "compile/nvrtc_library.h"
#include "compile/nvrtc_log.h"
#include "definition/name_expression.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Whether `text` has this word, however its lines are cut.
bool Mentions(const std::string& text, const char* word) {
  if (text.find('\\') == std::string::npos) return text.find(word) != std::string::npos;
  return absl::StrReplaceAll(text, {{"\\\r\n", ""}, {"\\\n", ""}}).find(word) != std::string::npos;
}

/// Whether an option other than a folder of headers or a macro makes NVRTC read or write a file.
bool OptionsNameFiles(const std::vector<std::string>& options) {
  return std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return absl::StrContains(option, "pch") || absl::StrContains(option, "time-trace");
  });
}

/// Whether the source's text and options show that no file is read: NVRTC has no header built in that one could name.
bool ReadsNoFile(const KernelSource& source) {
  if (Mentions(source.content, "include") || OptionsNameFiles(source.options)) return false;
  return std::none_of(source.options.begin(), source.options.end(), [](const std::string& option) {
    bool is_path = absl::StartsWith(option, "-I") || absl::StartsWith(option, "--include-path");
    return !is_path && absl::StrContains(option, "include");
  });
}

/// What the options say of headers.
struct HeaderOptions {
  std::vector<std::string> folders;   ///< In the order of the path.
  std::vector<std::string> included;  ///< Before the text.
  bool is_known = true;               ///< False if there is an option of headers that is not known here.
};

HeaderOptions HeaderOptionsIn(const std::vector<std::string>& options) {
  HeaderOptions found;
  for (std::size_t i = 0; i < options.size(); ++i) {
    absl::string_view option = options[i];
    auto take = [&](const char* name) { return absl::ConsumePrefix(&option, name); };
    std::vector<std::string>* list = nullptr;
    if (take("--include-path") || take("-include-path") || take("-I")) {
      list = &found.folders;
    } else if (take("--pre-include") || take("-pre-include") || take("-include")) {
      list = &found.included;
    } else {
      const bool is_macro = absl::StartsWith(option, "-D") || absl::StartsWith(option, "--define-macro");
      const bool names_header = absl::StrContains(option, "include") && option != "--no-source-include";
      if (absl::StrContains(option, "__has_") || (names_header && !is_macro)) found.is_known = false;
    }
    if (list == nullptr) continue;
    if (option.empty() && i + 1 < options.size()) {
      option = options[++i];
    } else {
      absl::ConsumePrefix(&option, "=");
    }
    list->push_back(std::string(option));
  }
  return found;
}

/// Whether one of the options begins so.
bool Gives(const std::vector<std::string>& options, const char* one_way, const char* other_way) {
  return std::any_of(options.begin(), options.end(), [&](const std::string& option) {
    return absl::StartsWith(option, one_way) || absl::StartsWith(option, other_way);
  });
}

/// A macro as a line of the text: "#define TILE 64"; empty for what is none.
std::string DefineLine(const std::string& define) {
  std::size_t equals = define.find('=');
  bool is_one_line = define.find_first_of("\r\n") == std::string::npos;
  if (!is_one_line) return "";
  if (equals == std::string::npos) return absl::StrCat("#define ", define, " 1\n");
  return absl::StrCat("#define ", define.substr(0, equals), " ", define.substr(equals + 1), "\n");
}

/// What is compiled: the text, behind its macros. They are no -D, which NVRTC's own header before every text would see:
/// there "T" and "N" are names of template parameters. Moves what became a line out of `*defines`.
std::string WithMacros(const KernelSource& source, const std::string& file, std::vector<std::string>* defines) {
  // A header that is read before the text has to see the macros, too.
  if (Gives(source.options, "-include", "--pre-include") || file.find_first_of("\"\\\r\n") != std::string::npos)
    return std::string(WithoutByteOrderMark(source.content));
  std::string text;
  std::vector<std::string> left;
  for (std::string& define : *defines) {
    std::string line = DefineLine(define);
    if (line.empty()) left.push_back(std::move(define));
    text += line;
  }
  *defines = std::move(left);
  if (!text.empty()) absl::StrAppend(&text, "#line 1 \"", file, "\"\n");
  return text.append(WithoutByteOrderMark(source.content));
}

/// What messages call the source.
std::string FileOf(const KernelSource& source) {
  return source.file.empty() ? std::string(KernelNameIn(source.symbol)) + ".cu" : source.file;
}

/// One compile of one source. Destroys NVRTC's program.
class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcLibrary& nvrtc, const KernelSource& source) : nvrtc_(nvrtc), source_(source) {}
  ~NvrtcProgram() {
    if (program_ != nullptr) nvrtc_.DestroyProgram(&program_);
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  /// `text`: what is compiled; `expression`: empty for a kernel that needs none.
  Status Create(const std::string& text, const std::string& expression) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const auto& [name, header] : source_.headers) {
      names.push_back(name.c_str());
      texts.push_back(WithoutByteOrderMark(header).data());  // The end of the header is its own.
    }
    int result = nvrtc_.CreateProgram(&program_, text.c_str(), FileOf(source_).c_str(), static_cast<int>(texts.size()),
                                      texts.data(), names.data());
    if (result == 0 && !expression.empty()) result = nvrtc_.AddNameExpression(program_, expression.c_str());
    return result == 0 ? Status() : InternalError(absl::StrCat("nvrtcCreateProgram: ", nvrtc_.GetErrorString(result)));
  }

  /// NVRTC's result.
  int Compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return result_ = nvrtc_.CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  /// Of the last Compile.
  int result() const { return result_; }

  std::string Log() const {
    std::size_t size = 0;
    if (nvrtc_.GetProgramLogSize(program_, &size) != 0 || size <= 1) return "";
    std::string log(size, '\0');
    nvrtc_.GetProgramLog(program_, log.data());
    log.resize(log.find_last_not_of('\0') + 1);  // It ends with one NUL, or with two.
    return log;
  }

  Result<std::string> LoweredName(const std::string& expression) const {
    const char* name = nullptr;
    int result = nvrtc_.GetLoweredName(program_, expression.c_str(), &name);
    if (result == 0 && name != nullptr) return std::string(name);
    return InternalError(absl::StrCat("NVRTC does not say what it calls '", expression, "'"));
  }

  Result<std::string> Cubin() const {
    std::size_t size = 0;
    if (nvrtc_.GetCUBINSize(program_, &size) != 0 || size == 0) return InternalError("NVRTC made no cubin");
    std::string cubin(size, '\0');
    nvrtc_.GetCUBIN(program_, cubin.data());
    return cubin;
  }

 private:
  const NvrtcLibrary& nvrtc_;
  const KernelSource& source_;
  NvrtcLibrary::Program program_ = nullptr;
  int result_ = 0;
};

std::vector<std::string> OptionsFor(const KernelSource& source, const std::vector<std::string>& defines,
                                    const CudaHeaders& headers, const Target& target) {
  std::vector<std::string> options = {absl::StrCat("--gpu-architecture=", target.name())};
  if (!Gives(source.options, "--std", "-std")) options.emplace_back("--std=c++17");
  // Helpers and headers (CUTLASS) have functions that do not say where they run; else each is an error.
  if (!Gives(source.options, "-default-device", "--device-as-default")) options.emplace_back("-default-device");
  for (const std::string& define : defines) options.push_back("-D" + define);
  options.insert(options.end(), source.options.begin(), source.options.end());
  for (const std::string& folder : headers.folders) options.push_back("-I" + folder);
  return options;
}

/// Compiles with the options, and with those of the following that this NVRTC knows; gives up `*folder` where it writes
/// no trace there: older ones have none (before CUDA 12.8), and some disks no room for it.
/// - --no-cache: where there is a driver, NVRTC 13.0 keeps cubins in the driver's cache, and takes those of other
///   options out of it (docs/driver_rules.md).
/// - --fdevice-time-trace: names the headers that were read.
Result<std::unique_ptr<NvrtcProgram>> CompileAsKnown(const NvrtcLibrary& nvrtc, const KernelSource& source,
                                                     const std::string& text, const std::string& expression,
                                                     const std::vector<std::string>& options,
                                                     std::optional<TemporaryFolder>* folder) {
  std::unique_ptr<NvrtcProgram> program;
  for (bool without_cache : {true, false}) {
    for (bool with_trace : {true, false}) {
      if (with_trace && !*folder) continue;
      std::vector<std::string> all = options;
      if (without_cache) all.emplace_back("--no-cache");
      if (with_trace) all.push_back("--fdevice-time-trace=" + (*folder)->path() + "/trace");
      program = std::make_unique<NvrtcProgram>(nvrtc, source);
      TUNEONCE_RETURN_IF_ERROR(program->Create(text, expression));
      const int result = program->Compile(all);
      if (result == NvrtcLibrary::kInvalidOption || result == NvrtcLibrary::kTraceNotWritten) continue;
      if (!with_trace) folder->reset();
      return program;
    }
  }
  folder->reset();
  return program;
}

/// Sets what `artifact` was made of by the trace that was asked for in `folder`. `text` and `options` are what was
/// compiled.
void SetTracedDependencies(const KernelSource& source, const std::string& text, const std::vector<std::string>& options,
                           const std::string& folder, const timespec& started, Artifact* artifact) {
  std::optional<std::vector<std::string>> headers;
  for (const char* name : {"/trace.json", "/trace"}) {  // NVRTC 13.0 adds the extension.
    Result<std::string> trace = ReadFile(folder + name);
    if (trace.ok()) headers = HeadersInTrace(*trace);
    if (headers) break;
  }
  HeaderOptions given = HeaderOptionsIn(options);
  const bool is_asked = std::any_of(source.defines.begin(), source.defines.end(),
                                    [](const std::string& define) { return absl::StrContains(define, "__has_"); });
  artifact->cacheable = headers.has_value() && given.is_known && !is_asked && !OptionsNameFiles(options);
  if (!artifact->cacheable) return;
  auto is_in_memory = [&](const std::string& name) {
    return std::any_of(source.headers.begin(), source.headers.end(), [&](const auto& h) { return h.first == name; });
  };
  headers->erase(std::remove_if(headers->begin(), headers->end(), is_in_memory), headers->end());
  HeaderSearch search(HeaderPath{{}, std::move(given.folders)}, *headers, started);
  const std::string file = FileOf(source);
  search.AddText(text, file.substr(0, file.rfind('/') == std::string::npos ? 0 : file.rfind('/')));
  for (const auto& [name, header] : source.headers) search.AddHeaderInMemory(name, header);
  for (const std::string& name : given.included) search.AddInclude(name, /*is_quoted=*/true, /*folder=*/"");
  SetDependencies(*std::move(headers), &search, started, artifact);
}

}  // namespace

CudaHeaders NvrtcToolchain::Headers() const {
  Result<const NvrtcLibrary*> nvrtc = NvrtcLibrary::Load(tools_->environment());
  return CudaHeaders::Find(tools_->environment(), nvrtc.ok() ? (*nvrtc)->folder : "");
}

Result<std::string> NvrtcToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, NvrtcLibrary::Load(tools_->environment()));
  int major = 0;
  int minor = 0;
  nvrtc->Version(&major, &minor);
  const CudaHeaders headers = Headers();
  // The option is named so that code of before is not found any more: it may be of other options.
  std::string version = absl::StrCat("nvrtc ", major, ".", minor, " build ", nvrtc->build, " --no-cache");
  for (const std::string& folder : headers.folders) absl::StrAppend(&version, " -I", folder);
  return version;
}

std::string NvrtcToolchain::Description() const {
  Result<const NvrtcLibrary*> nvrtc = NvrtcLibrary::Load(tools_->environment());
  if (!nvrtc.ok()) return nvrtc.status().message();
  int major = 0;
  int minor = 0;
  (*nvrtc)->Version(&major, &minor);
  return absl::StrCat((*nvrtc)->path, " nvrtc ", major, ".", minor);
}

Result<Artifact> NvrtcToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                           const WaitLimits& limits) const {
  if (target.is_cpu_device) return InvalidArgumentError("a cuda_cpp source cannot run on the CPU device");
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, NvrtcLibrary::Load(tools_->environment()));
  if (limits.cancelled != nullptr && limits.cancelled->load())
    return CancelledError("NVRTC was not started: cancelled");
  const auto start = std::chrono::steady_clock::now();
  const timespec started = FileClock();
  const CudaHeaders headers = Headers();
  NameExpression expression{"", source.defines};
  if (IsNameExpression(source.symbol)) expression = NameExpression::Of(source.symbol, source.defines);
  const std::string text = WithMacros(source, FileOf(source), &expression.defines);
  std::vector<std::string> options = OptionsFor(source, expression.defines, headers, target);
  std::optional<TemporaryFolder> folder;  // For the trace, where one is needed; without room it is not kept.
  if (!ReadsNoFile(source) && !OptionsNameFiles(source.options)) {
    if (Result<TemporaryFolder> made = tools_->MakeFolder(); made.ok()) folder = *std::move(made);
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<NvrtcProgram> program,
                            CompileAsKnown(*nvrtc, source, text, expression.text, options, &folder));
  const int result = program->result();
  Artifact artifact;
  artifact.log = program->Log();
  if (result != 0) {
    std::string code = result == NvrtcLibrary::kCompilation ? "" : absl::StrCat(nvrtc->GetErrorString(result), ": ");
    return InvalidArgumentError(
        absl::StrCat("NVRTC for ", target.name(), ": ", code,
                     ExplainNvrtcLog(artifact.log, source, HeaderOptionsIn(options).folders, headers)));
  }
  TUNEONCE_ASSIGN_OR_RETURN(artifact.image, program->Cubin());
  artifact.symbol = source.symbol;
  if (!expression.text.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(artifact.symbol, program->LoweredName(expression.text));
  }
  artifact.cacheable = ReadsNoFile(source);
  if (folder) SetTracedDependencies(source, text, options, folder->path(), started, &artifact);
  artifact.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact).WithPrefix("NVRTC"));
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
