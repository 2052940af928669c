#include "tuneonce/compile/host_toolchain.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/process.h"
#include "cpu_kernel_prelude.h"  // Generated from cpu_device/include/tuneonce/cpu_device/kernel.h.
#include "tuneonce/base/environment.h"

namespace tuneonce {
namespace {

constexpr int kCompileTimeoutMs = 60000;

std::vector<std::string> ToolEnvironment(const std::string& temporary_folder) {
  // The compiler finds its own parts by PATH; LC_ALL keeps its messages in one language.
  return {"PATH=" + Environment::Get().path, "TMPDIR=" + temporary_folder, "LC_ALL=C"};
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

std::string HostToolchain::Description() const {
  Result<std::string> compiler = FindCompiler();
  if (!compiler.ok()) return compiler.status().message();
  ProcessOptions options;
  options.arguments = {*compiler, "-dumpfullversion", "-dumpversion"};
  options.environment = ToolEnvironment(Environment::Get().temporary_folder);
  Result<ProcessResult> result = RunProcess(options);
  std::string version = result.ok() && result->exit_code == 0 ? result->output : "unknown version";
  return absl::StrCat(*compiler, " ", version.substr(0, version.find('\n')));
}

Result<Artifact> HostToolchain::Compile(const KernelSource& source, const Hints&, const Target& target) const {
  if (!target.is_cpu_device) return InvalidArgumentError("a host_cpp source runs on the CPU device only");
  TUNEONCE_ASSIGN_OR_RETURN(std::string compiler, FindCompiler());
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create());
  TUNEONCE_ASSIGN_OR_RETURN(std::string input,
                            folder.WriteFile("kernel.cc", absl::StrCat(kCpuKernelPrelude, "\n#line 1 \"", source.symbol,
                                                                       ".cc\"\n", source.content)));
  std::string output = folder.path() + "/kernel.so";
  ProcessOptions options;
  // -fno-gnu-unique: a unique symbol would keep the module loaded for ever, and be shared between candidates.
  options.arguments = {compiler, "-std=c++17",         "-O3", "-march=native", "-ffp-contract=off", "-shared",
                       "-fPIC",  "-fvisibility=hidden"};
  if (compiler.find("clang") == std::string::npos) options.arguments.push_back("-fno-gnu-unique");
  for (const std::string& define : source.defines) options.arguments.push_back("-D" + define);
  for (const std::string& option : source.options) options.arguments.push_back(option);
  for (const std::string& last : {input, std::string("-o"), output}) options.arguments.push_back(last);
  options.environment = ToolEnvironment(folder.path());
  options.timeout_ms = kCompileTimeoutMs;

  auto start = std::chrono::steady_clock::now();
  TUNEONCE_ASSIGN_OR_RETURN(ProcessResult result, RunProcess(options));
  if (result.exit_code != 0) {
    return InvalidArgumentError(
        absl::StrCat(compiler, " failed with exit code ", result.exit_code, ": ", result.output));
  }
  Artifact artifact;
  artifact.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TUNEONCE_ASSIGN_OR_RETURN(artifact.image, ReadFile(output));
  artifact.symbol = source.symbol;
  artifact.log = result.output;
  // The build id is the linker's hash of the content, so equal code gives equal bytes.
  artifact.code_fingerprint = Fingerprinter().Add(artifact.image).Add(artifact.symbol).Finish();
  return artifact;
}

}  // namespace tuneonce
