#include "worker/this_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How often a worker looks whose child it is.
constexpr int kLookMs = 500;

bool IsSocket(int descriptor) {
  int kind = 0;
  socklen_t size = sizeof(kind);
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_STREAM;
}

/// Closes the descriptors that the host had not marked as closed on exec.
void CloseInherited() {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, kWorkerSocket + 1, ~0u, 0) == 0) return;
#endif
  for (const std::string& name : NamesIn("/proc/self/fd")) {
    int descriptor = -1;
    if (absl::SimpleAtoi(name, &descriptor) && descriptor > kWorkerSocket) close(descriptor);
  }
}

/// A core file is a file that stays. A limit of one byte, unlike one of none, also holds for cores that are piped to a
/// program (core(5)).
void LeaveNoCore() {
  rlimit limit{1, 1};
  rlimit before{};
  if (getrlimit(RLIMIT_CORE, &before) == 0 && before.rlim_max < limit.rlim_max) limit = {0, 0};
  setrlimit(RLIMIT_CORE, &limit);
}

void BeFirstWhereMemoryIsShort() {
  FileDescriptor file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  // Best effort: nothing else depends on it.
  if (file.is_open() && write(file.get(), "1000", 4) < 0) file.Close();
}

/// The host of this worker process. Its descriptor stays open for the life of the process, independently of the
/// channel.
struct Host {
  pid_t process;
  int socket;

  /// Waits for it at most so long.
  bool IsGone(int wait_ms) const {
    pollfd other_end{socket, POLLRDHUP, 0};
    poll(&other_end, 1, wait_ms);
    return other_end.revents != 0 || getppid() != process;
  }
};

/// The process that made the channel. The parent of a worker that starts late may be another one already.
pid_t HostProcess() {
  ucred maker{};
  socklen_t size = sizeof(maker);
  const bool is_known = getsockopt(kWorkerSocket, SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0 && maker.pid > 0;
  return is_known ? maker.pid : getppid();
}

/// One per process, never freed.
const Host* host_of_this_process = nullptr;

/// Ends this process and its children if the host is gone, because no other process could end them.
void EndIfTheHostIsGone(int wait_ms) {
  if (host_of_this_process->IsGone(wait_ms)) kill(0, SIGKILL);  // Its group, which its session made: never the host's.
}

}  // namespace

void ExpectCrashes() {
  LeaveNoCore();
  BeFirstWhereMemoryIsShort();
}

Result<Channel> OpenHostChannel() {
  if (!IsSocket(kWorkerSocket) || getsid(0) != getpid()) {
    return FailedPreconditionError(
        "this program is only started by tuneonce, to isolate searches: do not run it directly");
  }
  // A stopped process continues in order to end. SIGKILL would end it without its children.
  prctl(PR_SET_PDEATHSIG, SIGCONT);
  CloseInherited();
  fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  int watched = fcntl(kWorkerSocket, F_DUPFD_CLOEXEC, kWorkerSocket + 1);
  if (watched < 0)
    return ResourceExhaustedError(absl::StrCat("cannot duplicate the worker's socket: ", std::strerror(errno)));
  host_of_this_process = new Host{HostProcess(), watched};
  ExpectCrashes();
  try {
    std::thread([] {
      for (;;) EndIfTheHostIsGone(kLookMs);
    }).detach();
  } catch (const std::system_error& e) {
    return ResourceExhaustedError(absl::StrCat("cannot start a thread in the worker process: ", e.what()));
  }
  return Channel(FileDescriptor(kWorkerSocket));
}

void EndWorker(int code) {
  EndIfTheHostIsGone(0);
  _exit(code);
}

}  // namespace v0
}  // namespace tuneonce
