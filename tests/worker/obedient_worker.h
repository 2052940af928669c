#ifndef TUNEONCE_TESTS_WORKER_OBEDIENT_WORKER_H_
#define TUNEONCE_TESTS_WORKER_OBEDIENT_WORKER_H_

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "worker/worker_process.h"

namespace tuneonce::testing {

/// How long a test waits for what must come.
inline constexpr std::chrono::milliseconds kPatience{120000};

/// Starts obedient_worker.cc.
inline Result<std::unique_ptr<WorkerProcess>> StartObedient(bool keeps_stderr = true,
                                                            std::vector<std::string> arguments = {}) {
  WorkerOptions options;
  options.program = TUNEONCE_OBEDIENT_WORKER;
  options.environment = Environment::Read().of_worker;
  options.keeps_stderr = keeps_stderr;
  options.arguments = std::move(arguments);
  return WorkerProcess::Start(options);
}

/// Its answer to a word, or the channel's error.
inline Result<std::string> Ask(WorkerProcess& worker, const std::string& word,
                               std::chrono::milliseconds within = kPatience) {
  TUNEONCE_RETURN_IF_ERROR(worker.channel().Send(1, word, DeadlineIn(kPatience)));
  TUNEONCE_ASSIGN_OR_RETURN(Frame frame, worker.channel().Receive(DeadlineIn(within)));
  return frame.body;
}

/// Long enough for a busy machine to end and reap a process; a test that passes does not wait for it.
inline constexpr std::chrono::milliseconds kEndOfProcess = std::chrono::minutes(2);

/// Whether the process is gone, or a zombie that is its parent's to reap, within this time.
inline bool IsGone(pid_t pid, std::chrono::milliseconds within = kEndOfProcess) {
  Deadline deadline = DeadlineIn(within);
  do {
    Result<std::string> state = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    if (!state.ok() || state->empty() || state->find(") Z ") != std::string::npos) return true;
    usleep(1000);
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

/// Whether this process has no child left, a zombie neither, soon: nobody waits for the workers of tests before.
inline bool AllAreReaped() {
  siginfo_t info{};
  Deadline deadline = DeadlineIn(kEndOfProcess);
  do {
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return true;
    usleep(1000);
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

/// Whether this process does not have this child, now; a zombie neither.
inline bool IsReaped(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0;
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_WORKER_OBEDIENT_WORKER_H_
