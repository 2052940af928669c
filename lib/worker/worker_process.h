#ifndef TUNEONCE_LIB_WORKER_WORKER_PROCESS_H_
#define TUNEONCE_LIB_WORKER_WORKER_PROCESS_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "tuneonce/result.h"
#include "worker/channel.h"

namespace tuneonce {
inline namespace v0 {

/// How a worker is started.
struct WorkerOptions {
  std::string program;                 ///< Its path (FindWorker).
  std::vector<std::string> arguments;  ///< After the program's name.
  /// Its whole environment, "NAME=value" (Environment::of_worker). The host's is not inherited.
  std::vector<std::string> environment;
  bool keeps_stderr = false;  ///< Else it goes to /dev/null, as stdout does.
};

/// How a worker ended.
struct WorkerEnd {
  enum class Kind {
    kNotYet,
    kExited,    ///< It exited by itself; `number` is its exit code.
    kSignaled,  ///< It was ended by a signal that WorkerProcess did not send; `number` is the signal.
    kKilled,    ///< WorkerProcess killed it.
    kUnknown,   ///< The host reaps all children, or ignores SIGCHLD, and so has its exit status.
  };

  /// "exited with 3", "was ended by signal 11 (SIGSEGV)".
  std::string ToString() const;

  Kind kind = Kind::kNotYet;
  int number = 0;
};

/// Owns a worker: a process in its own session that has nothing of the host's except one end of a channel, the given
/// environment, and /dev/null as stdin and stdout.
///
/// The worker ends before this object does or soon after, because the destructor does not wait, and it ends with the
/// host, however that ends (see OpenHostChannel). A thread of the host starts it and waits for its end, so that no
/// zombie stays, however the host handles SIGCHLD. In a forked child of the host this object does nothing.
///
/// Thread rule: one thread at a time; the thread that started it may end.
class WorkerProcess {
 public:
  /// Starts it. Its first message shows whether it is a worker. Errors: Unavailable (it cannot be executed),
  /// ResourceExhausted (no descriptors, no thread).
  static Result<std::unique_ptr<WorkerProcess>> Start(const WorkerOptions& options);
  /// Ends it like Kill, without waiting.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  Channel& channel() { return channel_; }
  pid_t pid() const;

  /// How it ended, if it has, or does by the deadline.
  WorkerEnd Wait(Deadline deadline) const;

  /// Ends it with all processes that it started, and returns how it ended, which may have been by itself. Waits until
  /// it is gone, but at most 2 s, because a process that hangs in a driver does not end before the driver returns.
  WorkerEnd Kill();

 private:
  class Life;

  WorkerProcess(std::shared_ptr<Life> life, Channel channel);

  const std::shared_ptr<Life> life_;
  Channel channel_;
  const pid_t host_;
};

/// Returns whether an MPS daemon serves this process. Its clients then share one context on the device, and a fault of
/// one may end the others (NVIDIA's "Multi-Process Service", error containment, which also defines the pipe's name).
inline bool IsServedByMps(const Environment& environment) {
  struct stat pipe {};
  return stat((environment.mps_folder + "/control").c_str(), &pipe) == 0;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_WORKER_WORKER_PROCESS_H_
