#include "compile/ptxas_toolchain.h"

#include <cctype>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "compile/cubin.h"
#include "compile/tool.h"

namespace tuneonce {
inline namespace v0 {
namespace {

Result<Tool> FindPtxas(const Toolbox& tools) { return tools.Find("ptxas", tools.environment().ptxas); }

/// "sm_90a" if the PTX is for the target's own features, which only that name gives; else the target's name.
std::string ArchitectureFor(const std::string& ptx, const Target& target) {
  std::string name = target.name();
  std::size_t at = ptx.find(".target " + name);
  if (at == std::string::npos) return name;
  at += 8 + name.size();
  if (at < ptx.size() && std::islower(static_cast<unsigned char>(ptx[at])) != 0) name += ptx[at];
  return name;
}

}  // namespace

Result<std::string> PtxasToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(Tool ptxas, FindPtxas(*tools_));
  return "ptxas " + ptxas.version;
}

std::string PtxasToolchain::Description() const {
  Result<Tool> ptxas = FindPtxas(*tools_);
  return ptxas.ok() ? absl::StrCat(ptxas->path, " ", ptxas->version) : ptxas.status().message();
}

Result<Artifact> PtxasToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                           const WaitLimits& limits) const {
  if (target.is_cpu_device) return InvalidArgumentError("a ptx source cannot run on the CPU device");
  TUNEONCE_ASSIGN_OR_RETURN(Tool ptxas, FindPtxas(*tools_));
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, tools_->MakeFolder());
  TUNEONCE_ASSIGN_OR_RETURN(std::string input,
                            folder.WriteFile("kernel.ptx", std::string(WithoutByteOrderMark(source.content))));
  std::string output = folder.path() + "/kernel.cubin";
  std::vector<std::string> arguments = {ptxas.path, "--verbose", "--gpu-name", ArchitectureFor(source.content, target)};
  arguments.insert(arguments.end(), source.options.begin(), source.options.end());
  arguments.insert(arguments.end(), {input, "--output-file", output});
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, CompileToFile(arguments, output, folder, limits));
  artifact.symbol = source.symbol;
  artifact.cacheable = !NamesFiles(source.options);
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact).WithPrefix(ptxas.path));
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
