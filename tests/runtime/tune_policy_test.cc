// What AutotunePolicy says of keys that cannot be tuned now: retries, other processes, interrupts; and of whatever
// throws.
#include <atomic>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "base/temporary_folder.h"
#include "compile/command_toolchain.h"
#include "measure/event_timer.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;

/// Throws what `kind` says, in calls of `function`.
struct Thrower {
  std::string function;  // Empty: nothing throws.
  int kind = 0;

  void Call(const char* name) const {
    if (function != name) return;
    if (kind == 0) throw std::runtime_error("boom");
    if (kind == 1) throw 17;
    throw std::bad_alloc();
  }
};

class ThrowingToolchain final : public Toolchain {
 public:
  explicit ThrowingToolchain(const Thrower& thrower) : thrower_(thrower) {}
  SourceKind source_kind() const override { return thrower_.Call("source_kind"), host_.source_kind(); }
  bool uses_hints() const override { return thrower_.Call("uses_hints"), false; }
  Result<std::string> Version() const override { return thrower_.Call("Version"), host_.Version(); }
  std::string Description() const override { return ""; }

 protected:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    thrower_.Call("Compile");
    return host_.Compile(source, hints, target, limits);
  }

 private:
  const Thrower& thrower_;
  CommandToolchain host_{kHostCompiler, testing::Tools()};
};

class ThrowingTimer final : public Timer {
 public:
  explicit ThrowingTimer(const Thrower& thrower) : thrower_(thrower) {}
  std::string_view name() const override { return thrower_.Call("name"), "throwing"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override {
    thrower_.Call("Open");
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<TimingSession> session, events_.Open(stream, cache));
    return std::unique_ptr<TimingSession>(std::make_unique<Session>(thrower_, std::move(session)));
  }

 private:
  class Session final : public TimingSession {
   public:
    Session(const Thrower& thrower, std::unique_ptr<TimingSession> session)
        : thrower_(thrower), session_(std::move(session)) {}
    Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override {
      return thrower_.Call("Prepare"), session_->Prepare(std::move(run));
    }
    Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
      return thrower_.Call("Sample"), session_->Sample(runs);
    }
    std::int64_t num_launches() const override { return thrower_.Call("num_launches"), session_->num_launches(); }

   private:
    const Thrower& thrower_;
    std::unique_ptr<TimingSession> session_;
  };
  const Thrower& thrower_;
  EventTimer events_;
};

/// Also an observer and a store of artifacts that throw.
class ThrowingObserver final : public AutotuneObserver {
 public:
  explicit ThrowingObserver(const Thrower& thrower) : thrower_(thrower) {}
  void OnTuneBegin(const std::string&, const std::string&) override { thrower_.Call("OnTuneBegin"); }
  void OnTuned(const std::string&, const std::string&, const TuningRecord&) override { thrower_.Call("OnTuned"); }
  void OnTuneFailed(const std::string&, const std::string&, const Status& why) override {
    std::lock_guard<std::mutex> lock(mutex);
    reasons.push_back(why.message());
    thrower_.Call("OnTuneFailed");
  }
  void OnStoredHit(const std::string&, const std::string&, const std::string&) override {}
  void OnWarning(const std::string&) override { thrower_.Call("OnWarning"); }

  std::mutex mutex;
  std::vector<std::string> reasons;

 private:
  const Thrower& thrower_;
};

class ThrowingArtifacts final : public ForwardingStore {
 public:
  explicit ThrowingArtifacts(const Thrower& thrower) : ForwardingStore(MakeMemoryStore()), thrower_(thrower) {}
  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override {
    return thrower_.Call("GetArtifact"), store_->GetArtifact(key);
  }
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override {
    return thrower_.Call("PutArtifact"), store_->PutArtifact(key, artifact);
  }
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override {
    return thrower_.Call("LeaseArtifact"), store_->LeaseArtifact(key, limits);
  }

 private:
  const Thrower& thrower_;
};

/// A store whose keys another process tunes: it holds all leases until it is done.
class LeasedStore final : public ForwardingStore {
 public:
  LeasedStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits&) override {
    ++asked;
    if (on_ask) on_ask();
    if (is_done) return TuningLease(std::make_shared<int>());
    return DeadlineExceededError("it is held");
  }

  std::atomic<bool> is_done{false};
  std::atomic<int> asked{0};
  std::function<void()> on_ask;
};

class TunePolicyTest : public testing::CpuDeviceTest {
 protected:
  TunePolicyTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.observer = observer_;
    policy_.search.compile.cache = artifacts_;
    policy_.retry_after = std::chrono::milliseconds(0);
  }
  TunedKernel Create(const std::string& name = "scale") {
    Result<TunedKernel> kernel = TunedKernel::Create(scale_.Definition(name), policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  Status Launch(TunedKernel& kernel, int n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(static_cast<std::size_t>(n), 3));
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(n), 0));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<std::size_t>(n), 6));
    return Status();
  }
  /// One launch of the same key from each of 8 threads at once.
  std::vector<Status> LaunchFromManyThreads(TunedKernel& kernel) {
    constexpr int kThreads = 8;
    std::vector<Status> statuses(kThreads);
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (Status& status : statuses) {
      threads.emplace_back([&] {
        ScopedContext current(context_->view());
        Stream stream = *Stream::Create(api());
        DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 4000);
        EXPECT_OK(x.Fill(0));
        EXPECT_OK(stream.view().Synchronize());
        for (++ready; ready < kThreads;) std::this_thread::yield();
        status = kernel.Launch(stream.get(), View(x), View(x), 2.0f);
        EXPECT_OK(stream.view().Synchronize());
      });
    }
    for (std::thread& thread : threads) thread.join();
    return statuses;
  }

  testing::ScaleKernel scale_;
  Thrower thrower_;
  std::shared_ptr<ThrowingObserver> observer_ = std::make_shared<ThrowingObserver>(thrower_);
  const std::shared_ptr<ThrowingArtifacts> artifacts_ = std::make_shared<ThrowingArtifacts>(thrower_);
  AutotunePolicy policy_;
};

TEST_F(TunePolicyTest, WhateverThrowsNobodyHangsAndTheNextLaunchWorks) {
  ThrowingTimer timer(thrower_);
  policy_.search.runtime = testing::RuntimeWith(std::make_shared<ThrowingToolchain>(thrower_));
  policy_.search.timer = &timer;
  policy_.search.stop = StopToken([this] { return thrower_.Call("interrupted"), false; });
  struct Case {
    const char* function;
    const char* blame;  // In what OnTuneFailed hears; null: the tune does not fail.
  };
  int number = 0;
  for (const Case& c : {
           Case{"source_kind", "the toolchain for cpu_cpp sources, in source_kind, threw"},
           Case{"uses_hints", "the toolchain for cpu_cpp sources, in uses_hints, threw"},
           Case{"Version", "the toolchain for cpu_cpp sources, in Version, threw"},
           Case{"Compile", "the toolchain for cpu_cpp sources, in Compile, threw"},
           Case{"Open", "the timer's Open threw"},
           Case{"Prepare", "the timer's Prepare threw"},
           Case{"Sample", "the timer's Sample threw"},
           Case{"num_launches", nullptr},
           Case{"name", nullptr},
           Case{"OnTuneBegin", nullptr},
           Case{"OnTuned", nullptr},
           Case{"GetArtifact", nullptr},
           Case{"PutArtifact", nullptr},
           Case{"LeaseArtifact", nullptr},
       }) {
    for (int kind = 0; kind < 3; ++kind) {
      SCOPED_TRACE(std::string(c.function) + " throws what " + std::to_string(kind) + " is");
      observer_->reasons.clear();
      auto empty = std::make_shared<ThrowingArtifacts>(thrower_);  // So that something is compiled.
      policy_.search.compile.cache = c.function == std::string("Compile") ? empty : artifacts_;
      TunedKernel kernel = Create("scale" + std::to_string(number++));
      thrower_ = Thrower{c.function, kind};
      std::vector<Status> statuses = LaunchFromManyThreads(kernel);
      bool all_ok = true;
      for (const Status& status : statuses) all_ok &= status.ok();
      EXPECT_EQ(observer_->reasons.empty(), c.blame == nullptr);
      EXPECT_TRUE(all_ok || c.blame != nullptr) << statuses[0].ToString();
      for (const std::string& reason : observer_->reasons) {
        EXPECT_NE(reason.find(c.blame), std::string::npos) << reason;
      }
      thrower_ = Thrower();
      // What throws for good, by its type, is remembered for good: the baseline runs. What may pass is tuned now.
      EXPECT_OK(Launch(kernel));
      bool is_tuned =
          *kernel.IsReady({View(Floats(std::vector<float>(1000))), View(Floats(std::vector<float>(1000))), 2.0f});
      EXPECT_EQ(is_tuned, c.blame == nullptr || kind == 2);
    }
  }
}

TEST_F(TunePolicyTest, AnErrorOfTheTuneIsReturnedToWhoWantsIt) {
  ThrowingTimer timer(thrower_);
  policy_.search.timer = &timer;
  policy_.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  TunedKernel kernel = Create();
  thrower_.function = "Open";
  EXPECT_ERROR(Launch(kernel), StatusCode::kInternal, "the timer's Open threw: boom");
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 1);
}

TEST_F(TunePolicyTest, AWarmUpReturnsItsFailureTriesAgainAndLoadsWhatCapturesRun) {
  ThrowingTimer timer(thrower_);
  policy_.search.timer = &timer;
  TunedKernel kernel = Create();
  thrower_.function = "Open";
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 1000}}}), StatusCode::kInternal, "the timer's Open threw: boom");
  EXPECT_EQ(kernel.counters().now.loaded_kernels, 1) << "the baseline";
  thrower_ = Thrower();
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  EXPECT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 1);
}

TEST_F(TunePolicyTest, ASearchThatTheHostStoppedIsMadeLater) {
  std::atomic<bool> stopped{true};
  policy_.search.stop = &stopped;
  TunedKernel kernel = Create();
  EXPECT_ERROR(Launch(kernel), StatusCode::kCancelled, "the search was cancelled");
  stopped = false;
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  EXPECT_EQ(policy_.store->List()->size(), 1u);
}

TEST_F(TunePolicyTest, WaitersOfAStoppedSearchStopToo) {
  std::atomic<bool> stopped{true};
  policy_.search.stop = &stopped;
  policy_.retry_after = std::chrono::milliseconds(1000000);
  TunedKernel kernel = Create();
  for (const Status& status : LaunchFromManyThreads(kernel)) EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(kernel.counters().failed_tunes, 0);
  EXPECT_EQ(kernel.counters().fallbacks, 0);
}

TEST_F(TunePolicyTest, AnInterruptedCallEndsAndLeavesNothingBehind) {
  std::atomic<bool> interrupted{true};
  policy_.search.stop = StopToken([&] { return interrupted.load(); });
  policy_.retry_after = std::chrono::milliseconds(1000000);
  TunedKernel kernel = Create();
  EXPECT_ERROR(Launch(kernel), StatusCode::kCancelled, "the search was cancelled");
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 1000}}, {{"N", 2000}}}), StatusCode::kCancelled, "cancelled");
  EXPECT_EQ(kernel.counters().failed_tunes, 0);
  EXPECT_TRUE(policy_.store->List()->empty());
  EXPECT_TRUE(observer_->reasons.empty());
  interrupted = false;
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().fallbacks, 0);
}

TEST_F(TunePolicyTest, WhoWaitedForAnInterruptedTuneTakesItOver) {
  const std::thread::id first = std::this_thread::get_id();
  std::atomic<bool> is_waited_for{false};
  // The first thread is interrupted once another one waits for it, and so asks, too.
  policy_.search.stop = StopToken([&] {
    if (std::this_thread::get_id() == first) return is_waited_for.load();
    is_waited_for = true;
    return false;
  });
  std::atomic<bool> is_tuning{false};
  policy_.search.on_progress = [&](const SearchProgress&) {
    is_tuning = true;
    while (!is_waited_for) std::this_thread::yield();
  };
  TunedKernel kernel = Create();
  Status second;
  std::thread thread([&] {
    ScopedContext current(context_->view());
    Stream stream = *Stream::Create(api());
    DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 4000);
    EXPECT_OK(x.Fill(0));
    while (!is_tuning) std::this_thread::yield();
    second = kernel.Launch(stream.get(), View(x), View(x), 2.0f);
    EXPECT_OK(stream.view().Synchronize());
  });
  EXPECT_ERROR(Launch(kernel), StatusCode::kCancelled, "cancelled");
  thread.join();
  EXPECT_OK(second);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(policy_.store->List()->size(), 1u);
}

TEST_F(TunePolicyTest, ALaunchThatWaitsForAnotherProcessGivesUpAndRunsTheBaseline) {
  auto store = std::make_shared<LeasedStore>();
  policy_.store = store;
  policy_.max_wait = std::chrono::milliseconds(30);
  TunedKernel kernel = Create();
  EXPECT_OK(Launch(kernel));
  EXPECT_GT(store->asked, 1) << "it waited";
  EXPECT_EQ(kernel.counters().busy_elsewhere, 1);
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", 1000}}}), StatusCode::kDeadlineExceeded,
               "another process is tuning this key, and did not finish within 30 ms");
  policy_.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  TunedKernel wants_errors = Create();
  EXPECT_ERROR(Launch(wants_errors), StatusCode::kDeadlineExceeded, "another process is tuning this key");
  store->is_done = true;  // It died without a record.
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

TEST_F(TunePolicyTest, WhatAnotherProcessFoundIsServedByALaterLook) {
  auto other = std::make_shared<MemoryStore>();
  policy_.store = other;
  TunedKernel in_the_other_process = Create();
  ASSERT_OK(Launch(in_the_other_process));
  auto store = std::make_shared<LeasedStore>();
  policy_.store = store;
  policy_.max_wait = std::chrono::milliseconds(0);
  TunedKernel kernel = Create();
  for (int i = 0; i < 3; ++i) EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().busy_elsewhere, 3);
  EXPECT_EQ(store->asked, 3) << "there is no pause here";
  ASSERT_OK(store->Put((*other->List())[0]));
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_EQ(kernel.counters().busy_elsewhere, 3);
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(TunePolicyTest, BetweenTwoLooksTheStoreIsLeftAlone) {
  auto store = std::make_shared<LeasedStore>();
  policy_.store = store;
  policy_.max_wait = std::chrono::milliseconds(0);
  policy_.retry_after = std::chrono::milliseconds(1000000);
  TunedKernel kernel = Create();
  for (int i = 0; i < 5; ++i) EXPECT_OK(Launch(kernel));
  EXPECT_EQ(store->asked, 1);
  EXPECT_EQ(kernel.counters().busy_elsewhere, 5);
}

/// A host's store whose look-ups return `lookup`.
class LookupStore final : public ForwardingStore {
 public:
  explicit LookupStore(RecordLookup lookup) : ForwardingStore(MakeMemoryStore()), lookup_(std::move(lookup)) {}
  Result<RecordLookup> Lookup(const TuningKey&) const override { return lookup_; }

 private:
  const RecordLookup lookup_;
};

TEST_F(TunePolicyTest, ALookupThatContradictsItselfIsAnErrorOfTheStore) {
  RecordLookup matches_nothing;
  matches_nothing.match = RecordMatch::kExact;
  RecordLookup unknown_reason;
  unknown_reason.instead = static_cast<RecordMiss>(77);
  RecordLookup half;
  half.complete = std::make_shared<RecordLookup>(matches_nothing);
  for (const RecordLookup& lookup : {matches_nothing, unknown_reason, half}) {
    policy_.store = std::make_shared<LookupStore>(lookup);
    TunedKernel kernel = Create();
    EXPECT_OK(Launch(kernel));  // Tuning continues without the store.
    EXPECT_EQ(kernel.counters().tunes, 1);
    EXPECT_EQ(kernel.counters().misses_refused, 1);
  }
}

TEST_F(TunePolicyTest, AStoreThatDoesNotWaitForALeaseIsNotAskedAllTheTime) {
  auto store = std::make_shared<LeasedStore>();
  policy_.store = store;
  policy_.max_wait = std::chrono::milliseconds(200);
  TunedKernel kernel = Create();
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().busy_elsewhere, 1);
  EXPECT_LE(store->asked, 12);
}

/// Opens sessions, or prepares runs, that are null.
class NullTimer final : public Timer {
 public:
  explicit NullTimer(bool opens) : opens_(opens) {}
  std::string_view name() const override { return "null"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView, CacheState) override {
    class Session final : public TimingSession {
      Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun) override { return std::unique_ptr<PreparedRun>(); }
      Result<std::vector<double>> Sample(const std::vector<PreparedRun*>&) override { return std::vector<double>(); }
      std::int64_t num_launches() const override { return 0; }
      std::size_t memory_bytes() const override { return 0; }
    };
    return opens_ ? std::make_unique<Session>() : std::unique_ptr<TimingSession>();
  }

 private:
  const bool opens_;
};

TEST_F(TunePolicyTest, ATimerThatReturnsNullIsAnError) {
  policy_.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
  NullTimer opens_nothing(false), prepares_nothing(true);
  policy_.search.timer = &opens_nothing;
  TunedKernel kernel = Create();
  EXPECT_ERROR(Launch(kernel), StatusCode::kInternal, "the timer's Open returned null");
  policy_.search.timer = &prepares_nothing;
  TunedKernel other = Create("other");
  EXPECT_ERROR(Launch(other), StatusCode::kInternal, "the timer's Prepare returned null");
}

TEST_F(TunePolicyTest, ALeaseOfAFileIsRespected) {
  TemporaryFolder folder = *testing::MakeFolder();
  SqliteStoreOptions options;
  options.path = folder.path() + "/cache/store.db";
  std::shared_ptr<SqliteStore> store = *SqliteStore::Open(options);
  std::shared_ptr<SqliteStore> others = *SqliteStore::Open(options);  // Locks belong to the open file.
  policy_.store = store;
  {
    TunedKernel kernel = Create();
    ASSERT_OK(Launch(kernel));
  }
  TuningKey key = (*store->List())[0].key;
  ASSERT_OK(store->Remove(key));
  Result<TuningLease> lease = others->Lease(key, WaitLimits());
  ASSERT_OK(lease);
  policy_.max_wait = std::chrono::milliseconds(0);
  TunedKernel kernel = Create();
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().busy_elsewhere, 1);
  *lease = nullptr;
  EXPECT_OK(Launch(kernel));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

}  // namespace
}  // namespace tuneonce
