#include "compile/nvrtc_source.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "compile/cubin.h"
#include "compile/dependency_file.h"
#include "compile/header_search.h"
#include "compile/nvrtc_library.h"
#include "compile/nvrtc_log.h"
#include "compile/nvrtc_worker.h"
#include "definition/source_identity.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// NVRTC has this header within itself, and reads no file of its name.
constexpr char kTileHeader[] = "cuda_tile.h";

/// Whether `text` has this word, however its lines are cut.
bool Mentions(const std::string& text, const char* word) {
  if (text.find('\\') == std::string::npos) return text.find(word) != std::string::npos;
  return absl::StrReplaceAll(text, {{"\\\r\n", ""}, {"\\\n", ""}}).find(word) != std::string::npos;
}

/// Returns a macro as a line of source text ("#define TILE 64"), or "" if `define` has more than one line.
std::string DefineLine(const std::string& define) {
  std::size_t equals = define.find('=');
  bool is_one_line = define.find_first_of("\r\n") == std::string::npos;
  if (!is_one_line) return "";
  if (equals == std::string::npos) return absl::StrCat("#define ", define, " 1\n");
  return absl::StrCat("#define ", define.substr(0, equals), " ", define.substr(equals + 1), "\n");
}

/// Whether one of the options begins in one of these ways.
bool GivesOption(const std::vector<std::string>& options, const char* one_way, const char* other_way) {
  return std::any_of(options.begin(), options.end(), [&](const std::string& option) {
    return absl::StartsWith(option, one_way) || absl::StartsWith(option, other_way);
  });
}

/// The text that is compiled: the source's, behind its macros. These are no -D, which NVRTC's own header before every
/// text would see: there "T" and "N" are names of template parameters. Moves what became a line out of `*defines`.
std::string NvrtcTextOf(const KernelSource& source, std::vector<std::string>* defines) {
  const std::string file = NvrtcFileOf(source);
  // A header that is read before the text has to see the macros, too.
  if (GivesOption(source.options, "-include", "--pre-include") || file.find_first_of("\"\\\r\n") != std::string::npos)
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

/// Whether an option other than a folder of headers or a macro makes NVRTC read or write a file.
bool OptionsNameFiles(const std::vector<std::string>& options) {
  return std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return absl::StrContains(option, "pch") || absl::StrContains(option, "time-trace");
  });
}

/// Whether the source's text and options show that no file is read.
bool ReadsNoFile(const KernelSource& source) {
  if (Mentions(source.content, "include") || OptionsNameFiles(source.options)) return false;
  return std::none_of(source.options.begin(), source.options.end(), [](const std::string& option) {
    bool is_path = absl::StartsWith(option, "-I") || absl::StartsWith(option, "--include-path");
    return !is_path && absl::StrContains(option, "include");
  });
}

/// Sets what `artifact` was made of: the files among `headers`, which a run of NVRTC read, and those that it looked for
/// and did not find. `built_in`: the names of headers that this NVRTC has within itself, so that it reads no such file.
void SetReadHeaders(const KernelSource& source, const NvrtcRequest& request, std::vector<std::string> headers,
                    const timespec& started, const std::vector<std::string>& built_in, Artifact* artifact) {
  HeaderOptions given = HeaderOptionsIn(request.options);
  const bool is_asked = std::any_of(source.defines.begin(), source.defines.end(),
                                    [](const std::string& define) { return absl::StrContains(define, "__has_"); });
  artifact->cacheable = given.is_known && !is_asked && !OptionsNameFiles(request.options);
  if (!artifact->cacheable) return;
  auto is_in_memory = [&](const std::string& name) {
    return std::find(built_in.begin(), built_in.end(), name) != built_in.end() ||
           std::any_of(source.headers.begin(), source.headers.end(), [&](const auto& h) { return h.first == name; });
  };
  headers.erase(std::remove_if(headers.begin(), headers.end(), is_in_memory), headers.end());
  HeaderSearch search(HeaderPath{{}, std::move(given.folders)}, headers, started);
  const std::string& file = request.file;
  search.AddText(request.text, file.substr(0, file.rfind('/') == std::string::npos ? 0 : file.rfind('/')));
  for (const auto& [name, header] : source.headers) search.AddHeaderInMemory(name, header);
  for (const std::string& name : built_in) search.AddHeaderInMemory(name, "");
  for (const std::string& name : given.included) search.AddInclude(name, /*is_quoted=*/true, /*folder=*/"");
  SetDependencies(std::move(headers), &search, started, artifact);
}

/// The options for a run: some by default, the macros, then the source's own, then the folders of the CUDA toolkit.
std::vector<std::string> OptionsFor(const NvrtcJob& job, const CudaHeaders& headers) {
  struct Default {
    const char* option;
    const char* one_way;  // How the source's own begin, which replace it.
    const char* other_way;
    bool is_for_tile_only;
  };
  const bool is_tile = IsTile(job.source.kind);
  // Helpers and headers (CUTLASS) have functions that do not state where they run; else each is an error.
  const Default defaults[] = {{is_tile ? "--std=c++20" : "--std=c++17", "--std", "-std", false},
                              {"-default-device", "-default-device", "--device-as-default", false},
                              {"-default-tile", "-default-tile", "-default-tile", true}};
  std::vector<std::string> options = {absl::StrCat("--gpu-architecture=", job.target.name())};
  if (is_tile) options.emplace_back("--enable-tile");
  for (const Default& each : defaults) {
    if (each.is_for_tile_only && !is_tile) continue;
    if (!GivesOption(job.options, each.one_way, each.other_way)) options.emplace_back(each.option);
  }
  for (const std::string& define : job.defines) options.push_back("-D" + define);
  options.insert(options.end(), job.options.begin(), job.options.end());
  for (const std::string& folder : headers.folders) options.push_back("-I" + folder);
  return options;
}

}  // namespace

std::string NvrtcFileOf(const KernelSource& source) {
  return source.file.empty() ? std::string(KernelNameIn(source.symbol)) + ".cu" : source.file;
}

Result<NvrtcOutput> RunNvrtc(const Toolbox& tools, const NvrtcLibrary& nvrtc, NvrtcJob job, const WaitLimits& limits,
                             Artifact* made_of) {
  if (limits.cancelled != nullptr && limits.cancelled->load())
    return CancelledError("NVRTC was not started: cancelled");
  const KernelSource& source = job.source;
  const bool is_tile = IsTile(source.kind);
  const auto start = std::chrono::steady_clock::now();
  const timespec started = FileClock();
  const CudaHeaders headers = CudaHeaders::Find(tools.environment(), nvrtc.folder, is_tile);
  NvrtcRequest request;
  request.text = NvrtcTextOf(source, &job.defines);
  request.file = NvrtcFileOf(source);
  request.headers = source.headers;
  request.expressions = job.expressions;
  request.options = OptionsFor(job, headers);
  request.wants_headers = !ReadsNoFile(source) && !OptionsNameFiles(source.options);
  TUNEONCE_ASSIGN_OR_RETURN(NvrtcOutput output, CompileByNvrtc(tools, nvrtc, request, limits));
  if (output.result != 0) {
    const std::string code =
        output.result == NvrtcLibrary::kCompilation ? "" : absl::StrCat(nvrtc.GetErrorString(output.result), ": ");
    return InvalidArgumentError(
        absl::StrCat("NVRTC for ", job.target.name(), ": ", code,
                     ExplainNvrtcLog(output.log, source, HeaderOptionsIn(request.options).folders, headers)));
  }
  made_of->log = output.log;
  made_of->cacheable = ReadsNoFile(source);
  if (output.headers) {
    std::vector<std::string> built_in;
    if (is_tile) built_in.emplace_back(kTileHeader);
    SetReadHeaders(source, request, *output.headers, started, built_in, made_of);
  }
  made_of->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return output;
}

CudaHeaders NvrtcToolchain::Headers() const {
  Result<const NvrtcLibrary*> nvrtc = NvrtcLibrary::Load(tools_->environment());
  return CudaHeaders::Find(tools_->environment(), nvrtc.ok() ? (*nvrtc)->folder : "");
}

Result<std::string> NvrtcToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, NvrtcLibrary::Load(tools_->environment()));
  const CudaHeaders headers = Headers();
  // The option is named so that code of before is not found any more: it may be of other options.
  std::string version = absl::StrCat("nvrtc ", nvrtc->VersionText(), " build ", nvrtc->build, " --no-cache");
  for (const std::string& folder : headers.folders) absl::StrAppend(&version, " -I", folder);
  return version;
}

std::string NvrtcToolchain::Description() const {
  Result<const NvrtcLibrary*> nvrtc = NvrtcLibrary::Load(tools_->environment());
  return nvrtc.ok() ? absl::StrCat((*nvrtc)->path, " nvrtc ", (*nvrtc)->VersionText()) : nvrtc.status().message();
}

Result<Artifact> NvrtcToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                           const WaitLimits& limits) const {
  if (target.is_cpu_device) return InvalidArgumentError("a cuda_cpp source cannot run on the CPU device");
  TUNEONCE_ASSIGN_OR_RETURN(const NvrtcLibrary* nvrtc, NvrtcLibrary::Load(tools_->environment()));
  NameExpression expression{"", source.defines};
  if (IsNameExpression(source.symbol)) expression = NameExpression::Of(source.symbol, source.defines);
  NvrtcJob job{source, target, source.options, std::move(expression.defines), {}};
  if (!expression.text.empty()) job.expressions.push_back(expression.text);
  Artifact artifact;
  TUNEONCE_ASSIGN_OR_RETURN(NvrtcOutput output, RunNvrtc(*tools_, *nvrtc, std::move(job), limits, &artifact));
  if (output.cubin.empty()) return InternalError("NVRTC reported success, but returned no cubin");
  artifact.image = std::move(output.cubin);
  artifact.symbol = source.symbol;
  if (!expression.text.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(artifact.symbol, output.LoweredName(expression.text));
  }
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact).WithPrefix("NVRTC"));
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
