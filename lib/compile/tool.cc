#include "compile/tool.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "compile/keyed_lock.h"
#include "cuda/dynamic_library.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
namespace {

constexpr int kVersionTimeoutMs = 20000;
constexpr char kWheelFolder[] = "nvidia/cu13/bin";

/// `root`/lib/python3*/{site,dist}-packages, those that exist.
void AddPackageFolders(const std::string& root, std::vector<std::string>* folders) {
  for (const std::string& name : NamesIn(root + "/lib")) {
    if (name.rfind("python3", 0) != 0) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      std::string folder = absl::StrCat(root, "/lib/", name, "/", packages);
      if (IsDirectory(folder)) folders->push_back(std::move(folder));
    }
  }
}

std::vector<std::string> WheelFolders(const Environment& environment) {
  std::vector<std::string> packages;
  // The folder above each slash of this code's own path, from the innermost on.
  std::string above = FolderOfThisCode();
  for (; above.find('/') != std::string::npos; above.resize(above.rfind('/'))) {
    if (absl::EndsWith(above, "/site-packages") || absl::EndsWith(above, "/dist-packages")) packages.push_back(above);
  }
  if (!environment.virtual_env.empty()) AddPackageFolders(environment.virtual_env, &packages);
  if (!environment.home.empty()) AddPackageFolders(environment.home + "/.local", &packages);
  AddPackageFolders("/usr/local", &packages);
  AddPackageFolders("/usr", &packages);
  for (std::string& folder : packages) absl::StrAppend(&folder, "/", kWheelFolder);
  return packages;
}

std::vector<std::string> Places(const std::string& name) {
  Environment environment = Environment::Get();
  std::vector<std::string> folders = WheelFolders(environment);
  if (!environment.cuda_home.empty()) folders.push_back(environment.cuda_home + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  std::vector<std::string> places;
  for (const std::string& folder : folders) places.push_back(absl::StrCat(folder, "/", name));
  places.push_back(name);  // From PATH.
  return places;
}

/// Path, size and time of change of each word that names a file: a tool that was replaced is asked again.
Fingerprint IdentityOf(const std::vector<std::string>& command) {
  std::string search_path = Environment::Get().path;
  Fingerprinter identity;
  for (const std::string& word : command) {
    std::string path = FindProgram(word, search_path);
    struct stat info {};
    stat(path.c_str(), &info);
    identity.Add(word).Add(path).Add(static_cast<std::uint64_t>(info.st_size));
    identity.Add(static_cast<std::uint64_t>(info.st_mtim.tv_sec)).Add(static_cast<std::uint64_t>(info.st_mtim.tv_nsec));
  }
  return identity.Finish();
}

Result<std::string> AskVersion(const std::vector<std::string>& command) {
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Create());
  CompileLimits limits;
  limits.timeout_ms = kVersionTimeoutMs;
  std::vector<std::string> arguments = command;
  arguments.push_back("--version");
  std::string what = absl::StrJoin(arguments, " ");
  Result<std::string> output = RunCompiler(arguments, folder, limits, {"PATH=" + Environment::Get().path, "LC_ALL=C"});
  if (!output.ok()) return UnavailableError(absl::StrCat(what, ": ", output.status().message()));
  std::string version = output->substr(0, output->find('\n'));
  for (absl::string_view line : absl::StrSplit(*output, '\n')) {
    auto at = line.find("release ");
    if (at == absl::string_view::npos) continue;
    version = std::string(line.substr(at));
    break;
  }
  if (version.find_first_of("0123456789") != std::string::npos) return version;
  return UnavailableError(absl::StrCat(what, " says no version: ", version.empty() ? "nothing at all" : version));
}

/// The versions that are known.
class VersionTable {
 public:
  std::optional<std::string> Find(const Fingerprint& tool) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = versions_.find(tool);
    return found == versions_.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  void Add(const Fingerprint& tool, const std::string& version) {
    std::lock_guard<std::mutex> lock(mutex_);
    versions_[tool] = version;
  }

 private:
  std::mutex mutex_;
  std::map<Fingerprint, std::string> versions_;
};

}  // namespace

Result<std::string> VersionOf(const std::vector<std::string>& command) {
  static auto* const known = new VersionTable;
  static auto* const asking = new KeyedLock;
  Fingerprint tool = IdentityOf(command);
  if (std::optional<std::string> version = known->Find(tool)) return *std::move(version);
  CompileLimits limits;
  limits.timeout_ms = kVersionTimeoutMs;
  Result<ArtifactLease> lease = asking->Acquire(tool, limits);
  if (!lease.ok()) return lease.status().WithPrefix(absl::StrCat(command[0], " --version"));
  if (std::optional<std::string> version = known->Find(tool)) return *std::move(version);
  TUNEONCE_ASSIGN_OR_RETURN(std::string version, AskVersion(command));
  known->Add(tool, version);
  return version;
}

Result<Tool> FindTool(const std::string& name, const std::string& explicit_path) {
  std::string search_path = Environment::Get().path;
  Tool tool;
  std::vector<std::string> places = explicit_path.empty() ? Places(name) : std::vector<std::string>{explicit_path};
  for (const std::string& place : places) {
    tool.path = FindProgram(place, search_path);
    if (!tool.path.empty()) break;
  }
  if (tool.path.empty()) {
    if (!explicit_path.empty()) return UnavailableError(absl::StrCat(name, " was not found at ", explicit_path));
    return UnavailableError(absl::StrCat(name, " was not found; looked for ", absl::StrJoin(places, ", ")));
  }
  TUNEONCE_ASSIGN_OR_RETURN(tool.version, VersionOf({tool.path}));
  return tool;
}

bool NamesFiles(const std::vector<std::string>& options) {
  auto exists = [](absl::string_view name) { return access(std::string(name).c_str(), F_OK) == 0; };
  for (const std::string& option : options) {
    for (absl::string_view part : absl::StrSplit(option, absl::ByAnyChar("=, "), absl::SkipEmpty())) {
      if (exists(part) || (part.size() > 2 && part[0] == '-' && exists(part.substr(2)))) return true;
    }
  }
  return false;
}

Result<std::string> RunCompiler(const std::vector<std::string>& arguments, const TemporaryFolder& folder,
                                const CompileLimits& limits, std::vector<std::string> environment) {
  ProcessOptions options;
  options.arguments = arguments;
  options.environment = std::move(environment);
  options.environment.push_back("TMPDIR=" + folder.path());
  options.folder = folder.path();
  options.timeout_ms = limits.timeout_ms;
  options.cancelled = limits.cancelled;
  TUNEONCE_ASSIGN_OR_RETURN(ProcessResult result, RunProcess(options));
  std::string said(absl::StripAsciiWhitespace(result.output));
  if (result.exit_code > 128 && result.exit_code <= 128 + SIGRTMAX) {
    return InternalError(
        absl::StrCat(arguments[0], " was ended by signal ", result.exit_code - 128, said.empty() ? "" : ": ", said));
  }
  if (result.exit_code != 0) {
    return InvalidArgumentError(
        absl::StrCat(arguments[0], " failed with exit code ", result.exit_code, said.empty() ? "" : ": ", said));
  }
  return said;
}

Result<Artifact> CompileToFile(const std::vector<std::string>& arguments, const std::string& output,
                               const TemporaryFolder& folder, const CompileLimits& limits,
                               std::vector<std::string> environment) {
  auto start = std::chrono::steady_clock::now();
  Artifact artifact;
  TUNEONCE_ASSIGN_OR_RETURN(artifact.log, RunCompiler(arguments, folder, limits, std::move(environment)));
  artifact.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Result<std::string> image = ReadFile(output);
  if (!image.ok() || image->empty()) {
    return InternalError(absl::StrCat(arguments[0], " ended well but wrote nothing"));
  }
  artifact.image = *std::move(image);
  return artifact;
}

}  // namespace tuneonce
