#include "tuneonce/compile/host_toolchain.h"

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process.h"
#include "compile/tool.h"
#include "cpu_kernel_prelude.h"  // Generated from cpu_device/include/tuneonce/cpu_device/kernel.h.
#include "tuneonce/base/environment.h"

namespace tuneonce {
namespace {

/// The compiler finds its own parts by PATH; LC_ALL keeps its messages in one language.
std::vector<std::string> ToolEnvironment() { return {"PATH=" + Environment::Get().path, "LC_ALL=C"}; }

/// What -march=native depends on.
std::string CpuModel() {
  Result<std::string> info = ReadFile("/proc/cpuinfo");
  if (!info.ok()) return "";
  std::size_t at = info->find("model name");
  return at == std::string::npos ? "" : info->substr(at, info->find('\n', at) - at);
}

}  // namespace

Result<std::string> HostToolchain::FindCompiler() {
  Environment environment = Environment::Get();
  if (!environment.cxx.empty()) {
    std::string path = FindProgram(environment.cxx, environment.path);
    if (!path.empty()) return path;
    return UnavailableError(
        absl::StrCat("the C++ compiler '", environment.cxx, "' (from TUNEONCE_CXX or CXX) was not found"));
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (std::string path = FindProgram(name, environment.path); !path.empty()) return path;
  }
  return UnavailableError(
      "no C++ compiler was found (looked for c++, g++, clang++ in PATH): install one, or set TUNEONCE_CXX");
}

Result<std::string> HostToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string compiler, FindCompiler());
  TUNEONCE_ASSIGN_OR_RETURN(Tool tool, FindTool("C++ compiler", compiler));
  static const auto* const cpu = new std::string(CpuModel());
  return absl::StrCat(tool.version, ", ", *cpu);
}

std::string HostToolchain::Description() const {
  Result<std::string> compiler = FindCompiler();
  if (!compiler.ok()) return compiler.status().message();
  Result<Tool> tool = FindTool("C++ compiler", *compiler);
  return tool.ok() ? absl::StrCat(tool->path, ": ", tool->version) : tool.status().message();
}

Result<Artifact> HostToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                          const CompileLimits& limits) const {
  if (!target.is_cpu_device) return InvalidArgumentError("a host_cpp source runs on the CPU device only");
  TUNEONCE_ASSIGN_OR_RETURN(std::string compiler, FindCompiler());
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create());
  TUNEONCE_ASSIGN_OR_RETURN(std::string input,
                            folder.WriteFile("kernel.cc", absl::StrCat(kCpuKernelPrelude, "\n#line 1 \"", source.symbol,
                                                                       ".cc\"\n", source.content)));
  std::string output = folder.path() + "/kernel.so";
  // -fno-gnu-unique: a unique symbol would keep the module loaded for ever, and be shared between candidates.
  std::vector<std::string> arguments = {
      compiler, "-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-fvisibility=hidden"};
  if (compiler.find("clang") == std::string::npos) arguments.push_back("-fno-gnu-unique");
  for (const std::string& define : source.defines) arguments.push_back("-D" + define);
  arguments.insert(arguments.end(), source.options.begin(), source.options.end());
  arguments.insert(arguments.end(), {input, "-o", output});
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, CompileToFile(arguments, output, folder, limits, ToolEnvironment()));
  artifact.symbol = source.symbol;
  // The build id is the linker's hash of the content, so equal code gives equal bytes.
  artifact.code_fingerprint = Fingerprinter().Add(artifact.image).Add(artifact.symbol).Finish();
  return artifact;
}

}  // namespace tuneonce
