#include "worker/worker_process.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "base/mutex.h"
#include "base/process.h"
#include "worker/this_worker.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// A worker that has closed its socket is given this long to end by itself, so that its reason is known.
constexpr milliseconds kLastWords{200};

/// A killed worker is waited for no longer than this.
constexpr milliseconds kMostReaping{2000};

/// Maximum size of an answer. A worker's answers are samples and reasons, so a larger one is invalid.
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20;

/// Starts the program with `socket` as its kWorkerSocket. Returns 0 or an errno.
int StartWorker(const WorkerOptions& options, int socket, pid_t* pid) {
  Spawn spawn;
  spawn.Open(STDOUT_FILENO, "/dev/null", O_WRONLY);
  if (!options.keeps_stderr || fcntl(STDERR_FILENO, F_GETFD) < 0) spawn.Duplicate(STDOUT_FILENO, STDERR_FILENO);
  spawn.Duplicate(socket, kWorkerSocket);
  std::vector<std::string> arguments = {options.program};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  return spawn.Start(options.program, arguments, options.environment, Spawn::Apart::kInSession, pid);
}

/// Nothing of the host's is handled on a thread that waits for a worker.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

std::string WorkerEnd::ToString() const {
  switch (kind) {
    case Kind::kNotYet:
      return "has not ended";
    case Kind::kExited:
      return absl::StrCat("exited with ", number);
    case Kind::kSignaled:
      return absl::StrCat("was ended by ", SignalText(number));
    case Kind::kKilled:
      return "was killed";
    case Kind::kUnknown:
      break;
  }
  return "ended";
}

/// State that the WorkerProcess shares with the thread that waits for the worker.
class WorkerProcess::Life {
 public:
  /// On a thread of its own, which is the worker's parent to the kernel: starts it, and stays until it has ended.
  void Run(const WorkerOptions& options, FileDescriptor socket) {
    pid_t pid = 0;
    int error = StartWorker(options, socket.get(), &pid);
    socket.Close();
    {
      MutexLock lock(mutex_);
      pid_ = pid;
      error_ = error;
      is_started_ = true;
      changed_.NotifyAll();
    }
    if (error == 0) AwaitEnd(pid);
  }

  /// Waits until it is started: 0, or an errno.
  int AwaitStart() {
    MutexLock lock(mutex_);
    while (!is_started_) changed_.Wait(lock);
    return error_;
  }

  WorkerEnd Wait(Deadline deadline) {
    MutexLock lock(mutex_);
    for (auto now = std::chrono::steady_clock::now(); end_.kind == WorkerEnd::Kind::kNotYet && now < deadline;
         now = std::chrono::steady_clock::now()) {
      changed_.WaitFor(lock, std::min<std::chrono::nanoseconds>(deadline - now, std::chrono::hours(1)));
    }
    return end_;
  }

  void Kill() {
    MutexLock lock(mutex_);
    if (end_.kind != WorkerEnd::Kind::kNotYet) return;  // Its number may be another's by now.
    is_killed_ = true;
    kill(-pid_, SIGKILL);  // Its group, which it leads since before its program began.
  }

  pid_t pid() {
    MutexLock lock(mutex_);
    return pid_;
  }

 private:
  void AwaitEnd(pid_t pid) {
    siginfo_t info{};
    int waited = 0;
    do {
      waited = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    } while (waited != 0 && errno == EINTR);
    MutexLock lock(mutex_);
    if (waited == 0) {
      kill(-pid, SIGKILL);  // Ends the processes that it started. The number is still its own.
      while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    bool has_exited = info.si_code == CLD_EXITED;
    end_.number = info.si_status;
    if (waited != 0) {
      end_.kind = is_killed_ ? WorkerEnd::Kind::kKilled : WorkerEnd::Kind::kUnknown;
    } else if (is_killed_ && !has_exited && info.si_status == SIGKILL) {
      end_.kind = WorkerEnd::Kind::kKilled;
    } else {
      end_.kind = has_exited ? WorkerEnd::Kind::kExited : WorkerEnd::Kind::kSignaled;
    }
    changed_.NotifyAll();
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool is_started_ TUNEONCE_GUARDED_BY(mutex_) = false;
  bool is_killed_ TUNEONCE_GUARDED_BY(mutex_) = false;
  int error_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  pid_t pid_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  WorkerEnd end_ TUNEONCE_GUARDED_BY(mutex_);
};

WorkerProcess::WorkerProcess(std::shared_ptr<Life> life, Channel channel)
    : life_(std::move(life)), channel_(std::move(channel)), host_(getpid()) {}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerOptions& options) {
  TUNEONCE_ASSIGN_OR_RETURN(auto ends, Channel::MakePair(kMostAnswerBytes));
  FileDescriptor socket(fcntl(ends.second.descriptor(), F_DUPFD_CLOEXEC, kFirstDescriptor));
  if (!socket.is_open()) {
    return ResourceExhaustedError(
        absl::StrCat("cannot duplicate a socket for a worker process: ", std::strerror(errno)));
  }
  ends.second.Close();
  auto life = std::make_shared<Life>();
  try {
    SignalsBlocked blocked;
    std::thread([life, options, socket = std::move(socket)]() mutable {
      life->Run(options, std::move(socket));
    }).detach();
  } catch (const std::system_error& e) {
    return ResourceExhaustedError(absl::StrCat("cannot start a thread for a worker process: ", e.what()));
  }
  if (int error = life->AwaitStart(); error != 0) {
    return UnavailableError(absl::StrCat("cannot start the worker ", options.program, ": ", std::strerror(error)));
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(life), std::move(ends.first)));
}

WorkerProcess::~WorkerProcess() {
  if (getpid() == host_) life_->Kill();
}

pid_t WorkerProcess::pid() const { return life_->pid(); }

WorkerEnd WorkerProcess::Wait(Deadline deadline) const { return life_->Wait(deadline); }

WorkerEnd WorkerProcess::Kill() {
  if (getpid() != host_) return WorkerEnd{};
  if (channel_.other_end_is_closed()) life_->Wait(DeadlineIn(kLastWords));
  life_->Kill();
  channel_.Close();
  return life_->Wait(DeadlineIn(kMostReaping));
}

}  // namespace v0
}  // namespace tuneonce
