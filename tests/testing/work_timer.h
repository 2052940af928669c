#ifndef TUNEONCE_TESTS_TESTING_WORK_TIMER_H_
#define TUNEONCE_TESTS_TESTING_WORK_TIMER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/plugin/timer.h"

extern "C" {
/// What kernels that count their work (kScaleSource) did so far. They find it by its name: test programs export
/// symbols.
__attribute__((visibility("default"), used)) inline std::atomic<long> tuneonce_test_work{0};
}

namespace tuneonce::testing {

/// Says that a run took as many microseconds as it did work, so that who wins does not depend on what else the machine
/// does. A run that does none "takes" one.
class WorkTimer final : public Timer {
 public:
  /// `work`: what the kernels did that it times; it outlives the timer.
  explicit WorkTimer(const std::atomic<long>& work = tuneonce_test_work) : work_(work) {}
  std::string_view name() const override { return "work"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState) override {
    return std::unique_ptr<TimingSession>(new Session(stream, work_));
  }

 private:
  struct Run final : PreparedRun {
    TimedRun run;
  };
  class Session final : public TimingSession {
   public:
    Session(StreamView stream, const std::atomic<long>& work) : stream_(stream), work_(work) {}
    Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override {
      auto prepared = std::make_unique<Run>();
      prepared->run = std::move(run);
      return std::unique_ptr<PreparedRun>(std::move(prepared));
    }
    Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
      std::vector<double> times_us;
      for (PreparedRun* prepared : runs) {
        const TimedRun& run = static_cast<Run*>(prepared)->run;
        if (run.prepare) TUNEONCE_RETURN_IF_ERROR(run.prepare(stream_.get()));
        TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());
        const long before = work_;
        TUNEONCE_RETURN_IF_ERROR(run.launch(stream_.get()));
        ++num_launches_;
        TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());
        times_us.push_back(1 + static_cast<double>(work_ - before));
      }
      return times_us;
    }
    std::int64_t num_launches() const override { return num_launches_; }

   private:
    StreamView stream_;
    const std::atomic<long>& work_;
    std::int64_t num_launches_ = 0;
  };
  const std::atomic<long>& work_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_WORK_TIMER_H_
