#include "compile/nvrtc_toolchain.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compile/cubin.h"
#include "compile/nvrtc_library.h"
#include "compile/nvrtc_source.h"
#include "definition/name_expression.h"

namespace tuneonce {
inline namespace v0 {

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
