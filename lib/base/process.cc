#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

using Clock = std::chrono::steady_clock;

/// How soon a cancellation is noticed.
constexpr int kCancelPollMs = 20;

/// Size of one read, which is what a pipe on Linux holds.
constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kPipeBytes = 65536;

/// An exit status has three digits.
constexpr std::size_t kMaxStatusBytes = 16;

/// Arguments: $1 is the folder or "", $2 the limit of file sizes in 512-byte blocks or "", then the tool follows. File
/// descriptor 3 is the pipe whose other end this process holds. The tool's exit status is written to descriptor 4,
/// because waitpid is unreliable in a process whose host ignores SIGCHLD or reaps all children. If no line arrives
/// there, the shell itself failed and printed why. The tool writes to the shell's outputs, and the shell closes its
/// own, so that they end with the tool. The watcher ignores the TERM that it sends to the group, so that it can clean
/// up afterwards. The shell stays until the group is killed, so that its pid keeps naming the group.
constexpr char kSupervisor[] = R"sh(
folder=$1
[ -z "$2" ] || ulimit -f "$2" || exit 1
shift 2
(exec 4>&- >/dev/null 2>&1; trap '' TERM; read -r line <&3; kill -TERM 0
 [ -n "$folder" ] && { /bin/rm -rf "$folder"; /bin/rm -rf "$folder"; }; kill -KILL 0) &
watcher=$!
"$@" 3<&- 4>&- & tool=$!
exec 3<&- >/dev/null 2>&1
wait "$tool"; echo "$?" >&4
exec 4>&-
wait "$watcher"
)sh";

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Result<Pipe> MakePipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) == 0) {
    FileDescriptor low_read(ends[0]);
    FileDescriptor low_write(ends[1]);
    Pipe pipe{FileDescriptor(fcntl(ends[0], F_DUPFD_CLOEXEC, kFirstDescriptor)),
              FileDescriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, kFirstDescriptor))};
    if (pipe.read_end.is_open() && pipe.write_end.is_open()) return pipe;
  }
  // F_DUPFD's EINVAL: the process may not have so many descriptors.
  return ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", std::strerror(errno == EINVAL ? EMFILE : errno)));
}

/// A limit in 512-byte blocks that the tool may set: one above what already holds here cannot be set. Empty: none.
std::string FileBlocks(std::int64_t max_file_bytes) {
  rlimit current{};
  if (max_file_bytes == 0 || getrlimit(RLIMIT_FSIZE, &current) != 0) return "";
  if (current.rlim_cur <= static_cast<rlim_t>(max_file_bytes)) return "";  // RLIM_INFINITY is the largest value.
  return absl::StrCat(max_file_bytes / 512);
}

/// A supervised tool that runs, and this process's ends of its pipes.
struct Supervised {
  pid_t shell = 0;
  FileDescriptor output;  ///< Both outputs of the tool.
  FileDescriptor status;  ///< A line with its exit status.
  FileDescriptor life;    ///< The group is killed when this closes.
};

/// Starts the supervised tool with stdin from /dev/null.
Result<Supervised> Start(const std::string& program, const ProcessOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  TUNEONCE_ASSIGN_OR_RETURN(Pipe status, MakePipe());
  TUNEONCE_ASSIGN_OR_RETURN(Pipe life, MakePipe());
  Spawn spawn;
  spawn.Duplicate(output.write_end.get(), STDOUT_FILENO);
  spawn.Duplicate(output.write_end.get(), STDERR_FILENO);
  spawn.Duplicate(life.read_end.get(), 3);
  spawn.Duplicate(status.write_end.get(), 4);
  std::vector<std::string> arguments = {
      "sh", "-c", kSupervisor, "sh", options.folder, FileBlocks(options.max_file_bytes), program};
  arguments.insert(arguments.end(), options.arguments.begin() + 1, options.arguments.end());
  Supervised started;
  int error = spawn.Start("/bin/sh", arguments, options.environment, Spawn::Apart::kInGroup, &started.shell);
  if (error != 0) {
    return UnavailableError(absl::StrCat("cannot start /bin/sh for ", program, ": ", std::strerror(error)));
  }
  started.output = std::move(output.read_end);
  started.status = std::move(status.read_end);
  started.life = std::move(life.write_end);
  return started;
}

/// Appends what can be read now. Returns false at the end of the file, or if nothing can be read.
bool ReadSome(const FileDescriptor& from, std::size_t max_bytes, std::string* to) {
  char buffer[kReadBytes];
  ssize_t n = read(from.get(), buffer, sizeof(buffer));
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  to->append(buffer, std::min(max_bytes - std::min(max_bytes, to->size()), static_cast<std::size_t>(n)));
  return true;
}

bool IsReadable(const FileDescriptor& descriptor) {
  pollfd readable{descriptor.get(), POLLIN, 0};
  return poll(&readable, 1, 0) > 0;
}

/// Kills the group and reaps the shell. A tool that ended must not leave children behind. If the shell is gone already,
/// killed from outside and reaped by the host, its pid names nothing any more: then the watcher kills the group.
void End(Supervised* supervised) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(supervised->shell), &info, WEXITED | WNOWAIT | WNOHANG) == 0) {
    kill(-supervised->shell, SIGKILL);
  }
  supervised->life.Close();
  while (waitpid(supervised->shell, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// What is left of the time, or the interval for polling if that is less. 0: nothing.
int RemainingMs(Clock::time_point start, std::chrono::milliseconds timeout) {
  if (timeout.count() == 0) return kCancelPollMs;
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  return static_cast<int>(std::clamp<std::int64_t>((timeout - spent).count(), 0, kCancelPollMs));
}

const char* SignalName(int signal) {
  switch (signal) {
    case SIGABRT:
      return " (SIGABRT)";
    case SIGBUS:
      return " (SIGBUS)";
    case SIGFPE:
      return " (SIGFPE)";
    case SIGILL:
      return " (SIGILL)";
    case SIGKILL:
      return " (SIGKILL)";
    case SIGSEGV:
      return " (SIGSEGV)";
    case SIGTERM:
      return " (SIGTERM)";
    case SIGTRAP:
      return " (SIGTRAP)";
    default:
      return "";
  }
}

}  // namespace

Spawn::Spawn() {
  posix_spawn_file_actions_init(&actions_);
  posix_spawnattr_init(&attributes_);
  Open(STDIN_FILENO, "/dev/null", O_RDONLY);
}

Spawn::~Spawn() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

void Spawn::Open(int descriptor, const char* path, int flags) {
  posix_spawn_file_actions_addopen(&actions_, descriptor, path, flags, 0);
}

void Spawn::Duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }

int Spawn::Start(const std::string& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, Apart apart, pid_t* pid) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes_, &none);
  posix_spawnattr_setsigdefault(&attributes_, &all);
  posix_spawnattr_setpgroup(&attributes_, 0);
  const int by = apart == Apart::kInSession ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes_, static_cast<short>(by | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  return posix_spawn(pid, program.c_str(), &actions_, &attributes_, Pointers(arguments).data(),
                     Pointers(environment).data());
}

std::string SignalText(int signal) { return absl::StrCat("signal ", signal, SignalName(signal)); }

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
  std::string program = FindProgram(options.arguments[0], /*path=*/"");
  if (program.empty()) {
    return UnavailableError(absl::StrCat("program '", options.arguments[0], "' was not found"));
  }
  TUNEONCE_ASSIGN_OR_RETURN(Supervised tool, Start(program, options));
  absl::Cleanup end = [&] { End(&tool); };
  const Clock::time_point start = Clock::now();
  ProcessResult result;
  std::string exit_status;
  for (bool has_ended = false; !has_ended;) {
    if (options.stop.stop_requested()) {
      return CancelledError(absl::StrCat(options.NameInErrors(), " was cancelled and killed"));
    }
    const int remaining_ms = RemainingMs(start, options.timeout);
    if (remaining_ms == 0) {
      return DeadlineExceededError(absl::StrCat(options.NameInErrors(), " did not finish within ",
                                                options.timeout.count(), " ms and was killed"));
    }
    pollfd readable[] = {{tool.output.get(), POLLIN, 0}, {tool.status.get(), POLLIN, 0}};
    if (poll(readable, 2, remaining_ms) <= 0) continue;
    if (readable[0].revents != 0 && !ReadSome(tool.output, options.max_output_bytes, &result.output)) {
      tool.output.Close();  // poll passes over it from now on.
    }
    if (readable[1].revents != 0) has_ended = !ReadSome(tool.status, kMaxStatusBytes, &exit_status);
  }
  // Reads what the tool wrote before it ended, at most as much as a pipe holds, because a child of the tool may
  // continue to write.
  for (std::size_t drained = 0; drained < kPipeBytes && IsReadable(tool.output); drained += kReadBytes) {
    if (!ReadSome(tool.output, options.max_output_bytes, &result.output)) break;
  }
  if (!absl::SimpleAtoi(exit_status, &result.exit_code)) {
    std::string said(absl::StripAsciiWhitespace(result.output));
    return UnavailableError(
        absl::StrCat("the shell that runs ", program, said.empty() ? " failed or was killed" : " failed: ", said));
  }
  return result;
}

}  // namespace v0
}  // namespace tuneonce
