#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "tuneonce/plugin/timer.h"
#include "tuneonce/testing.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// The shortest time that is reported, because a clock's step may show none.
constexpr double kShortestUs = 0.001;

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
      times.push_back(std::max(kShortestUs, std::chrono::duration<double, std::micro>(Clock::now() - begin).count()));
    }
    return times;
  }

  std::int64_t num_launches() const override { return num_launches_; }

 private:
  StreamView stream_;
  std::int64_t num_launches_ = 0;
};

class ClockTimer final : public Timer {
 public:
  std::string_view name() const override { return "clock"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState) override {
    return std::unique_ptr<TimingSession>(std::make_unique<ClockSession>(stream));
  }
};

}  // namespace

std::unique_ptr<Timer> MakeClockTimer() { return std::make_unique<ClockTimer>(); }

}  // namespace v0
}  // namespace tuneonce
