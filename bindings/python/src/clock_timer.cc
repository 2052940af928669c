#include "clock_timer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "tuneonce/plugin/timer.h"

namespace tuneonce::python {
namespace {

using Clock = std::chrono::steady_clock;

/// A run is never said to take no time: clocks have steps.
constexpr double kLeastUs = 0.001;

struct ClockedRun final : PreparedRun {
  explicit ClockedRun(TimedRun timed_run) : run(std::move(timed_run)) {}
  TimedRun run;
};

class ClockSession final : public TimingSession {
 public:
  explicit ClockSession(StreamView stream) : stream_(stream) {}

  Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override {
    return std::unique_ptr<PreparedRun>(new ClockedRun(std::move(run)));
  }

  Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
    std::vector<double> times;
    for (PreparedRun* prepared : runs) {
      const TimedRun& run = static_cast<ClockedRun*>(prepared)->run;
      if (run.prepare) TUNEONCE_RETURN_IF_ERROR(run.prepare(stream_.get()));
      TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());
      Clock::time_point begin = Clock::now();
      ++num_launches_;
      TUNEONCE_RETURN_IF_ERROR(run.launch(stream_.get()));
      TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());
      times.push_back(std::max(kLeastUs, std::chrono::duration<double, std::micro>(Clock::now() - begin).count()));
    }
    return times;
  }

  std::int64_t num_launches() const override { return num_launches_; }

 private:
  StreamView stream_;
  std::int64_t num_launches_ = 0;
};

}  // namespace

Result<std::unique_ptr<TimingSession>> ClockTimer::Open(StreamView stream, CacheState) {
  return std::unique_ptr<TimingSession>(std::make_unique<ClockSession>(stream));
}

}  // namespace tuneonce::python
