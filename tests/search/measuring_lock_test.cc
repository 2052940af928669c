// Searches at once: on one device they measure one after the other, whichever Runtime they have; on two devices at the
// same time.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda/driver_api.h"
#include "testing/device_test.h"
#include "testing/expect_status.h"
#include "testing/runtimes.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce {
namespace {

/// Where the timers of two searches meet: the first sample of each waits until the other takes one too, or for
/// `patience`.
class MeetingPoint {
 public:
  explicit MeetingPoint(std::chrono::milliseconds patience) : patience_(patience) {}

  void Enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    met_ |= ++num_inside_ > 1;
    changed_.notify_all();
    if (num_waited_++ < 2) changed_.wait_for(lock, patience_, [&] { return met_; });
  }
  void Leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    --num_inside_;
  }
  bool met() const { return met_; }

 private:
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int num_inside_ = 0;
  int num_waited_ = 0;
  bool met_ = false;
};

/// Runs what it times, and says that it took one microsecond.
class MeetingTimer final : public Timer {
 public:
  explicit MeetingTimer(MeetingPoint* point) : point_(point) {}
  std::string_view name() const override { return "meeting"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState) override {
    return std::unique_ptr<TimingSession>(new Session(stream, point_));
  }

 private:
  struct Run final : PreparedRun {
    TimedRun run;
  };
  class Session final : public TimingSession {
   public:
    Session(StreamView stream, MeetingPoint* point) : stream_(stream), point_(point) {}
    Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override {
      auto prepared = std::make_unique<Run>();
      prepared->run = std::move(run);
      return std::unique_ptr<PreparedRun>(std::move(prepared));
    }
    Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
      point_->Enter();
      Status status;
      for (PreparedRun* run : runs) {
        if (status.ok()) status = static_cast<Run*>(run)->run.launch(stream_.get());
      }
      if (status.ok()) status = stream_.Synchronize();
      point_->Leave();
      TUNEONCE_RETURN_IF_ERROR(status);
      return std::vector<double>(runs.size(), 1);
    }
    std::int64_t num_launches() const override { return 0; }

   private:
    StreamView stream_;
    MeetingPoint* point_;
  };
  MeetingPoint* point_;
};

void Search(const Device& device, const std::shared_ptr<Runtime>& runtime, MeetingPoint* point) {
  Context context = *Context::RetainPrimary(device);
  ScopedContext current(context.view());
  Stream stream = *Stream::Create(device.api());
  DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 4000);
  DeviceBuffer y = *DeviceBuffer::Allocate(stream.view(), 4000);
  EXPECT_OK(x.Fill(0));
  MeetingTimer timer(point);
  static const std::shared_ptr<RecordStore> code = MakeMemoryStore();  // What one search compiled, the others find.
  SearchOptions options;
  options.compile.cache = code;
  options.runtime = runtime;
  options.timer = &timer;
  options.quiet = true;
  options.max_rounds = 3;
  TensorView x_view = testing::View(x);
  TensorView y_view = testing::View(y);
  const float factor = 2;
  EXPECT_OK(exhaustive_search(testing::ScaleKernel().Definition(), stream.get(), {x_view, y_view, factor}, options));
}

/// Long enough for a search to get from its beginning to its first sample, compiles included.
constexpr std::chrono::milliseconds kLong(120000);
/// That others do not come within this is no proof, but where nothing keeps them out they do: all is compiled.
constexpr std::chrono::milliseconds kShort(300);

TEST(MeasuringLockTest, OnTwoDevicesSearchesMeasureAtTheSameTime) {
  std::shared_ptr<Runtime> runtime = testing::RuntimeIn({{"TUNEONCE_CPU_DEVICES", "2"}});
  const Result<Device> first = runtime->OpenDevice("cpu:0"), second = runtime->OpenDevice("cpu:1");
  ASSERT_OK(first);
  if (!second.ok()) GTEST_SKIP() << "another test of this process made the CPU driver with one device";
  Device devices[] = {*first, *second};
  EXPECT_NE(&devices[0].api().measuring_lock(devices[0].handle()),
            &devices[0].api().measuring_lock(devices[1].handle()));
  MeetingPoint point(kLong);
  std::thread other([&] { Search(devices[0], runtime, &point); });
  Search(devices[1], runtime, &point);
  other.join();
  EXPECT_TRUE(point.met());
}

TEST(MeasuringLockTest, OnOneDeviceTheyMeasureOneAfterTheOtherWhicheverRuntimeTheyHave) {
  RuntimeOptions options;
  for (bool is_shared : {true, false}) {
    std::shared_ptr<Runtime> first = testing::MakeRuntime(options);
    std::shared_ptr<Runtime> second = is_shared ? first : testing::MakeRuntime(options);
    Device device = *first->OpenDevice("cpu");
    Device same = *second->OpenDevice("cpu");
    MeetingPoint nobody(kShort);
    Search(device, first, &nobody);  // Compiles all.
    MeetingPoint point(kShort);
    std::thread other([&] { Search(device, first, &point); });
    Search(same, second, &point);
    other.join();
    EXPECT_FALSE(point.met()) << "two runtimes: " << !is_shared;
  }
}

}  // namespace
}  // namespace tuneonce
