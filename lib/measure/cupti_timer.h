#ifndef TUNEONCE_LIB_MEASURE_CUPTI_TIMER_H_
#define TUNEONCE_LIB_MEASURE_CUPTI_TIMER_H_

#include <memory>
#include <utility>

#include "measure/cupti_session.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
inline namespace v0 {

/// Times kernels by CUPTI's activity records: the kernel's own time, without what a pair of events adds.
///
/// A session claims CUPTI for the process, unless another owner (a profiler, a framework) has it. CUPTI is finalized
/// when the last session and TimingBurst of the process are destroyed. While it is claimed, every launch of the process
/// costs about 0.5 us more. Claiming takes 6 to 10 ms, and finalizing 2 ms (H200).
class CuptiTimer final : public Timer {
 public:
  explicit CuptiTimer(Cupti cupti) : cupti_(std::move(cupti)) {}

  std::string_view name() const override { return "cupti"; }
  /// Errors: Unavailable on the CPU device, where CUPTI is missing, or if a profiler has it.
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override;

 private:
  const Cupti cupti_;
};

class CuptiSession;

/// While one lives, CUPTI stays claimed: make one around many searches, so that they share the cost of claiming it.
/// Does nothing where CUPTI cannot be had. Move-only. Thread rule: any thread.
class TimingBurst {
 public:
  TimingBurst(const Cupti& cupti, const DriverApi& driver);

 private:
  std::shared_ptr<CuptiSession> session_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_CUPTI_TIMER_H_
