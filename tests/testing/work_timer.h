#ifndef TUNEONCE_TESTS_TESTING_WORK_TIMER_H_
#define TUNEONCE_TESTS_TESTING_WORK_TIMER_H_

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/timer.h"

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
  std::string_view name() const override { return "work"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState) override {
    return std::unique_ptr<TimingSession>(new Session(stream));
  }

 private:
  struct Run final : PreparedRun {
    TimedRun run;
  };
  class Session final : public TimingSession {
   public:
    explicit Session(StreamView stream) : stream_(stream) {}
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
        const long before = tuneonce_test_work;
        TUNEONCE_RETURN_IF_ERROR(run.launch(stream_.get()));
        ++num_launches_;
        TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());
        times_us.push_back(1 + static_cast<double>(tuneonce_test_work - before));
      }
      return times_us;
    }
    std::int64_t num_launches() const override { return num_launches_; }

   private:
    StreamView stream_;
    std::int64_t num_launches_ = 0;
  };
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_WORK_TIMER_H_
