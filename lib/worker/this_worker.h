#ifndef TUNEONCE_LIB_WORKER_THIS_WORKER_H_
#define TUNEONCE_LIB_WORKER_THIS_WORKER_H_

#include "tuneonce/result.h"
#include "worker/channel.h"

namespace tuneonce {
inline namespace v0 {

/// The descriptor at which a worker finds its channel.
inline constexpr int kWorkerSocket = 3;

/// Makes this process a worker, as the first thing that its main does, and returns its channel. From then on
///
/// - it has no descriptor of the host's but the channel, which its own children do not get;
/// - it ends with the host, with all processes that it started, whatever its other threads do: a thread of its own
/// kills
///   the group when the other end of the channel is closed, or when its parent is another (a forked child of the host
///   may still have the socket). If the process is stopped then, the kernel wakes it;
/// - it leaves no core file, and is the first that the system ends where memory is short.
///
/// Errors: FailedPrecondition, if it was not started by a WorkerProcess; ResourceExhausted (no thread, no
/// descriptor).
Result<Channel> OpenHostChannel();

/// Ends this worker, without its destructors: a lost context can hang who frees it. If the host is gone, what the
/// worker started ends with it. REQUIRES: OpenHostChannel succeeded.
[[noreturn]] void EndWorker(int code);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_WORKER_THIS_WORKER_H_
