#include "compile/toolbox.h"

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/mutex.h"
#include "base/process.h"
#include "compile/find_worker.h"
#include "compile/keyed_lock.h"
#include "compile/python_packages.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr int kVersionTimeoutMs = 20000;
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
  limits.timeout_ms = kVersionTimeoutMs;
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
  limits.timeout_ms = kVersionTimeoutMs;
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
