#ifndef TUNEONCE_LIB_WORKER_THIS_WORKER_H_
#define TUNEONCE_LIB_WORKER_THIS_WORKER_H_

#include "tuneonce/result.h"
#include "worker/channel.h"

namespace tuneonce {
inline namespace v0 {

/// The descriptor at which a worker finds its channel.
inline constexpr int kWorkerSocket = 3;

/// Makes this process write no core file, and the first process that the system ends when memory is short. For
/// processes that run what may crash.
void ExpectCrashes();

/// Makes this process a worker, as the first call in its main, and returns its channel. From then on
///
/// - it has no descriptor of the host's except the channel, which its own children do not inherit;
/// - it ends with the host, together with all processes that it started, whatever its other threads do. A thread kills
///   the group when the other end of the channel is closed, or when its parent is not the host (a forked child of the
///   host may still have the socket). A stopped process is woken by the kernel;
/// - it behaves as after ExpectCrashes.
///
/// Errors: FailedPrecondition if it was not started by a WorkerProcess; ResourceExhausted (no thread, no descriptor).
Result<Channel> OpenHostChannel();

/// Ends this worker without running destructors, because freeing memory of a lost context can hang. If the host is
/// gone, the processes that the worker started end too. REQUIRES: OpenHostChannel succeeded.
[[noreturn]] void EndWorker(int code);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_WORKER_THIS_WORKER_H_
