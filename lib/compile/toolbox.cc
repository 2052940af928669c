#include "compile/toolbox.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/process.h"
#include "compile/keyed_lock.h"
#include "cuda/dynamic_library.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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

constexpr char kName[] = "tuneonce_worker";

std::vector<std::string> Places() {
  std::vector<std::string> places;
  auto add = [&](const std::string& place) {
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  };
  for (const std::string& folder : {FolderOfThisCode(), FolderOfProgram()}) {
    add(absl::StrCat(folder, "/", kName));
    for (const char* libexec : {TUNEONCE_LIBEXECDIR_FROM_LIBDIR, TUNEONCE_LIBEXECDIR_FROM_BINDIR, "libexec"}) {
      add(absl::StrCat(folder, "/", libexec, "/tuneonce/", kName));
    }
  }
  for (const std::string& folder : FoldersOfLibraries()) {
    add(absl::StrCat(folder, "/", TUNEONCE_LIBEXECDIR_FROM_LIBDIR, "/tuneonce/", kName));
  }
  return places;
}

bool IsProgram(const std::string& path) { return IsRegularFile(path) && !FindProgram(path, "").empty(); }

constexpr std::chrono::milliseconds kVersionTimeout(20000);
constexpr char kWheelFolder[] = "nvidia/cu13/bin";

std::vector<std::string> Places(const std::string& name, const Environment& environment) {
  std::vector<std::string> folders = PythonPackageFolders(environment);
  for (std::string& folder : folders) absl::StrAppend(&folder, "/", kWheelFolder);
  if (!environment.cuda_home.empty()) folders.push_back(environment.cuda_home + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  std::vector<std::string> places;
  for (const std::string& folder : folders) places.push_back(absl::StrCat(folder, "/", name));
  places.push_back(name);  // From PATH.
  return places;
}

/// Path, size and time of change of each word that names a file: a tool that was replaced is asked again.
Fingerprint IdentityOf(const std::vector<std::string>& command, const std::string& search_path) {
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

Result<std::string> AskVersion(const Toolbox& tools, const std::vector<std::string>& command) {
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, tools.MakeFolder());
  WaitLimits limits;
  limits.timeout = kVersionTimeout;
  std::vector<std::string> arguments = command;
  arguments.push_back("--version");
  std::string what = absl::StrJoin(arguments, " ");
  Result<std::string> output = RunCompiler(arguments, folder, limits, tools.VariablesForTools());
  if (!output.ok()) return UnavailableError(absl::StrCat(what, ": ", output.status().message()));
  std::string version = output->substr(0, output->find('\n'));
  for (absl::string_view line : absl::StrSplit(*output, '\n')) {
    auto at = line.find("release ");
    if (at == absl::string_view::npos) continue;
    version = std::string(line.substr(at));
    break;
  }
  if (version.find_first_of("0123456789") != std::string::npos) return version;
  return UnavailableError(absl::StrCat(what, " printed no version: ", version.empty() ? "nothing at all" : version));
}

}  // namespace

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
                                const WaitLimits& limits, std::vector<std::string> environment,
                                const std::string& name) {
  ProcessOptions options;
  options.arguments = arguments;
  options.name = name;
  options.environment = std::move(environment);
  options.environment.push_back("TMPDIR=" + folder.path());
  options.folder = folder.path();
  options.timeout = limits.timeout;
  options.stop = limits.stop;
  TUNEONCE_ASSIGN_OR_RETURN(ProcessResult result, RunProcess(options));
  std::string said(absl::StripAsciiWhitespace(result.output));
  if (result.exit_code > 128 && result.exit_code <= 128 + SIGRTMAX) {
    return InternalError(absl::StrCat(options.NameInErrors(), " was ended by ", SignalText(result.exit_code - 128),
                                      said.empty() ? "" : ": ", said));
  }
  if (result.exit_code != 0) {
    const bool is_disk_full = absl::StrContains(said, "No space left on device");  // The text of ENOSPC.
    return Status(is_disk_full ? StatusCode::kResourceExhausted : StatusCode::kInvalidArgument,
                  absl::StrCat(options.NameInErrors(), " failed with exit code ", result.exit_code,
                               said.empty() ? "" : ": ", said));
  }
  return said;
}

std::vector<std::string> PythonPackageFolders(const Environment& environment) {
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
  return packages;
}

Result<std::string> FindWorker(const Environment& environment) {
  if (!environment.worker.empty()) {
    std::string named = AbsolutePath(environment.worker);
    if (IsProgram(named)) return named;
    return UnavailableError(absl::StrCat("TUNEONCE_WORKER is '", environment.worker, "', which is not a program"));
  }
  const std::vector<std::string> places = Places();
  auto found = std::find_if(places.begin(), places.end(), IsProgram);
  if (found != places.end()) return *found;
  return UnavailableError(absl::StrCat(kName, " was not found; looked for: ", absl::StrJoin(places, "; "),
                                       ": install it with the library, or name it by TUNEONCE_WORKER"));
}

/// The versions that are known, and which are being asked for; and where the worker is.
struct Toolbox::State {
  std::optional<std::string> Find(const Fingerprint& tool) {
    MutexLock lock(mutex);
    auto found = known.find(tool);
    return found == known.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  void Add(const Fingerprint& tool, const std::string& version) {
    MutexLock lock(mutex);
    known[tool] = version;
  }

  Mutex mutex;
  std::map<Fingerprint, std::string> known TUNEONCE_GUARDED_BY(mutex);
  KeyedLock asking;
  std::once_flag worker_once;
  Result<std::string> worker{std::string()};
};

Toolbox::Toolbox(Environment environment) : environment_(std::move(environment)), state_(std::make_unique<State>()) {}

Toolbox::~Toolbox() = default;

Result<std::string> Toolbox::VersionOf(const std::vector<std::string>& command) const {
  Fingerprint tool = IdentityOf(command, environment_.path);
  if (std::optional<std::string> version = state_->Find(tool)) return *std::move(version);
  WaitLimits limits;
  limits.timeout = kVersionTimeout;
  Result<std::shared_ptr<void>> lease = state_->asking.Acquire(tool, limits);
  if (!lease.ok()) return lease.status().WithPrefix(absl::StrCat(command[0], " --version"));
  if (std::optional<std::string> version = state_->Find(tool)) return *std::move(version);
  TUNEONCE_ASSIGN_OR_RETURN(std::string version, AskVersion(*this, command));
  state_->Add(tool, version);
  return version;
}

const Result<std::string>& Toolbox::Worker() const {
  std::call_once(state_->worker_once, [&] { state_->worker = FindWorker(environment_); });
  return state_->worker;
}

Result<Tool> Toolbox::Find(const std::string& name, const std::string& explicit_path) const {
  Tool tool;
  std::vector<std::string> places =
      explicit_path.empty() ? Places(name, environment_) : std::vector<std::string>{explicit_path};
  for (const std::string& place : places) {
    tool.path = FindProgram(place, environment_.path);
    if (!tool.path.empty()) break;
  }
  if (tool.path.empty()) {
    if (!explicit_path.empty()) return UnavailableError(absl::StrCat(name, " was not found at ", explicit_path));
    return UnavailableError(absl::StrCat(name, " was not found; looked for ", absl::StrJoin(places, ", ")));
  }
  TUNEONCE_ASSIGN_OR_RETURN(tool.version, VersionOf({tool.path}));
  return tool;
}

}  // namespace v0
}  // namespace tuneonce
