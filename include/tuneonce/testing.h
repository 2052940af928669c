#ifndef TUNEONCE_TESTING_H_
#define TUNEONCE_TESTING_H_

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "tuneonce/device.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/result.h"

// What an embedder's tests need besides its kernels. device.h, which this header includes, has a device (the CPU device
// needs no GPU), Context, Stream and DeviceBuffer; this header has graphs and a timer.

namespace tuneonce {
inline namespace v0 {

/// Owns an instantiated graph. Move-only. Thread rule: one thread at a time may use this object, and launches of one
/// graph must not overlap each other.
class TUNEONCE_API GraphExec {
 public:
  /// Captures what `record` enqueues on `stream` and instantiates it. The capture has RELAXED mode, so that it disturbs
  /// no other thread's. REQUIRES: `stream` is the caller's own, not the legacy stream, and not capturing. Errors: that
  /// of `record`; the driver's.
  static Result<GraphExec> Capture(StreamView stream, const std::function<Status(CUstream)>& record);
  ~GraphExec();
  GraphExec(GraphExec&& other) noexcept
      : api_(other.api_), exec_(std::exchange(other.exec_, nullptr)), num_nodes_(other.num_nodes_) {}
  GraphExec& operator=(GraphExec&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(exec_, other.exec_);
    std::swap(num_nodes_, other.num_nodes_);
    return *this;
  }

  /// Enqueues one replay of the graph on `stream`. Errors: the driver's.
  Status Launch(CUstream stream) const;
  /// Returns the number of kernels, copies, event records and the like in the graph.
  std::size_t num_nodes() const { return num_nodes_; }

 private:
  GraphExec(const DriverApi& api, CUgraphExec exec, std::size_t num_nodes)
      : api_(&api), exec_(exec), num_nodes_(num_nodes) {}

  const DriverApi* api_;
  CUgraphExec exec_;
  std::size_t num_nodes_;
};

/// Makes a timer that times each run by the launching thread's clock, from an empty stream until the stream is empty
/// again. It suits functions that compute on that thread without a stream, and tests on the CPU device. Of a kernel on
/// a GPU it also measures the launch and the wait.
TUNEONCE_API std::unique_ptr<Timer> MakeClockTimer();

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TESTING_H_
