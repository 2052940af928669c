// WarmupAll: many kernels and shapes in one call.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/deadline.h"
#include "runtime/compile_ahead.h"
#include "runtime/tuned_kernel_on.h"
#include "runtime/warmup_run.h"
#include "testing/busy_store.h"
#include "testing/fault_injection.h"
#include "testing/runtimes.h"
#include "testing/tuned_scale_test.h"
#include "testing/watched_toolchain.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;
using testing::WatchedToolchain;
using Mode = AutotunePolicy::Mode;
using State = WarmedKey::State;

class WarmupAllTest : public testing::TunedScaleTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnTuneBegin(const std::string& kernel, const std::string& key) override {
      std::lock_guard<std::mutex> lock(mutex);
      begun.push_back(kernel + " " + key);
      if (on_begin) on_begin();
    }
    void OnTuneFailed(const std::string&, const std::string&, const Status&) override { ++failed; }
    void OnWarning(const std::string&) override {}
    std::mutex mutex;
    std::vector<std::string> begun;
    std::function<void()> on_begin;
    std::atomic<int> failed{0};
  };

  WarmupAllTest() {
    RuntimeOptions options;
    options.toolchains = std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{compiler_});
    policy_.search.runtime = testing::MakeRuntime(std::move(options));
    policy_.observer = observer_;
  }
  static std::string StateText(State state) {
    switch (state) {
      case State::kReady:
        return "ready";
      case State::kFromStore:
        return "stored";
      case State::kTuned:
        return "tuned";
      case State::kFromRanks:
        return "from ranks";
      case State::kPredicted:
        return "predicted";
      case State::kFallback:
        return "fallback";
      case State::kFailed:
        return "failed";
      case State::kNotReached:
        break;
    }
    return "not reached";
  }
  /// "tuned, stored, ...", of a call that must be possible.
  std::string Warm(const std::vector<KernelShapes>& kernels, const WarmupAllOptions& options = {}) {
    Result<std::vector<WarmedKey>> warmed = WarmupAll(stream_->get(), kernels, options);
    EXPECT_OK(warmed);
    std::string states;
    if (warmed.ok()) last_ = *warmed;
    for (const WarmedKey& key : last_) {
      states += (states.empty() ? "" : ", ") + StateText(key.state);
      bool has_status = key.state == State::kFailed || key.state == State::kNotReached;
      EXPECT_EQ(key.status.ok(), !has_status) << key.status.ToString();
    }
    return states;
  }
  static WarmupAllOptions Deadline(int ms) {
    WarmupAllOptions options;
    options.deadline = std::chrono::milliseconds(ms);
    return options;
  }
  /// A definition of the same source under another name: its records are its own.
  KernelDefinition Bucketed(const std::string& name = "bucketed") {
    KernelDefinition definition = scale_.Definition(name);
    definition.Key(KeyOf("N").NextPow2());
    return definition;
  }
  KernelDefinition Broken() {
    KernelDefinition definition("broken");
    definition.Parameters(scale_.Definition().parameters())
        .Space(scale_.space)
        .AddVariant(Variant([](const Config&, const Problem&) {
                      return KernelSource::CpuCpp("this is no C++", "broken");
                    }).Grid(Grid::Fixed(1)));
    return definition;
  }

  std::shared_ptr<WatchedToolchain> compiler_ = std::make_shared<WatchedToolchain>();
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
  std::vector<WarmedKey> last_;
};

TEST_F(WarmupAllTest, ManyKernelsAreTunedInOrderThenServedFromTheStoreThenReady) {
  TunedKernel a = Create(scale_.Definition("a")), b = Create(scale_.Definition("b"));
  EXPECT_EQ(Warm({{&a, {{{"N", 1000}}, {{"N", 2000}}}}, {&b, {{{"N", 500}}}}}), "tuned, tuned, tuned");
  EXPECT_EQ(observer_->begun,
            (std::vector<std::string>{"a N=1000, x:float32, y:float32", "a N=2000, x:float32, y:float32",
                                      "b N=500, x:float32, y:float32"}));
  EXPECT_EQ(last_[1].kernel, 0u);
  EXPECT_EQ(last_[1].shapes, std::vector<std::size_t>{1});
  EXPECT_EQ(last_[2].kernel, 1u);
  EXPECT_EQ(last_[2].key, "N=500, x:float32, y:float32");
  EXPECT_TRUE(last_[2].is_complete);
  Launch(a, 2000);
  Launch(b, 500);
  EXPECT_EQ(a.counters().hits + b.counters().hits, 2);
  EXPECT_EQ(Warm({{&b, {{{"N", 500}}}}, {&a, {{{"N", 1000}}}}}), "ready, ready");
  TunedKernel later = Create(scale_.Definition("a"));
  EXPECT_EQ(Warm({{&later, {{{"N", 1000}}, {{"N", 3000}}, {{"N", 2000}}}}}), "stored, tuned, stored");
  EXPECT_EQ(later.counters().tunes, 1);
  EXPECT_EQ(later.counters().now.ready_entries, 6) << "selections and fallbacks";
}

TEST_F(WarmupAllTest, AFallbackThatTheDeadlineLeftOutIsNotReachedWhateverTheMode) {
  policy_.mode = Mode::kFallbackOnly;
  TunedKernel kernel = Create(scale_.Definition());
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1000}}}}}, Deadline(0)), "not reached");
  EXPECT_ERROR(last_[0].status, StatusCode::kDeadlineExceeded, "the call ended before");
}

TEST_F(WarmupAllTest, ShapesOfABucketAreOneKeyAndItIsTunedAtItsBound) {
  TunedKernel kernel = Create(Bucketed());
  EXPECT_EQ(Warm({{&kernel, {{{"N", 3000}}, {{"N", 100}}, {{"N", 2500}}}}}), "tuned, tuned");
  EXPECT_EQ(last_[0].shapes, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(last_[0].key, "N<=4096, x:float32, y:float32");
  EXPECT_EQ((*policy_.store->List())[0].tuned_at + " " + (*policy_.store->List())[1].tuned_at, "N=4096 N=128");
  EXPECT_EQ(Warm({{&kernel, {{{"N", 4000}}}}, {&kernel, {{{"N", 4001}}}}}), "ready, ready");
}

TEST_F(WarmupAllTest, ErrorsOfOneKeyStopNoOthers) {
  TunedKernel broken = Create(Broken()), good = Create();
  EXPECT_EQ(Warm({{&broken, {{{"N", 8}}}}, {&good, {{{"M", 8}}, {{"N", 0}}, {{"N", 9}}}}}),
            "failed, failed, ready, tuned");
  EXPECT_NE(last_[0].status.message().find("broken.cc:1:1"), std::string::npos) << last_[0].status.ToString();
  EXPECT_NE(last_[1].status.message().find("'M' is unknown"), std::string::npos);
  EXPECT_EQ(last_[1].key, "");
  EXPECT_EQ(observer_->failed, 1);
}

TEST_F(WarmupAllTest, WhatIsWrongWithTheCallIsItsError) {
  TunedKernel kernel = Create();
  EXPECT_ERROR(WarmupAll(stream_->get(), {{&kernel, {}}, {nullptr, {}}}), StatusCode::kInvalidArgument,
               "kernel 1 of a warm-up is null");
  Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
    EXPECT_ERROR(WarmupAll(stream, {{&kernel, {{{"N", 1}}}}}), StatusCode::kFailedPrecondition,
                 "warm up before the capture");
    return Status();
  });
  EXPECT_OK(graph);
  std::thread([&] {
    EXPECT_ERROR(WarmupAll(nullptr, {{&kernel, {{{"N", 1}}}}}), StatusCode::kFailedPrecondition,
                 "no current CUDA context");
  }).join();
  WarmupAllOptions options;
  options.on_progress = [&](const WarmupProgress&) {
    EXPECT_ERROR(WarmupAll(stream_->get(), {}), StatusCode::kFailedPrecondition, "inside a callback");
    throw std::runtime_error("a display that fails");
  };
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1}}}}}, options), "tuned");
  EXPECT_EQ(Warm({}), "");
}

TEST_F(WarmupAllTest, AtDeadline0WhatIsStoredIsLoadedAndNothingCompiledOrMeasured) {
  TunedKernel maker = Create();
  EXPECT_EQ(Warm({{&maker, {{{"N", 1000}}}}}), "tuned");
  for (Mode mode : {Mode::kTuneOnMiss, Mode::kTuneDeferred}) {
    const std::size_t compiled = compiler_->compiled().size();
    policy_.mode = mode;
    TunedKernel kernel = Create(), other = Create(Bucketed(mode == Mode::kTuneOnMiss ? "one" : "two"));
    EXPECT_EQ(Warm({{&other, {{{"N", 9}}}}, {&kernel, {{{"N", 1000}}, {{"N", 2000}}}}}, Deadline(0)),
              "not reached, stored, not reached")
        << last_[1].status.ToString();
    EXPECT_EQ(compiler_->compiled().size(), compiled);
    EXPECT_EQ(kernel.counters().tunes + other.counters().tunes, 0);
    EXPECT_EQ(kernel.counters().now.pending_keys, mode == Mode::kTuneOnMiss ? 0 : 1) << "as the mode says";
    EXPECT_EQ(policy_.store->List()->size(), 1u);
    EXPECT_EQ(observer_->failed, 0) << "nothing was found out about what was not reached";
    Launch(kernel, 2000);
    EXPECT_EQ(kernel.counters().tunes, mode == Mode::kTuneOnMiss ? 1 : 0);
    EXPECT_EQ(kernel.counters().fallbacks, mode == Mode::kTuneOnMiss ? 0 : 1);
    ASSERT_OK(kernel.TunePending(stream_->get()));
    EXPECT_EQ(kernel.counters().tunes, 1);
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel again = Create();
    ASSERT_OK(again.Warmup(stream_->get(), {{{"N", 1000}}}));
  }
}

TEST_F(WarmupAllTest, ASearchThatUsesUpItsShareIsNoCompleteOneAndALaterKeyHasItsTurn) {
  compiler_->hangs_at = "TILE=256";  // Of the first kernel alone: the other has no such config.
  SearchSpace small;
  IntAxis tile = small.AddAxis("TILE", {64});
  IntAxis work = small.AddAxis("WORK", {100, 1});
  KernelDefinition quick("quick");
  quick.Parameters(scale_.Definition().parameters())
      .Space(small)
      .AddVariant(
          Variant([=](const Config& c, const Problem&) {
            return KernelSource::CpuCpp(testing::kScaleSource, "scale").Define("TILE", c[tile]).Define("WORK", c[work]);
          }).Grid(Grid::OneD({"N", tile})));
  TunedKernel hangs = Create(), other = Create(quick);
  EXPECT_EQ(Warm({{&other, {{{"N", 5}}}}}), "tuned");  // What does not hang is compiled: no compiler is waited for.
  EXPECT_EQ(Warm({{&hangs, {{{"N", 1000}}}}, {&other, {{{"N", 1000}}}}}, Deadline(4000)), "tuned, tuned");
  EXPECT_FALSE(last_[0].is_complete);
  EXPECT_TRUE(last_[1].is_complete);
  const std::vector<TuningRecord> records = *policy_.store->List();
  ASSERT_EQ(records.size(), 3u);
  for (const TuningRecord& record : records) {
    EXPECT_EQ(record.is_complete, record.key.kernel == "quick") << record.key.kernel;
  }
  TunedKernel again = Create();
  compiler_->hangs_at = "";
  EXPECT_EQ(Warm({{&again, {{{"N", 1000}}}}}), "stored");
  EXPECT_FALSE(last_[0].is_complete);
  ASSERT_OK(again.TunePending(stream_->get()));
  const std::vector<TuningRecord> after = *policy_.store->List();
  EXPECT_TRUE(std::all_of(after.begin(), after.end(), [](const TuningRecord& record) { return record.is_complete; }));
}

TEST_F(WarmupAllTest, WhatRunsAtTheDeadlineIsGivenUpAndNothingOfItIsStored) {
  compiler_->hangs_at = "TILE=";  // Everything.
  TunedKernel kernel = Create();
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1000}}, {{"N", 2000}}}}}, Deadline(200)), "not reached, not reached");
  EXPECT_TRUE(policy_.store->List()->empty());
  EXPECT_EQ(observer_->failed, 0);
  for (const WarmedKey& key : last_) {
    EXPECT_ERROR(key.status, StatusCode::kDeadlineExceeded, "the deadline passed before this key was reached");
  }
  EXPECT_NE(last_[0].status.message().find("the baseline cannot run either: "), std::string::npos)
      << last_[0].status.ToString();
  compiler_->hangs_at = "";
  Launch(kernel, 1000);
  EXPECT_EQ(kernel.counters().tunes, 1 + kernel.counters().fallbacks) << "no pause: its launch tunes";
}

TEST_F(WarmupAllTest, AKeyThatWasBegunStatesWhatEndedItsSearch) {
  std::atomic<bool> cancelled{false};
  WarmupAllOptions options;
  options.stop = &cancelled;
  observer_->on_begin = [&] { cancelled = true; };
  TunedKernel stopped = Create(scale_.Definition("stopped")), late = Create(scale_.Definition("late"));
  EXPECT_EQ(Warm({{&stopped, {{{"N", 1000}}}}}, options), "not reached");
  EXPECT_ERROR(last_[0].status, StatusCode::kCancelled, "the search was cancelled");
  observer_->on_begin = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2000)); };
  EXPECT_EQ(Warm({{&late, {{{"N", 1000}}}}}, Deadline(2000)), "not reached");
  EXPECT_ERROR(last_[0].status, StatusCode::kDeadlineExceeded, "the deadline passed during the search of this key");
}

TEST_F(WarmupAllTest, CancellingLeavesWhatWasDoneAndReachesNothingMore) {
  TunedKernel kernel = Create();
  std::atomic<bool> cancelled{false};
  std::vector<std::string> told;
  WarmupAllOptions options;
  options.stop = &cancelled;
  options.on_progress = [&](const WarmupProgress& progress) {
    told.push_back(progress.key.key + " " + StateText(progress.key.state) + " " + std::to_string(progress.done) + "/" +
                   std::to_string(progress.total));
    EXPECT_GE(progress.seconds_left, 0);
    cancelled = true;
  };
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1}}, {{"N", 2}}, {{"N", 3}}}}}, options), "tuned, not reached, not reached");
  EXPECT_EQ(told, (std::vector<std::string>{"N=1, x:float32, y:float32 tuned 1/3",
                                            "N=2, x:float32, y:float32 not reached 2/3",
                                            "N=3, x:float32, y:float32 not reached 3/3"}));
  for (std::size_t i : {1, 2}) {
    EXPECT_ERROR(last_[i].status, StatusCode::kCancelled, "the warm-up was stopped before this key was reached");
  }
  EXPECT_EQ(policy_.store->List()->size(), 1u);
  DeviceBuffer x = Floats({1, 2});
  Result<GraphExec> graph = GraphExec::Capture(
      stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(x), 2.0f); });
  EXPECT_OK(graph);  // What was not reached has its fallback.
}

TEST_F(WarmupAllTest, AKeyThatAnotherProcessTunesComesLastAndIsWaitedForWhileThereIsTime) {
  auto store = std::make_shared<testing::BusyStore>();
  store->theirs = "N=1,";
  policy_.store = store;
  policy_.max_wait = std::chrono::milliseconds(0);
  TunedKernel kernel = Create();
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1}}, {{"N", 2}}}}}), "not reached, tuned");
  EXPECT_NE(last_[0].status.message().find("another process is tuning this key"), std::string::npos);
  policy_.max_wait = std::chrono::milliseconds(600000);
  policy_.store = store;
  TunedKernel waits = Create(scale_.Definition("waits"));
  WarmupAllOptions options;
  options.on_progress = [&](const WarmupProgress&) { store->is_theirs = false; };  // They died.
  EXPECT_EQ(Warm({{&waits, {{{"N", 1}}, {{"N", 2}}}}}, options), "tuned, tuned");
  EXPECT_EQ(observer_->begun.back(), "waits N=1, x:float32, y:float32");
  store->is_theirs = true;
  TunedKernel limited = Create(scale_.Definition("limited"));
  EXPECT_EQ(Warm({{&limited, {{{"N", 1}}}}}, Deadline(500)), "not reached") << "not max_wait_ms";
}

TEST_F(WarmupAllTest, ModesAndFreezeDecideWhatIsMadeReady) {
  policy_.search.compile.cache = MakeMemoryStore();  // It has the code of all stores of records below.
  TunedKernel maker = Create();
  EXPECT_EQ(Warm({{&maker, {{{"N", 1000}}}}}), "tuned");
  const std::vector<TunedKernel::Shape> shapes = {{{"N", 1000}}, {{"N", 2000}}};
  struct Case {
    Mode mode;
    bool is_frozen;
    const char* states;
    std::int64_t waiting;
  };
  for (const Case& c :
       {Case{Mode::kTuneOnMiss, false, "stored, tuned", 0}, Case{Mode::kTuneOnMiss, true, "fallback, fallback", 0},
        Case{Mode::kTuneDeferred, false, "stored, tuned", 0}, Case{Mode::kStoredOnly, false, "stored, fallback", 1},
        Case{Mode::kStoredOnly, true, "fallback, fallback", 0},
        Case{Mode::kFallbackOnly, false, "fallback, fallback", 0}}) {
    auto store = std::make_shared<MemoryStore>();
    ASSERT_OK(store->Put((*policy_.store->List())[0]));
    std::shared_ptr<RecordStore> kept = std::exchange(policy_.store, store);
    policy_.mode = c.mode;
    TunedKernel kernel = Create();
    if (c.is_frozen) kernel.Freeze();
    EXPECT_EQ(Warm({{&kernel, shapes}}), c.states);
    EXPECT_EQ(kernel.counters().now.pending_keys, c.waiting);
    DeviceBuffer x = Floats(std::vector<float>(2000, 1));
    Result<GraphExec> graph = GraphExec::Capture(
        stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(x), 2.0f); });
    EXPECT_OK(graph);
    policy_.store = kept;
  }
}

TEST_F(WarmupAllTest, KernelsThatShareASelectionAreTunedOnceAndTheOtherCompilesThatAlone) {
  policy_.selection_group = "both";
  // However noisy the times are, what one kernel chose is not slower in the other.
  policy_.search.baseline_margin = 100;
  TunedKernel forward = Create(scale_.Definition("forward")), backward = Create(scale_.Definition("backward"));
  EXPECT_EQ(Warm({{&forward, {{{"N", 1000}}}}, {&backward, {{{"N", 1000}}}}}), "tuned, stored");
  EXPECT_EQ(backward.counters().tunes, 0);
}

TEST_F(WarmupAllTest, AStoreThatIsFullLosesNoSelection) {
  auto store = std::make_shared<testing::BusyStore>();
  store->is_theirs = false;
  store->is_full = true;
  policy_.store = store;
  TunedKernel kernel = Create();
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1}}, {{"N", 2}}}}}), "tuned, tuned");
  Launch(kernel, 2);
  EXPECT_EQ(kernel.counters().hits, 1);
}

TEST_F(WarmupAllTest, OnTheCpuDeviceAllIsCompiledOnceBeforeAnythingIsMeasured) {
  TunedKernel a = Create(), b = Create(Bucketed());
  std::size_t at_begin = 0;
  observer_->on_begin = [&] {
    if (at_begin == 0) at_begin = compiler_->compiled().size();
  };
  EXPECT_EQ(Warm({{&a, {{{"N", 1000}}, {{"N", 2000}}}}, {&b, {{{"N", 1000}}}}}), "tuned, tuned, tuned");
  // Kernels of the same source share their code.
  EXPECT_EQ(at_begin, 4u);
  EXPECT_EQ(compiler_->compiled().size(), 4u);
}

TEST_F(WarmupAllTest, FallbacksAreCompiledFirstAndMuchLongerSourcesBeforeOthersUnlessTimeIsLimited) {
  auto order = [&](std::chrono::milliseconds total_timeout) {
    auto compiler = std::make_shared<WatchedToolchain>();
    const std::shared_ptr<Runtime> runtime = testing::RuntimeWith(compiler, 1);
    auto job = [](int number, std::size_t length) {
      CompileJob made;
      made.alternatives = {{KernelSource::CpuCpp(std::string(length, ' '), "x").Define("JOB", number), {}}};
      return made;
    };
    CompileAhead ahead;
    ahead.Add(runtime, {job(1, 10), {job(11, 10), job(12, 46), job(13, 10)}});
    ahead.Add(runtime, {});
    ahead.Add(runtime, {job(2, 15), {job(21, 10), job(11, 10), job(12, 46), job(22, 60)}});
    ahead.Add(runtime, {{}, {job(31, 10), job(32, 12)}});
    CompileOptions compile;
    compile.total_timeout = total_timeout;
    ahead.Start(Target::Of(*device_->Identity()), compile);
    ahead.Wait(nullptr);
    std::string numbers;
    for (const std::string& defines : compiler->compiled()) {
      const std::size_t begin = defines.find("JOB=") + 4;
      numbers += defines.substr(begin, defines.find(' ', begin) - begin) + " ";
    }
    return numbers;
  };
  // The mean of the seven candidates is 22.6. If 11 and 12 counted twice, it would be 23.8, and 46 not twice as long.
  EXPECT_EQ(order({}), "1 2 22 12 11 13 21 31 32 ");
  EXPECT_EQ(order(std::chrono::minutes(1)), "1 2 11 12 13 21 22 31 32 ") << "the first keys get all";
}

TEST_F(WarmupAllTest, CompilesAheadTellWhetherAKeysCandidatesAreDone) {
  const std::shared_ptr<Runtime> runtime = testing::RuntimeWith(compiler_);
  const std::vector<Config> configs = *scale_.space.Enumerate(Target::Of(*device_->Identity()));
  auto job = [&](std::size_t config) {
    CompileJob made;
    made.alternatives = {{scale_.Source()(configs[config], Problem()), {}}};
    made.cache = policy_.store;
    return made;
  };
  CompileAhead ahead;
  const std::size_t none = ahead.Add(runtime, {});
  const std::size_t no_fallback = ahead.Add(runtime, {{}, {job(0), job(1)}});
  const std::size_t no_candidates = ahead.Add(runtime, {job(1), {}});
  const std::size_t both = ahead.Add(runtime, {job(1), {job(2), job(0)}});
  EXPECT_TRUE(ahead.AreCandidatesDone(none));
  EXPECT_FALSE(ahead.AreCandidatesDone(no_fallback));
  EXPECT_TRUE(ahead.AreCandidatesDone(no_candidates));
  EXPECT_FALSE(ahead.AreCandidatesDone(both));
  ahead.Start(Target::Of(*device_->Identity()), CompileOptions());
  for (std::size_t key : {no_fallback, both}) {
    for (int i = 0; i < 10000 && !ahead.AreCandidatesDone(key); ++i, ahead.Update()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(ahead.AreCandidatesDone(key));
  }
  EXPECT_EQ(compiler_->compiled().size(), 3u);
  ahead.Wait(nullptr);
}

TEST_F(WarmupAllTest, WhatIsCompiledAheadWhileASearchRunsIsNotCompiledTwice) {
  CompileAhead ahead;
  std::vector<CompileJob> jobs;
  const Target target = Target::Of(*device_->Identity());
  const std::vector<Config> configs = *scale_.space.Enumerate(target);
  for (const Config& config : configs) {
    jobs.emplace_back();
    jobs.back().alternatives = {{scale_.Source()(config, Problem()), {}}};
    jobs.back().cache = policy_.store;
  }
  ahead.Add(policy_.search.runtime, {{}, std::move(jobs)});
  ahead.Start(target, CompileOptions());
  TunedKernel kernel = Create();  // As on a GPU: it does not wait for all of it.
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  ahead.Wait(nullptr);
  EXPECT_EQ(compiler_->compiled().size(), configs.size());
}

TEST_F(WarmupAllTest, AKeyWhoseTensorsFindNoMemoryFailsAndTheNextIsTuned) {
  Result<std::unique_ptr<FaultInjection>> faults = FaultInjection::Create(api());
  ASSERT_OK(faults);
  TunedKernel kernel = *TunedKernelOn::Create(*Device::Get((*faults)->api(), 0), scale_.Definition(), policy_);
  ASSERT_OK((*faults)->Plan({"MemAllocAsync", 1, CUDA_ERROR_OUT_OF_MEMORY, 0}));
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1}}, {{"N", 2}}}}}), "failed, tuned");
  EXPECT_EQ(last_[0].status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Warm({{&kernel, {{{"N", 1}}}}}), "tuned") << "it is tried again";
}

TEST(WarmupShareTest, TheTimeLeftIsSharedOutEvenly) {
  using std::chrono::milliseconds;
  EXPECT_EQ(ShareOf(milliseconds(900), 3), milliseconds(300));
  EXPECT_EQ(ShareOf(milliseconds(900), 1), milliseconds(900));
  EXPECT_EQ(ShareOf(milliseconds(-5), 2), milliseconds(0));
  EXPECT_EQ(ShareOf(std::chrono::hours(24 * 365 * 200), 1), milliseconds(2147483647)) << "fits an int";
}

TEST_F(WarmupAllTest, ThreadsThatWarmTheSameKeysTuneEachOnce) {
  TunedKernel a = Create(scale_.Definition("a")), b = Create(scale_.Definition("b"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      ScopedContext current(context_->view());
      Stream stream = *Stream::Create(api());
      std::vector<KernelShapes> kernels = {{&a, {{{"N", 10}}, {{"N", 20}}}}, {&b, {{{"N", 10}}}}};
      if (t == 1) std::swap(kernels[0], kernels[1]);
      Result<std::vector<WarmedKey>> warmed = WarmupAll(stream.get(), kernels);
      EXPECT_OK(warmed);
      for (const WarmedKey& key : *warmed) EXPECT_OK(key.status);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(a.counters().tunes, 2);
  EXPECT_EQ(b.counters().tunes, 1);
}

TEST(WarmupAllOnTwoDevicesTest, EachDeviceIsWarmedByACallInItsContext) {
  std::shared_ptr<Runtime> runtime = testing::RuntimeIn({{"TUNEONCE_CPU_DEVICES", "2"}});
  AutotunePolicy policy;
  policy.search.runtime = runtime;
  policy.search.max_rounds = 1;
  policy.store = std::make_shared<MemoryStore>();
  std::vector<Device> devices;
  for (const char* name : {"cpu:0", "cpu:1"}) {
    Result<Device> device = runtime->OpenDevice(name);
    ASSERT_OK(device);
    devices.push_back(*device);
  }
  TunedKernel kernel = *TunedKernelOn::Create(devices[0], testing::ScaleKernel().Definition(), policy);
  std::atomic<int> searched{0};
  std::vector<std::thread> threads;
  for (const Device& device : devices) {
    threads.emplace_back([&] {
      Context context = *Context::RetainPrimary(device);
      ScopedContext current(context.view());
      Stream stream = *Stream::Create(device.api());
      Result<std::vector<WarmedKey>> warmed = WarmupAll(stream.get(), {{&kernel, {{{"N", 100}}, {{"N", 200}}}}});
      ASSERT_OK(warmed);
      for (const WarmedKey& key : *warmed) {
        EXPECT_OK(key.status);
        searched += key.state == State::kTuned ? 1 : 0;
      }
      DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), 400);
      EXPECT_TRUE(*kernel.IsReady({View(x), View(x), 2.0f}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  // They are of one kind, so that one's record may have served the other.
  EXPECT_EQ(kernel.counters().tunes, searched);
  EXPECT_EQ(kernel.counters().tunes + kernel.counters().stored_hits, 4);
}

}  // namespace
}  // namespace tuneonce
