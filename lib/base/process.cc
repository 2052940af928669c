#include "base/process.h"

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

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tuneonce/base/environment.h"

namespace tuneonce {
namespace {

using Clock = std::chrono::steady_clock;

/// How soon a cancellation is noticed.
constexpr int kCancelPollMs = 20;

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Arguments: $1 = folder or "", $2 = file size limit in 512-byte blocks or "unlimited", then the tool. Descriptor 3 is
/// the pipe whose other end this process holds. The tool's outputs are the shell's; the shell gives its own up, so that
/// they end with the tool. The watcher ignores the TERM that it sends to the group, so that it can clean up after it.
constexpr char kSupervisor[] = R"sh(
folder=$1; ulimit -f "$2"; shift 2
"$@" 3<&- & tool=$!
exec >/dev/null 2>&1
(trap '' TERM; read -r line <&3; kill -TERM 0; [ -n "$folder" ] && { /bin/rm -rf "$folder"; /bin/rm -rf "$folder"; }; kill -KILL 0) &
watcher=$!
exec 3<&-
wait "$tool"; code=$?
kill -KILL "$watcher"; wait "$watcher"
exit "$code"
)sh";

/// Starts the supervised tool with stdin from /dev/null and both outputs into `output_fd`. Returns the shell's pid.
Result<pid_t> Spawn(const std::string& program, const ProcessOptions& options, int output_fd, int life_fd) {
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
  posix_spawn_file_actions_adddup2(&actions, life_fd, 3);  // After the others: 3 may be one of them.
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments = {
      "sh",   "-c",           kSupervisor,
      "sh",   options.folder, options.max_file_bytes == 0 ? "unlimited" : absl::StrCat(options.max_file_bytes / 512),
      program};
  arguments.insert(arguments.end(), options.arguments.begin() + 1, options.arguments.end());
  std::vector<char*> argv = Pointers(arguments);
  std::vector<char*> envp = Pointers(options.environment);
  pid_t pid = 0;
  int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv.data(), envp.data());
  if (error != 0) {
    return UnavailableError(absl::StrCat("cannot start /bin/sh for ", program, ": ", std::strerror(error)));
  }
  return pid;
}

int RemainingMs(Clock::time_point start, int timeout_ms) {
  if (timeout_ms == 0) return 1000;  // Only a poll interval: there is no deadline.
  auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
  return spent >= timeout_ms ? 0 : static_cast<int>(timeout_ms - spent);
}

/// Without reaping it, which keeps its pid (our name for the group) from being reused.
bool HasEnded(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid != 0;
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
  int output[2];
  int life[2];
  if (pipe2(output, O_CLOEXEC) != 0) {
    return ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  absl::Cleanup close_output = [&] { close(output[0]); };
  if (pipe2(life, O_CLOEXEC) != 0) {
    close(output[1]);
    return ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  absl::Cleanup close_life = [&] { close(life[1]); };
  Result<pid_t> pid = Spawn(program, options, output[1], life[0]);
  close(output[1]);
  close(life[0]);
  if (!pid.ok()) return pid.status();

  ProcessResult result;
  const Clock::time_point start = Clock::now();
  Status stopped;
  auto stop = [&] {
    if (options.cancelled != nullptr && options.cancelled->load()) {
      stopped = CancelledError(absl::StrCat(program, " was cancelled and killed"));
    } else if (RemainingMs(start, options.timeout_ms) == 0) {
      stopped = DeadlineExceededError(
          absl::StrCat(program, " did not end within ", options.timeout_ms, " ms and was killed"));
    }
    return !stopped.ok();
  };
  while (!stop()) {
    pollfd readable{output[0], POLLIN, 0};
    int ready = poll(&readable, 1, std::min(RemainingMs(start, options.timeout_ms), kCancelPollMs));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      if (HasEnded(*pid)) break;  // A child of the tool still holds its output.
      continue;
    }
    char buffer[4096];
    ssize_t n = read(output[0], buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    std::size_t room = options.max_output_bytes - std::min(options.max_output_bytes, result.output.size());
    result.output.append(buffer, std::min(room, static_cast<std::size_t>(n)));
  }
  // It has closed its outputs; now it has to end.
  while (stopped.ok() && !HasEnded(*pid) && !stop()) poll(nullptr, 0, 1);
  // The group is killed in any case: a tool that ended must not leave children behind.
  kill(-*pid, SIGKILL);
  int wait_status = 0;
  while (waitpid(*pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (!stopped.ok()) return stopped;
  result.exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  return result;
}

}  // namespace tuneonce
