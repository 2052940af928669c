#ifndef TUNEONCE_LIB_MEASURE_HELD_STREAM_H_
#define TUNEONCE_LIB_MEASURE_HELD_STREAM_H_

#include <atomic>
#include <memory>
#include <utility>

#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Holds a stream while it lives: what is enqueued there meanwhile starts when the object ends, without gaps for the
/// host's calls, so that events around it time the device alone. The stream goes on after kLongestMs at the latest, so
/// that a function which waits for what it enqueued returns. Move-only. Thread rule: one owner.
class HeldStream {
 public:
  static constexpr int kLongestMs = 20;

  /// Enqueues a host function. Errors: the driver's.
  static Result<HeldStream> Hold(StreamView stream);

  HeldStream(HeldStream&&) = default;
  HeldStream& operator=(HeldStream&&) = delete;
  ~HeldStream();

 private:
  using Gate = std::atomic<bool>;  ///< Whether the stream may go on.
  explicit HeldStream(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}

  static void Wait(void* gate);

  std::shared_ptr<Gate> gate_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_HELD_STREAM_H_
