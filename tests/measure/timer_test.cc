// Both timers: events on the CPU device, CUPTI as a script (the CPU device has none).
#include "tuneonce/plugin/timer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "base/environment.h"
#include "cuda/event.h"
#include "measure/cupti_session.h"
#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

class TimerTest : public testing::CpuDeviceTest {
 protected:
  /// A run that fills a buffer, and counts itself.
  TimedRun Fill() {
    return {[this](CUstream) {
              ++prepared_;
              return Status();
            },
            [this](CUstream stream) {
              ++launched_;
              RelaxedDriver driver(api());
              return driver->MemsetD8Async(buffer_->get(), 1, buffer_->bytes(), stream) == CUDA_SUCCESS
                         ? Status()
                         : InternalError("memset");
            }};
  }
  static void SampleThreeTimes(TimingSession& session, const std::vector<PreparedRun*>& runs) {
    for (int round = 0; round < 3; ++round) {
      Result<std::vector<double>> times = session.Sample(runs);
      ASSERT_OK(times);
      ASSERT_EQ(times->size(), runs.size());
      for (double us : *times) EXPECT_GT(us, 0);
    }
  }
  void SetUp() override {
    CpuDeviceTest::SetUp();
    buffer_.emplace(Floats(std::vector<float>(100000, 0)));
  }

  std::optional<DeviceBuffer> buffer_;
  int prepared_ = 0;
  int launched_ = 0;
};

TEST_F(TimerTest, EventsTimeReplaysOfOneGraph) {
  for (CacheState cache : {CacheState::kDefault, CacheState::kCold, CacheState::kWarm}) {
    prepared_ = launched_ = 0;
    EventTimer timer;
    auto session = timer.Open(stream_->view(), cache);
    ASSERT_OK(session);
    auto a = (*session)->Prepare(Fill());
    auto b = (*session)->Prepare(Fill());
    ASSERT_OK(a);
    ASSERT_OK(b);
    SampleThreeTimes(**session, {b->get(), a->get()});
    EXPECT_EQ(prepared_, 2) << "captured once, replayed";
    EXPECT_EQ(launched_, 2);
    EXPECT_EQ((*session)->num_launches(), 6);
    EXPECT_EQ(Read(*buffer_)[99999], Read(*buffer_)[0]);
    EXPECT_NE(Read(*buffer_)[0], 0);
  }
}

TEST_F(TimerTest, EventsTimeRepeatedCalls) {
  EventTimer timer(EventTimer::Replay::kCalls);
  auto session = timer.Open(stream_->view(), CacheState::kCold);
  ASSERT_OK(session);
  auto run = (*session)->Prepare(Fill());
  ASSERT_OK(run);
  SampleThreeTimes(**session, {run->get(), run->get()});
  EXPECT_EQ(prepared_, 6);
  EXPECT_EQ(launched_, 6);
  EXPECT_EQ((*session)->num_launches(), 6);
}

TEST_F(TimerTest, RepeatedCallsAreTimedWithoutTheHost) {
  static constexpr double kHostUs = 5000;
  EventTimer timer(EventTimer::Replay::kCalls);
  auto session = timer.Open(stream_->view(), CacheState::kCold);
  ASSERT_OK(session);
  TimedRun slow = Fill();
  slow.launch = [launch = slow.launch](CUstream stream) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(kHostUs));
    return launch(stream);
  };
  auto run = (*session)->Prepare(slow);
  ASSERT_OK(run);
  double least_us = kHostUs;
  for (int i = 0; i < 5; ++i) least_us = std::min(least_us, (*(*session)->Sample({run->get()}))[0]);
  EXPECT_LT(least_us, kHostUs);
}

TEST_F(TimerTest, ACallThatWaitsForItsStreamReturns) {
  EventTimer timer(EventTimer::Replay::kCalls);
  auto session = timer.Open(stream_->view(), CacheState::kCold);
  ASSERT_OK(session);
  TimedRun waiting = Fill();
  waiting.launch = [launch = waiting.launch, this](CUstream stream) -> Status {
    TUNEONCE_RETURN_IF_ERROR(launch(stream));
    return stream_->view().Synchronize();
  };
  auto run = (*session)->Prepare(waiting);
  ASSERT_OK(run);
  SampleThreeTimes(**session, {run->get()});
}

TEST_F(TimerTest, ErrorsOfTheRunComeBack) {
  EventTimer timer;
  auto session = timer.Open(stream_->view(), CacheState::kDefault);
  ASSERT_OK(session);
  auto fine = [](CUstream) { return Status(); };
  EXPECT_ERROR((*session)->Prepare({fine, [](CUstream) { return NotFoundError("launch"); }}), StatusCode::kNotFound,
               "launch");
  EXPECT_ERROR((*session)->Prepare({[](CUstream) { return NotFoundError("prepare"); }, fine}), StatusCode::kNotFound,
               "prepare");
  EXPECT_ERROR((*session)->Prepare({nullptr, fine}), StatusCode::kFailedPrecondition,
               "the function that is timed launched nothing");
}

/// A CUPTI whose kernels last what the test says. One at a time.
class FakeCupti {
 public:
  FakeCupti() {
    instance = this;
    api.GetVersion = [](std::uint32_t* version) { return *version = 130001, 0; };
    api.GetResultString = [](int, const char** text) { return *text = "scripted error", 0; };
    api.Subscribe = [](CuptiApi::Subscriber* subscriber, CuptiApi::Callback, void*) {
      instance->calls += "subscribe ";
      if (instance->subscribe_result != 0) return instance->subscribe_result;
      *subscriber = instance;
      return 0;
    };
    api.Unsubscribe = [](CuptiApi::Subscriber) { return 0; };
    api.EnableCallback = [](std::uint32_t, CuptiApi::Subscriber, int, std::uint32_t) { return 0; };
    api.ActivityRegisterCallbacks = [](CuptiApi::BufferRequested requested, CuptiApi::BufferCompleted completed) {
      instance->requested_ = requested;
      instance->completed_ = completed;
      return 0;
    };
    api.ActivityEnable = [](int kind) {
      instance->calls += "enable ";
      EXPECT_EQ(kind, CuptiApi::kConcurrentKernel);
      return instance->enable_result;
    };
    api.ActivityFlushAll = [](std::uint32_t) {
      instance->most_flushes_at_once = std::max<int>(instance->most_flushes_at_once, ++instance->num_flushes_now);
      if (instance->flush_takes_a_while) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      instance->Flush();
      --instance->num_flushes_now;
      return 0;
    };
    api.ActivityGetNextRecord = [](std::uint8_t* buffer, std::size_t valid, void** record) {
      std::uint8_t* next = *record == nullptr ? buffer : static_cast<std::uint8_t*>(*record) + kRecordBytes;
      if (next + kRecordBytes > buffer + valid) return 12;
      *record = next;
      return 0;
    };
    api.GetContextId = [](CUcontext, std::uint32_t* id) { return *id = 7, 0; };
    api.GetStreamIdEx = [](CUcontext, CUstream, std::uint8_t, std::uint32_t* id) { return *id = 13, 0; };
    api.Finalize = [] { return instance->calls += "finalize ", 0; };
  }
  ~FakeCupti() { instance = nullptr; }

  /// A kernel as it ended; `stream` 13 is the test's.
  void Ran(double us, std::uint32_t stream = 13) {
    clock_ns += 1000;
    auto duration = static_cast<std::uint64_t>(us * 1000);
    pending.push_back({clock_ns, clock_ns + duration, stream});
    clock_ns += duration;
  }
  TimedRun Kernel(double us) {
    return {nullptr, [this, us](CUstream) {
              Ran(500, 99);  // Somebody else's kernel beside it.
              if (lose_next > 0) {
                --lose_next;
              } else {
                Ran(us);
              }
              return Status();
            }};
  }

  CuptiApi api;
  std::string calls;
  int subscribe_result = 0;
  int enable_result = 0;
  int lose_next = 0;
  bool garbage = false;
  bool flush_takes_a_while = false;
  std::atomic<int> num_flushes_now{0}, most_flushes_at_once{0};

 private:
  static constexpr std::size_t kRecordBytes = 208;
  struct Pending {
    std::uint64_t start, end;
    std::uint32_t stream;
  };

  /// Delivers what is pending, latest first: CUPTI promises no order.
  void Flush() {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, max = 0;
    requested_(&buffer, &size, &max);
    std::size_t used = 0;
    for (auto it = pending.rbegin(); it != pending.rend(); ++it, used += kRecordBytes) {
      std::uint8_t* record = buffer + used;
      std::memset(record, 0, kRecordBytes);
      auto put = [&](std::size_t offset, auto value) { std::memcpy(record + offset, &value, sizeof(value)); };
      put(0, std::int32_t{CuptiApi::kConcurrentKernel});
      put(CuptiApi::kKernelStart, garbage ? it->end : it->start);
      put(CuptiApi::kKernelEnd, garbage ? it->start : it->end);
      put(CuptiApi::kKernelContextId, std::uint32_t{7});
      put(CuptiApi::kKernelStreamId, it->stream);
    }
    pending.clear();
    completed_(nullptr, 0, buffer, size, used);
  }

  static FakeCupti* instance;
  CuptiApi::BufferRequested requested_ = nullptr;
  CuptiApi::BufferCompleted completed_ = nullptr;
  std::vector<Pending> pending;
  std::uint64_t clock_ns = 1000000;
};
FakeCupti* FakeCupti::instance = nullptr;

class CuptiTimerTest : public testing::CpuDeviceTest {
 protected:
  Result<std::vector<double>> Sample(const std::vector<double>& kernels_us) {
    CuptiTimer timer{Cupti(cupti_.api)};
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<TimingSession> session, timer.Open(stream_->view(), CacheState::kWarm));
    std::vector<std::unique_ptr<PreparedRun>> runs;
    std::vector<PreparedRun*> order;
    for (double us : kernels_us) {
      runs.push_back(*session->Prepare(cupti_.Kernel(us)));
      order.push_back(runs.back().get());
    }
    cupti_.Ran(77);  // Left from a verification.
    Result<std::vector<double>> times = session->Sample(order);
    num_launches_ = session->num_launches();
    return times;
  }

  FakeCupti cupti_;
  std::int64_t num_launches_ = 0;
};

TEST_F(CuptiTimerTest, MatchesRecordsByStreamAndOrder) {
  Result<std::vector<double>> times = Sample({3, 1, 2});
  ASSERT_OK(times);
  EXPECT_EQ(*times, (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(num_launches_, 3);
  EXPECT_EQ(cupti_.calls, "subscribe enable finalize ");
}

TEST_F(CuptiTimerTest, LostRecordsAreDetectedAndTheRoundRepeated) {
  cupti_.lose_next = 4;  // All of the first attempt, one of the second.
  Result<std::vector<double>> times = Sample({3, 1, 2});
  ASSERT_OK(times);
  EXPECT_EQ(*times, (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(num_launches_, 9);
  cupti_.lose_next = 1000;
  EXPECT_ERROR(Sample({3, 1}), StatusCode::kUnavailable,
               "CUPTI returned 0 records for 2 kernels, in each of 3 attempts");
}

TEST_F(CuptiTimerTest, AnotherOwnerIsSaidAndLeftAlone) {
  cupti_.subscribe_result = CuptiApi::kMultipleSubscribers;
  EXPECT_ERROR(Sample({1}), StatusCode::kUnavailable, "CUPTI is in use by another profiler of this process");
  EXPECT_EQ(cupti_.calls, "subscribe ") << "neither enabled nor finalized";
  cupti_.subscribe_result = 999;
  EXPECT_ERROR(Sample({1}), StatusCode::kUnavailable, "cuptiSubscribe: scripted error (999)");
}

TEST_F(CuptiTimerTest, AHalfStartedCuptiIsFinalized) {
  cupti_.enable_result = 5;
  EXPECT_ERROR(Sample({1}), StatusCode::kUnavailable, "cuptiActivityEnable: scripted error (5)");
  EXPECT_EQ(cupti_.calls, "subscribe enable finalize ");
  cupti_.enable_result = 0;
  EXPECT_OK(Sample({1}));
}

TEST_F(CuptiTimerTest, RecordsThatMakeNoSenseAreRefused) {
  cupti_.garbage = true;
  EXPECT_ERROR(Sample({1}), StatusCode::kUnavailable, "returned invalid kernel records");
}

TEST_F(CuptiTimerTest, OneOfTwoSearchesAtATimeFetchesRecords) {
  cupti_.flush_takes_a_while = true;
  Result<std::shared_ptr<CuptiSession>> session = Cupti(cupti_.api).Claim(api());
  ASSERT_OK(session);
  auto fetch = [&](std::uint32_t stream) {
    for (int i = 0; i < 5; ++i) EXPECT_OK((*session)->Take({7, stream}));
  };
  std::thread other(fetch, 99);
  fetch(13);
  other.join();
  EXPECT_EQ(cupti_.most_flushes_at_once, 1);
}

TEST_F(CuptiTimerTest, OneClaimForABurst) {
  {
    TimingBurst burst(Cupti(cupti_.api), api());
    EXPECT_OK(Sample({1}));
    EXPECT_OK(Sample({2}));
    EXPECT_EQ(cupti_.calls, "subscribe enable ");
  }
  EXPECT_EQ(cupti_.calls, "subscribe enable finalize ");
}

TEST_F(CuptiTimerTest, AClaimIsOfTheCuptiThatWasAskedFor) {
  CuptiApi by_another_name = cupti_.api;
  CuptiApi other = cupti_.api;
  other.library_path = "/other/libcupti.so";
  other.Subscribe = [](CuptiApi::Subscriber*, CuptiApi::Callback, void*) { return 0; };
  {
    TimingBurst burst(Cupti(cupti_.api), api());
    EXPECT_OK(Cupti(by_another_name).Claim(api()));  // The same library.
    EXPECT_ERROR(Cupti(other).Claim(api()), StatusCode::kUnavailable, "/other/libcupti.so");
    EXPECT_EQ(cupti_.calls, "subscribe enable ");
  }
  EXPECT_OK(Cupti(other).Claim(api()));  // Now that nobody has the first.
}

TEST_F(CuptiTimerTest, EachClaimUsesItsOwnDriver) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  ASSERT_OK((*faults)->Plan(Fault{"CtxGetCurrent", 1, CUDA_ERROR_UNKNOWN}));
  TimingBurst burst(Cupti(cupti_.api), api());
  Result<std::shared_ptr<CuptiSession>> session = Cupti(cupti_.api).Claim((*faults)->api());
  ASSERT_OK(session);
  EXPECT_FALSE((*session)->Watch(stream_->view()).ok()) << "its driver fails, not that of who claimed first";
  EXPECT_OK((*Cupti(cupti_.api).Claim(api()))->Watch(stream_->view()));
}

TEST_F(CuptiTimerTest, TheCpuDeviceHasNone) {
  EXPECT_ERROR(CuptiTimer(Cupti(Environment())).Open(stream_->view(), CacheState::kWarm), StatusCode::kUnavailable,
               "CPU device");
}

TEST(CuptiLoaderTest, SaysWhatIsMissing) {
  Environment environment;
  environment.cupti = "/nowhere/libcupti.so";
  EXPECT_ERROR(LoadCupti(environment), StatusCode::kUnavailable, "/nowhere/libcupti.so");
  environment.cupti = "libm.so.6";
  EXPECT_ERROR(LoadCupti(environment), StatusCode::kUnavailable, "libm.so.6 is not CUPTI, or too old: it has no cupti");
}

}  // namespace
}  // namespace tuneonce
