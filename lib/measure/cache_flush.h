#ifndef TUNEONCE_LIB_MEASURE_CACHE_FLUSH_H_
#define TUNEONCE_LIB_MEASURE_CACHE_FLUSH_H_

#include <optional>

#include "tuneonce/device_buffer.h"
#include "tuneonce/timer.h"

namespace tuneonce {
inline namespace v0 {

/// Empties the L2 cache of what a kernel could reuse, by writing as much other memory as it holds. Nothing for a warm
/// cache. Thread rule: one thread.
class CacheFlush {
 public:
  /// In the current context. `stream` outlives the object.
  static Result<CacheFlush> Create(StreamView stream, CacheState cache);

  /// Puts the flush into `stream`, in order.
  Status Run(CUstream stream) const;
  bool is_cold() const { return buffer_.has_value(); }
  std::size_t memory_bytes() const { return buffer_ ? buffer_->bytes() : 0; }

 private:
  std::optional<DeviceBuffer> buffer_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_CACHE_FLUSH_H_
