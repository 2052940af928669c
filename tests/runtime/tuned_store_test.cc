// TunedKernel and what it remembers on disk; Warmup and Freeze; failed tunes.
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "base/process.h"
#include "base/temporary_folder.h"
#include "runtime/tuned_kernel_on.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/fault_injection.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

std::shared_ptr<SqliteStore> OpenStore(const std::string& path,
                                       int busy_timeout_ms = SqliteStoreOptions().busy_timeout.count()) {
  SqliteStoreOptions options;
  options.path = path;
  options.busy_timeout = std::chrono::milliseconds(busy_timeout_ms);
  Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
  EXPECT_OK(store);
  return store.ok() ? *store : nullptr;
}

class TunedStoreTest : public testing::CpuDeviceTest {
 protected:
  struct Listener : AutotuneObserver {
    void OnWarning(const std::string& line) override { warnings.push_back(line); }
    std::vector<std::string> warnings;
  };

  TunedStoreTest() : folder_(*testing::MakeFolder()) { policy_.observer = observer_; }
  TunedKernel Create() {
    Result<TunedKernel> kernel = TunedKernel::Create(scale_.Definition(), policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  Status Launch(TunedKernel& kernel, int n) {
    DeviceBuffer x = Floats(std::vector<float>(static_cast<std::size_t>(n), 3));
    DeviceBuffer y = Floats(std::vector<float>(static_cast<std::size_t>(n), 0));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(static_cast<std::size_t>(n), 6));
    return Status();
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/cache/store.db";
  testing::ScaleKernel scale_;
  AutotunePolicy policy_;
  std::shared_ptr<Listener> observer_ = std::make_shared<Listener>();
  std::vector<std::string>& warnings_ = observer_->warnings;
};

TEST_F(TunedStoreTest, ARestartServesWithoutASearchAndWithoutACompiler) {
  policy_.store = OpenStore(path_);
  {
    TunedKernel kernel = Create();
    ASSERT_OK(Launch(kernel, 1000));
    EXPECT_EQ(kernel.counters().tunes, 1);
    EXPECT_GT(kernel.counters().tuning_seconds, 0);
  }
  TuningRecord record = (*policy_.store->List())[0];
  EXPECT_EQ(record.baseline->config.ToString(), "TILE=64, WORK=100");
  EXPECT_EQ(record.timer, "events");
  EXPECT_NE(record.best.artifact, Fingerprint());
  EXPECT_FALSE(record.host.empty());
  policy_.store = OpenStore(path_);
  policy_.search.runtime = testing::RuntimeIn({{"TUNEONCE_CXX", "/nowhere/c++"}});
  TunedKernel again = Create();
  Status launched = Launch(again, 1000);
  Status other = Launch(again, 1001);
  EXPECT_OK(launched);
  EXPECT_EQ(again.counters().stored_hits, 1);
  EXPECT_EQ(again.counters().tunes, 1) << "the other key's, which cannot be compiled";
  EXPECT_ERROR(other, StatusCode::kUnavailable, "/nowhere/c++");
  EXPECT_TRUE(warnings_.empty());
}

/// Two configs that print alike with six digits: the first is slow, the second launches four times the blocks.
KernelDefinition PrintsAlike() {
  SearchSpace space;
  Axis<double> alpha = space.AddDoubleAxis("ALPHA", {0.12345671, 0.12345672});
  KernelDefinition definition("prints_alike");
  definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N")})
      .Space(space)
      .AddVariant(Variant([alpha](const Config& config, const Problem&) {
                    bool is_first = config[alpha] == 0.12345671;
                    return KernelSource::CpuCpp(testing::kScaleSource, "scale")
                        .Define("TILE", std::int64_t{is_first ? 256 : 64})
                        .Define("WORK", std::int64_t{is_first ? 100 : 1});
                  }).Grid([alpha](const Config& config, const Problem& problem) {
        Geometry geometry;
        std::int64_t tile = config[alpha] == 0.12345671 ? 256 : 64;
        geometry.grid.x = (problem.dims[Dim{0}] + tile - 1) / tile;
        return geometry;
      }));
  return definition;
}

TEST_F(TunedStoreTest, ARecordServesTheConfigThatWasTunedThoughAnotherPrintsAlike) {
  policy_.store = OpenStore(path_);
  for (int restart = 0; restart < 2; ++restart) {
    Result<TunedKernel> kernel = TunedKernel::Create(PrintsAlike(), policy_);
    ASSERT_OK(kernel);
    ASSERT_OK(Launch(*kernel, 1000));  // Also checks the output: of the wrong grid, a quarter.
    EXPECT_EQ(kernel->counters().stored_hits, restart);
  }
}

TEST_F(TunedStoreTest, AStoreAloneServesWhereNoCompilerIs) {
  policy_.store = OpenStore(path_);
  {
    TunedKernel kernel = Create();
    ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  }
  policy_.store = OpenStore(path_);
  policy_.search.runtime = testing::RuntimeIn({{"TUNEONCE_CXX", "/nowhere/c++"}});
  TunedKernel kernel = Create();
  Status warm = kernel.Warmup(stream_->get(), {{{"N", 1000}}});
  EXPECT_OK(warm);  // The winner and the baseline, which a capture or a frozen kernel needs.
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(TunedStoreTest, CodeIsLoadedOnceForAllKeysThatRunIt) {
  Result<std::unique_ptr<FaultInjection>> counted = FaultInjection::Create(api());
  ASSERT_OK(counted);
  Result<Device> device = Device::Get((*counted)->api(), 0);
  ASSERT_OK(device);
  testing::WorkTimer timer;
  policy_.search.timer = &timer;
  policy_.store = std::make_shared<MemoryStore>();
  const std::vector<TunedKernel::Shape> shapes = {{{"N", 1000}}, {{"N", 2000}}, {{"N", 3000}}};
  auto loads_of_warmup = [&](std::shared_ptr<RankGroup> group) {
    policy_.ranks.group = std::move(group);
    Result<TunedKernel> kernel = TunedKernelOn::Create(*device, scale_.Definition(), policy_);
    EXPECT_OK(kernel);
    (*counted)->Clear();
    EXPECT_OK(kernel->Warmup(stream_->get(), shapes));
    return (*counted)->CallCount("LibraryLoadData");
  };
  const std::int64_t by_searches = loads_of_warmup(nullptr);
  EXPECT_GE(by_searches, 4 * 3) << "each search loads each config";
  const std::vector<TuningRecord> records = *policy_.store->List();
  std::set<std::string> selected;
  for (const TuningRecord& record : records) {
    selected.insert(record.best.config.ToString());
    selected.insert(record.baseline->config.ToString());
  }
  const auto num_selected = static_cast<std::int64_t>(selected.size());
  EXPECT_EQ(loads_of_warmup(nullptr), num_selected);
  EXPECT_EQ(loads_of_warmup(MakeThreadRanks(1).front()), num_selected);
  for (const TuningRecord& record : records) EXPECT_OK(policy_.store->Remove(record.key));
  EXPECT_EQ(loads_of_warmup(MakeThreadRanks(1).front()), by_searches) << "what a search loaded is not loaded again";
  policy_.search.compile.cache = MakeMemoryStore();  // Code apart from records.
  for (const TuningRecord& record : records) EXPECT_OK(policy_.store->Remove(record.key));
  EXPECT_EQ(loads_of_warmup(nullptr), by_searches);
  policy_.search.runtime = testing::RuntimeIn({{"TUNEONCE_CXX", "/nowhere/c++"}});
  EXPECT_EQ(loads_of_warmup(nullptr), num_selected) << "without a compiler";
}

/// Ends the compiles once the first of them is done. The second one takes longer than any measurement.
struct CutShort {
  explicit CutShort(AutotunePolicy* policy) : folder(*testing::MakeFolder()) {
    const std::string once = folder.path() + "/once";
    const std::string compiler =
        *folder.WriteFile("c++", "#!/bin/sh\ncase \"$*\" in *' -o '*) if [ -e " + once +
                                     " ]; then sleep 60; fi; touch " + once + ";; esac\nexec c++ \"$@\"\n");
    EXPECT_EQ(chmod(compiler.c_str(), 0700), 0);
    policy->search.runtime = testing::RuntimeIn({{"TUNEONCE_CXX", compiler}});
    policy->search.compile.cache = MakeMemoryStore();  // Nothing is compiled already.
    policy->search.compile.num_workers = 1;
    policy->search.compile.stop = &cancelled;
    policy->search.on_progress = [this](const SearchProgress&) { cancelled = true; };
  }
  TemporaryFolder folder;
  std::atomic<bool> cancelled{false};
};

TEST_F(TunedStoreTest, WhatASearchThatWasCutShortLeftIsTunedAgain) {
  auto store = std::make_shared<MemoryStore>();
  policy_.store = store;
  AutotunePolicy whole = policy_;
  CutShort cut(&policy_);
  TunedKernel first = Create();
  ASSERT_OK(Launch(first, 1000));
  EXPECT_EQ(first.counters().tunes, 1);
  EXPECT_FALSE((*store->List())[0].is_conclusive);
  policy_ = whole;
  TunedKernel second = Create();
  ASSERT_OK(Launch(second, 1000));
  EXPECT_EQ(second.counters().tunes, 0) << "what was left serves";
  ASSERT_OK(second.TunePending(stream_->get()));
  EXPECT_EQ(second.counters().tunes, 1) << "there is time now";
  TunedKernel third = Create();
  ASSERT_OK(Launch(third, 1000));
  EXPECT_EQ(third.counters().tunes, 0) << "the record is complete now";
}

TEST_F(TunedStoreTest, AnIncompleteRecordServesUntilItIsContinuedAndTheOneThatMeasuredMoreIsKept) {
  std::shared_ptr<SqliteStore> store = OpenStore(path_);  // With artifacts: what is served need not be compiled.
  policy_.store = store;
  const AutotunePolicy whole = policy_;
  ASSERT_OK(Launch(*std::make_unique<TunedKernel>(Create()), 1000));
  TuningRecord incomplete = (*store->List())[0];
  EXPECT_TRUE(incomplete.is_complete);
  EXPECT_EQ(incomplete.candidates.size(), 4u) << "each of the space";
  incomplete.is_complete = incomplete.is_conclusive = false;
  auto put = [&](int num_not_measured) {
    TuningRecord left = incomplete;
    left.num_not_measured = num_not_measured;
    // The baseline, which each search measures, comes first, and the last ones are missing.
    std::stable_partition(left.candidates.begin(), left.candidates.end(), [&](const CandidateOutcome& candidate) {
      return candidate.config.IsSame(incomplete.baseline->config);
    });
    left.candidates.resize(4 - static_cast<std::size_t>(num_not_measured));
    EXPECT_OK(store->Put(left));
  };
  auto launch = [&](std::int64_t expected_tunes, std::int64_t expected_stored) {
    TunedKernel kernel = Create();
    EXPECT_OK(Launch(kernel, 1000));
    if (expected_tunes > 0) {
      EXPECT_OK(kernel.TunePending(stream_->get()));
    }
    EXPECT_EQ(kernel.counters().tunes, expected_tunes);
    EXPECT_EQ(kernel.counters().stored_hits, expected_stored);
    return (*store->List())[0];
  };
  put(1);
  EXPECT_FALSE(launch(0, 1).is_complete);
  {
    CutShort cut(&policy_);
    EXPECT_EQ(launch(1, 1).num_not_measured, 1) << "this one measured no more";
  }
  put(4);
  {
    CutShort cut(&policy_);
    TuningRecord record = launch(1, 1);
    EXPECT_LT(record.num_not_measured, 4) << "and this one more";
    EXPECT_GT(record.num_not_measured, 0);
    EXPECT_EQ(record.candidates.size() + static_cast<std::size_t>(record.num_not_measured), 4u);
  }
  put(1);
  {
    CutShort cut(&policy_);
    cut.cancelled = true;  // Nothing is measured at all: what was left before serves.
    EXPECT_FALSE(launch(1, 1).is_complete);
  }
  incomplete.is_pinned = true;
  put(1);
  policy_ = whole;
  EXPECT_TRUE(launch(0, 1).is_pinned) << "a person's selection is served as it is";
}

TEST_F(TunedStoreTest, ARecordWhoseArtifactIsGoneIsCompiledNotSearched) {
  policy_.store = OpenStore(path_);
  {
    TunedKernel kernel = Create();
    ASSERT_OK(Launch(kernel, 1000));
  }
  TuningRecord record = (*policy_.store->List())[0];
  auto memory = std::make_shared<MemoryStore>();  // Has the record, and no artifacts.
  ASSERT_OK(memory->Put(record));
  policy_.store = memory;
  TunedKernel kernel = Create();
  ASSERT_OK(Launch(kernel, 1000));
  EXPECT_EQ(kernel.counters().stored_hits, 1);
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(TunedStoreTest, PolicySaysWhichMatchesServe) {
  auto store = std::make_shared<MemoryStore>();
  policy_.store = store;
  {
    TunedKernel kernel = Create();
    ASSERT_OK(Launch(kernel, 1000));
  }
  TuningRecord original = (*store->List())[0];
  struct Case {
    RecordMatch weakest;
    bool other_driver;
    bool other_device;
    int expected_tunes;
  };
  for (const Case& c :
       {Case{RecordMatch::kExact, true, false, 1}, Case{RecordMatch::kOtherDriver, true, false, 0},
        Case{RecordMatch::kOtherDriver, false, true, 1}, Case{RecordMatch::kOtherDevice, false, true, 0}}) {
    auto other = std::make_shared<MemoryStore>();
    TuningRecord record = original;
    if (c.other_driver) record.key.driver_version -= 10;
    if (c.other_device) record.key.device_name = "another";
    ASSERT_OK(other->Put(record));
    policy_.store = other;
    policy_.min_match = c.weakest;
    TunedKernel kernel = Create();
    ASSERT_OK(Launch(kernel, 1000));
    EXPECT_EQ(kernel.counters().tunes, c.expected_tunes) << c.other_driver << c.other_device;
  }
}

TEST_F(TunedStoreTest, ASelectionThatNoSearchVerifiedIsComparedBeforeItServes) {
  const std::shared_ptr<RecordStore> store = policy_.store = OpenStore(path_);
  TunedKernel first = Create();
  ASSERT_OK(Launch(first, 1000));
  TuningRecord record = store->List()->front();
  const Config selected = record.best.config;
  record.verification = Verification();  // As `records dispatch` leaves it.
  ASSERT_OK(store->Put(record));
  policy_.mode = AutotunePolicy::Mode::kStoredOnly;
  TunedKernel stored_only = Create();
  ASSERT_OK(Launch(stored_only, 1000));
  EXPECT_EQ(stored_only.counters().stored_hits, 0);
  EXPECT_EQ(stored_only.counters().fallbacks, 1);
  policy_.mode = AutotunePolicy::Mode::kTuneOnMiss;
  TunedKernel compared = Create();
  ASSERT_OK(Launch(compared, 1000));
  EXPECT_EQ(compared.counters().tunes, 0) << "it is not searched for";
  EXPECT_EQ(compared.counters().stored_hits, 1);
  record = store->List()->front();
  EXPECT_TRUE(record.best.config.IsSame(selected));
  EXPECT_EQ(record.verification.level, Verification::Level::kReference);
}

TEST_F(TunedStoreTest, AConfigThatIsGoneMeansANewSearch) {
  auto store = std::make_shared<MemoryStore>();
  policy_.store = store;
  {
    TunedKernel kernel = Create();
    ASSERT_OK(Launch(kernel, 1000));
  }
  TuningRecord record = (*store->List())[0];
  record.best.config = Config::Of({{"TILE", AxisKind::kStructural, std::int64_t{12345}}});
  ASSERT_OK(store->Put(record));
  TunedKernel kernel = Create();
  ASSERT_OK(Launch(kernel, 1000));
  EXPECT_EQ(kernel.counters().tunes, 1);
}

/// A store that fails whatever record it is asked for.
class BrokenStore final : public ForwardingStore {
 public:
  BrokenStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<RecordLookup> Lookup(const TuningKey&) const override { return UnavailableError("lookup broke"); }
  Status Put(const TuningRecord&) override { return UnavailableError("put broke"); }
  Result<std::vector<TuningRecord>> List() const override { return UnavailableError("list broke"); }
  Status Remove(const TuningKey&) override { return UnavailableError("remove broke"); }
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits&) override { return UnavailableError("lease broke"); }
};

TEST_F(TunedStoreTest, ABrokenStoreIsAWarningAndTuningGoesOn) {
  policy_.store = std::make_shared<BrokenStore>();
  TunedKernel kernel = Create();
  ASSERT_OK(Launch(kernel, 1000));
  ASSERT_OK(Launch(kernel, 1000));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(warnings_, (std::vector<std::string>{
                           "kernel 'scale': lookup broke; tuning continues without the store",
                           "kernel 'scale': lease broke; this process tunes the key at the same time as others",
                           "kernel 'scale': put broke; the selection is kept for this process only"}));
}

TEST_F(TunedStoreTest, AStoreThatIsLockedIsSaidOnceAndKernelsGoOnFromMemory) {
  SqliteStoreOptions options;
  options.path = path_;
  options.first_retry = std::chrono::milliseconds(0);  // Tried again by each call.
  options.busy_timeout = std::chrono::milliseconds(5);
  policy_.store = *SqliteStore::Open(options);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  {
    TunedKernel first = Create();
    for (int n : {1000, 1001, 1002}) ASSERT_OK(Launch(first, n));
    EXPECT_EQ(first.counters().tunes, 3);
    TunedKernel second = Create();
    ASSERT_OK(Launch(second, 1000));
    EXPECT_EQ(second.counters().tunes, 0) << "the first one's selection is remembered in memory";
  }
  ASSERT_EQ(warnings_.size(), 1u) << warnings_.back();
  EXPECT_NE(warnings_[0].find("is locked by another process: records are kept in memory"), std::string::npos);
  sqlite3_close(other);
  TunedKernel third = Create();
  ASSERT_OK(Launch(third, 1003));
  EXPECT_EQ(OpenStore(path_)->List()->size(), 4u) << "all are written once that is possible";
}

TEST_F(TunedStoreTest, UnderAProfilerNothingIsStored) {
  policy_.store = std::make_shared<MemoryStore>();
  policy_.search.runtime = testing::RuntimeIn({{"CUDA_INJECTION64_PATH", "/opt/nsys/libinjection.so"}});
  TunedKernel kernel = Create();
  Status launched = Launch(kernel, 1000);
  policy_.store_under_profiler = true;
  TunedKernel storing = Create();
  Status second = Launch(storing, 1001);
  ASSERT_OK(launched);
  ASSERT_OK(second);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("tuned under a profiler (/opt/nsys/libinjection.so)"), std::string::npos);
  EXPECT_EQ(policy_.store->List()->size(), 1u);
}

TEST_F(TunedStoreTest, WarmupMakesShapesReadyAndAFrozenMissFallsBack) {
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel kernel = Create();
  std::vector<std::size_t> done;
  auto on_done = [&](std::size_t count, const Status& outcome) {
    EXPECT_OK(outcome);
    done.push_back(count);
    throw 1;  // A display must not end a warm-up.
  };
  EXPECT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}, {{"N", 2000}}}, on_done));
  EXPECT_EQ(done, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(kernel.counters().tunes, 2);
  kernel.Freeze();
  ASSERT_OK(Launch(kernel, 1000));
  ASSERT_OK(Launch(kernel, 2000));
  EXPECT_EQ(kernel.counters().fallbacks, 0);
  ASSERT_OK(Launch(kernel, 3000));
  ASSERT_OK(Launch(kernel, 3000));
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().frozen_misses, 2);
  EXPECT_EQ(kernel.counters().fallbacks, 2);
  EXPECT_EQ(kernel.frozen_misses(), std::vector<std::string>{"N=3000, x:float32, y:float32"});
}

TEST_F(TunedStoreTest, WarmupSaysWhatIsWrongWithAShape) {
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel kernel = Create();
  const struct {
    TunedKernel::Shape shape;
    std::string message;
  } kCases[] = {
      {{{"N", 1}, {"M", 2}},
       "kernel 'scale', warm-up: invalid shape: 'M' is unknown: the kernel has dims N, scalars factor, tensors x, y"},
      {{{"N", 1}, {"N", 1}}, "invalid shape: 'N' is given twice"},
      {{}, "invalid shape: no value for the dim 'N'"},
      {{{"M", 1}, {"w", kInt8}, {"factor", kFloat32}, {"x", 3}, {"x", kInt8}},
       "invalid shape: scalar 'factor' cannot be float32: it is a float32; 'x' is a tensor, which takes a dtype, not "
       "3; 'x' "
       "is "
       "given twice; no value for the dim 'N'; 'M', 'w' are unknown"},
      {{{"N", -1}}, "dim N is -1"},
      {{{"N", 1.5}}, "dim N is 1.5"},
      {{{"N", 2.0}}, "dim N is 2.0"},
      {{{"N", 1e20}}, "dim N is 1e+20"},
      {{{"N", kFloat32}}, "dim N is float32"},
      {{{"N", 8}, {"x", kInt8}}, "parameter 'x' needs a dtype, which must be float32"},
  };
  for (const auto& [shape, message] : kCases) {
    EXPECT_ERROR(kernel.Warmup(stream_->get(), {shape}), StatusCode::kInvalidArgument, message);
  }
  EXPECT_ERROR(kernel.Warmup(stream_->get(), {{{"N", -1}}, {{"N", 1000}}}), StatusCode::kInvalidArgument,
               "dim N is -1");
  EXPECT_EQ(kernel.counters().tunes, 1) << "the others are warmed all the same";
}

TEST_F(TunedStoreTest, AWarmCaptureMissTakesTheFallback) {
  policy_.store = std::make_shared<MemoryStore>();
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 1000}}}));
  DeviceBuffer x = Floats(std::vector<float>(1000, 3));
  DeviceBuffer y = Floats(std::vector<float>(1000, 0));
  Result<GraphExec> graph = GraphExec::Capture(
      stream_->view(), [&](CUstream stream) { return kernel.Launch(stream, View(x), View(y), 2.0f); });
  ASSERT_OK(graph);
  // A graph replayed after more keys were tuned.
  for (int n = 1; n <= 20; ++n) ASSERT_OK(Launch(kernel, 1000 + n));
  ASSERT_OK(graph->Launch(stream_->get()));
  EXPECT_EQ(Read(y), std::vector<float>(1000, 6));
}

TEST_F(TunedStoreTest, AFailedTuneIsReportedOnceAndNotTriedAgain) {
  policy_.store = std::make_shared<MemoryStore>();
  SearchSpace space;
  IntAxis bad = space.AddAxis("BAD", {1});
  KernelDefinition definition = scale_.Definition();
  definition.Space(space);
  int compiles = 0;
  KernelDefinition failing("failing");
  failing.DimsInOrder({"N"})
      .Parameters(definition.parameters())
      .Space(space)
      .AddVariant(Variant([&compiles](const Config&, const Problem&) {
                    ++compiles;
                    return KernelSource::CpuCpp("no C++", "k");
                  }).Grid(Grid::Fixed(1)));
  (void)bad;
  Result<TunedKernel> kernel = TunedKernel::Create(failing, policy_);
  ASSERT_OK(kernel);
  EXPECT_ERROR(Launch(*kernel, 1000), StatusCode::kInternal, "all 1 candidates failed");
  EXPECT_ERROR(Launch(*kernel, 1000), StatusCode::kInternal, "all 1 candidates failed");
  EXPECT_EQ(kernel->counters().tunes, 1) << "the second launch does not search again";
  EXPECT_EQ(kernel->counters().failed_tunes, 1);
}

TEST_F(TunedStoreTest, InTheBackgroundOthersTakeTheBaselineWhileOneTunes) {
  policy_.store = std::make_shared<MemoryStore>();
  policy_.mode = AutotunePolicy::Mode::kTuneDeferred;
  std::atomic<bool> tuning{false};
  std::atomic<bool> go_on{false};
  policy_.search.on_progress = [&](const SearchProgress&) {
    tuning = true;
    while (!go_on) std::this_thread::yield();
  };
  TunedKernel kernel = Create();
  std::thread tuner([&] {
    ScopedContext current(context_->view());
    Stream stream = *Stream::Create(api());
    EXPECT_OK(kernel.Warmup(stream.get(), {{{"N", 1000}}}));
  });
  while (!tuning) std::this_thread::yield();
  EXPECT_OK(Launch(kernel, 1000));
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  EXPECT_EQ(kernel.counters().waits, 0);
  go_on = true;
  tuner.join();
  EXPECT_OK(Launch(kernel, 1000));
  EXPECT_EQ(kernel.counters().fallbacks, 1) << "tuned by now";
  EXPECT_EQ(kernel.counters().tunes, 1);
}

/// Who finds the file locked for longer than busy_timeout_ms goes on without it, and tunes beside others, as it should:
/// of 64 processes that open it at once on a busy machine some would.
constexpr int kLongerThanTheTestMs = 600000;

/// What each process of the next test does: the store's path comes in the environment.
TEST_F(TunedStoreTest, DISABLED_TunesAsAChild) {
  policy_.store = OpenStore(std::getenv("TUNEONCE_TEST_STORE"), kLongerThanTheTestMs);
  policy_.max_wait = std::chrono::milliseconds(kLongerThanTheTestMs);
  TunedKernel kernel = Create();
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 5000}}}));
  std::printf("tunes=%d\n", static_cast<int>(kernel.counters().tunes));
  for (const std::string& warning : warnings_) std::printf("%s\n", warning.c_str());
}

TEST_F(TunedStoreTest, ManyProcessesAskingForOneKeyTuneOnce) {
  std::atomic<int> tunes{0};
  std::mutex mutex;
  std::string said_by_tuners;
  std::vector<std::thread> threads;
  constexpr int kProcesses = 64;
  for (int i = 0; i < kProcesses; ++i) {
    threads.emplace_back([&] {
      ProcessOptions options;
      options.arguments = {"/proc/self/exe", "--gtest_filter=*TunesAsAChild", "--gtest_also_run_disabled_tests"};
      options.arguments[0] = std::filesystem::read_symlink("/proc/self/exe");
      options.environment = {"TUNEONCE_TEST_STORE=" + path_, "PATH=" + Environment::Read().path};
      Result<ProcessResult> child = RunProcess(options);
      ASSERT_OK(child);
      EXPECT_EQ(child->exit_code, 0) << child->output;
      std::size_t said = child->output.find("tunes=");
      ASSERT_NE(said, std::string::npos) << child->output;
      int of_child = child->output[said + 6] - '0';
      tunes += of_child;
      std::lock_guard<std::mutex> lock(mutex);
      if (of_child != 0) said_by_tuners += child->output;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tunes, 1) << said_by_tuners;
  Result<std::vector<TuningRecord>> records = OpenStore(path_, kLongerThanTheTestMs)->List();
  ASSERT_OK(records);
  EXPECT_EQ(records->size(), 1u);
}

}  // namespace
}  // namespace tuneonce
