#ifndef TUNEONCE_CPU_DEVICE_CAPTURE_H_
#define TUNEONCE_CPU_DEVICE_CAPTURE_H_

#include <cuda.h>

#include <memory>
#include <thread>
#include <vector>

#include "capture_mutex.h"
#include "stream.h"

namespace tuneonce::cpu_device {

/// A graph is a list of commands in the order in which they were captured: one valid order of the real graph.
struct Graph {
  std::vector<std::shared_ptr<const Command>> nodes;
};

/// An instantiated graph.
struct GraphExec {
  std::vector<std::shared_ptr<const Command>> nodes;
};

/// An ongoing stream capture. Guarded by capture_mutex.
struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id owner;
  Stream* origin = nullptr;
  Context* context = nullptr;
  std::vector<std::weak_ptr<Stream>> streams
      TUNEONCE_GUARDED_BY(capture_mutex);  ///< The origin, and those that joined through events.
  bool touches_blocking_stream TUNEONCE_GUARDED_BY(capture_mutex) = false;
  bool invalidated TUNEONCE_GUARDED_BY(capture_mutex) = false;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
};

/// The calling thread's capture mode (cuThreadExchangeStreamCaptureMode).
CUstreamCaptureMode& ThreadCaptureMode();

/// The driver's rules of which call spoils whose capture, as measured (docs/internal/driver_rules.md).
///
/// For a "potentially unsafe" call (allocation, free, unload, synchronization, query, instantiation): unless the
/// thread is RELAXED, every GLOBAL capture of any thread and every own capture that is not RELAXED is invalidated, and
/// the call fails with 900.
CUresult CheckUnsafeCall();
/// For cuCtxSynchronize: spoils every capture in the context, in any mode.
CUresult CheckContextSynchronize(const Context* context);
/// For the legacy stream and synchronous copies: 906 beside a capture that has a blocking stream, which it spoils.
CUresult CheckLegacyStream(const Context* context);

CUresult BeginCapture(const std::shared_ptr<Stream>& stream, CUstreamCaptureMode mode);
CUresult EndCapture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph);
/// Makes `stream` take part in `capture`, because it waits for an event recorded there.
void JoinCapture(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture)
    TUNEONCE_REQUIRES(capture_mutex);

/// Adds commands to a stream: to its graph while it captures, else to its queue (with the legacy stream's ordering).
CUresult Submit(const std::shared_ptr<Stream>& stream, std::vector<std::shared_ptr<const Command>> commands);

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_CAPTURE_H_
