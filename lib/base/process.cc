#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tuneonce/base/environment.h"

namespace tuneonce {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts the child with stdin from /dev/null and both outputs into `output_fd`. Returns its pid.
Result<pid_t> Spawn(const std::string& program, const ProcessOptions& options, int output_fd) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> argv = Pointers(options.arguments);
  std::vector<char*> envp = Pointers(options.environment);
  pid_t pid = 0;
  int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), envp.data());
  if (error != 0) {
    return UnavailableError(absl::StrCat("cannot start ", program, ": ", std::strerror(error)));
  }
  return pid;
}

int RemainingMs(Clock::time_point start, int timeout_ms) {
  if (timeout_ms == 0) return 1000;  // Only a poll interval: there is no deadline.
  auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
  return spent >= timeout_ms ? 0 : static_cast<int>(timeout_ms - spent);
}

}  // namespace

std::string FindProgram(const std::string& name, const std::string& path) {
  if (name.empty()) return "";
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  for (const auto& folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    std::string candidate = absl::StrCat(folder, "/", name);
    struct stat info;
    if (access(candidate.c_str(), X_OK) == 0 && stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      return candidate;
    }
  }
  return "";
}

Result<ProcessResult> RunProcess(const ProcessOptions& options) {
  if (options.arguments.empty()) return InvalidArgumentError("RunProcess: no program was given");
  std::string program = FindProgram(options.arguments[0], Environment::Get().path);
  if (program.empty()) {
    return UnavailableError(absl::StrCat("program '", options.arguments[0], "' was not found"));
  }
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
    return ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  absl::Cleanup close_read = [&] { close(pipe_fds[0]); };
  Result<pid_t> pid = Spawn(program, options, pipe_fds[1]);
  close(pipe_fds[1]);
  if (!pid.ok()) return pid.status();

  ProcessResult result;
  const Clock::time_point start = Clock::now();
  bool timed_out = false;
  for (;;) {
    int wait_ms = RemainingMs(start, options.timeout_ms);
    if (wait_ms == 0) {
      timed_out = true;
      break;
    }
    pollfd readable{pipe_fds[0], POLLIN, 0};
    int ready = poll(&readable, 1, wait_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char buffer[4096];
    ssize_t n = read(pipe_fds[0], buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    std::size_t room = options.max_output_bytes - std::min(options.max_output_bytes, result.output.size());
    result.output.append(buffer, std::min(room, static_cast<std::size_t>(n)));
  }
  // It has closed its outputs; now it has to end. WNOWAIT keeps its pid (our name for the group) from being reused.
  siginfo_t info{};
  while (!timed_out && waitid(P_PID, *pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == 0) {
    timed_out = RemainingMs(start, options.timeout_ms) == 0;
    poll(nullptr, 0, 1);
  }
  // The group is killed in any case: a tool that ended must not leave children behind.
  kill(-*pid, SIGKILL);
  int wait_status = 0;
  while (waitpid(*pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (timed_out) {
    return DeadlineExceededError(
        absl::StrCat(program, " did not end within ", options.timeout_ms, " ms and was killed"));
  }
  result.exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  return result;
}

Result<TemporaryFolder> TemporaryFolder::Create() {
  std::string name = absl::StrCat(Environment::Get().temporary_folder, "/tuneonce-XXXXXX");
  if (mkdtemp(name.data()) == nullptr) {
    return ResourceExhaustedError(absl::StrCat("cannot make a temporary folder ", name, ": ", std::strerror(errno)));
  }
  return TemporaryFolder(std::move(name));
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  if (DIR* folder = opendir(path_.c_str()); folder != nullptr) {
    while (const dirent* entry = readdir(folder)) unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
  }
  rmdir(path_.c_str());
}

Result<std::string> TemporaryFolder::WriteFile(const std::string& name, const std::string& content) const {
  std::string file = absl::StrCat(path_, "/", name);
  std::ofstream stream(file, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) return ResourceExhaustedError(absl::StrCat("cannot write ", file));
  return file;
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return NotFoundError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

}  // namespace tuneonce
