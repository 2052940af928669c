#ifndef TUNEONCE_STREAM_H_
#define TUNEONCE_STREAM_H_

#include <cuda.h>

#include <utility>

#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class Event;

/// A reference to a stream, which it does not own. A null stream is the legacy default stream. It has value semantics.
class TUNEONCE_API StreamView {
 public:
  StreamView(const DriverApi& api, CUstream stream) : api_(&api), stream_(stream) {}

  const DriverApi& api() const { return *api_; }
  CUstream get() const { return stream_; }

  /// Waits until the stream has executed all its work. Errors: the driver's, including those of work that was enqueued
  /// earlier.
  Status Synchronize() const;
  /// Makes work that is enqueued on this stream from now on wait for `event`. Errors: the driver's.
  Status Wait(const Event& event) const;
  /// Returns the context that the stream belongs to. Errors: the driver's.
  Result<CUcontext> Context() const;
  /// Returns whether this stream captures into a graph. Also true if the capture was invalidated, and for the legacy
  /// default stream while the capture of another stream forbids its use. Errors: the driver's.
  Result<bool> IsCapturing() const;

 private:
  const DriverApi* api_;
  CUstream stream_;
};

/// Owns a stream of the current context that never synchronizes with the legacy default stream. Move-only. Destroying
/// it does not wait for its work. Thread rule: one thread at a time may use this object; any thread may enqueue work on
/// the CUstream.
class TUNEONCE_API Stream {
 public:
  /// Creates a stream in the current context. Errors: the driver's.
  static Result<Stream> Create(const DriverApi& api);
  ~Stream();
  Stream(Stream&& other) noexcept : api_(other.api_), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(stream_, other.stream_);
    return *this;
  }

  CUstream get() const { return stream_; }
  StreamView view() const { return StreamView(*api_, stream_); }

 private:
  Stream(const DriverApi& api, CUstream stream) : api_(&api), stream_(stream) {}

  const DriverApi* api_;
  CUstream stream_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_STREAM_H_
