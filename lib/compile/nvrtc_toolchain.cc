#include "compile/nvrtc_toolchain.h"

#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compile/cubin.h"
#include "compile/cuda_headers.h"
#include "compile/dependency_file.h"
#include "compile/nvrtc_library.h"
#include "compile/nvrtc_log.h"
#include "compile/nvrtc_messages.h"
#include "compile/nvrtc_source.h"
#include "compile/nvrtc_worker.h"
#include "definition/name_expression.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::vector<std::string> OptionsFor(const KernelSource& source, const std::vector<std::string>& defines,
                                    const CudaHeaders& headers, const Target& target) {
  std::vector<std::string> options = {absl::StrCat("--gpu-architecture=", target.name())};
  if (!GivesOption(source.options, "--std", "-std")) options.emplace_back("--std=c++17");
  // Helpers and headers (CUTLASS) have functions that do not say where they run; else each is an error.
  if (!GivesOption(source.options, "-default-device", "--device-as-default")) options.emplace_back("-default-device");
  for (const std::string& define : defines) options.push_back("-D" + define);
  options.insert(options.end(), source.options.begin(), source.options.end());
  for (const std::string& folder : headers.folders) options.push_back("-I" + folder);
  return options;
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
  NvrtcRequest request;
  request.text = NvrtcTextOf(source, &expression.defines);
  request.file = NvrtcFileOf(source);
  request.headers = source.headers;
  if (!expression.text.empty()) request.expressions.push_back(expression.text);
  request.options = OptionsFor(source, expression.defines, headers, target);
  request.wants_headers = !ReadsNoFile(source) && !OptionsNameFiles(source.options);
  TUNEONCE_ASSIGN_OR_RETURN(NvrtcOutput output, CompileByNvrtc(*tools_, *nvrtc, request, limits));
  if (output.result != 0) {
    std::string code =
        output.result == NvrtcLibrary::kCompilation ? "" : absl::StrCat(nvrtc->GetErrorString(output.result), ": ");
    return InvalidArgumentError(
        absl::StrCat("NVRTC for ", target.name(), ": ", code,
                     ExplainNvrtcLog(output.log, source, HeaderOptionsIn(request.options).folders, headers)));
  }
  if (output.cubin.empty()) return InternalError("NVRTC reported success, but returned no cubin");
  Artifact artifact;
  artifact.log = std::move(output.log);
  artifact.image = std::move(output.cubin);
  artifact.symbol = source.symbol;
  if (!expression.text.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(artifact.symbol, output.LoweredName(expression.text));
  }
  artifact.cacheable = ReadsNoFile(source);
  if (output.headers) {
    SetReadHeaders(source, request.text, request.options, *std::move(output.headers), started, /*built_in=*/{},
                   &artifact);
  }
  artifact.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact).WithPrefix("NVRTC"));
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
