#ifndef TUNEONCE_STREAM_H_
#define TUNEONCE_STREAM_H_

#include <cuda.h>

#include <utility>

#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class Event;

/// A reference to a stream that somebody else owns. A null stream is the legacy default stream. Copyable. Thread rule:
/// a value.
class TUNEONCE_API StreamView {
 public:
  StreamView(const DriverApi& api, CUstream stream) : api_(&api), stream_(stream) {}

  const DriverApi& api() const { return *api_; }
  CUstream get() const { return stream_; }

  /// Waits until the stream has executed all its work. Errors: the driver's, of earlier work too.
  Status Synchronize() const;
  /// Makes work that is enqueued from now on wait for `event`.
  Status Wait(const Event& event) const;
  /// Returns the context that the stream belongs to.
  Result<CUcontext> Context() const;
  /// Returns whether this stream captures into a graph, also if the capture was invalidated meanwhile.
  Result<bool> IsCapturing() const;

 private:
  const DriverApi* api_;
  CUstream stream_;
};

/// Owns a stream of the current context that never synchronizes with the legacy default stream. Move-only. Destroying
/// it does not wait for its work. Thread rule: one owner; any thread may enqueue work.
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
