// Kernels that reach their tensors by tables of pointers in searches that ranks share out: each rank tries its
// candidates on the tensors of its own tables.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "testing/pointed_group.h"
#include "testing/sharing_ranks.h"
#include "testing/work_timer.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/progress.h"

namespace tuneonce::testing {
namespace {

constexpr int kCandidates = 60;
constexpr std::array<const char*, 3> kFailures = {"", "out of bounds: it wrote behind 'y' (tensor 1)",
                                                  "wrong result: output 'y' (tensor 2): 1 of "};

bool IsRight(std::int64_t candidate) { return candidate % 3 == 0; }

/// y_g = 2 x_g for rows[g] rows. A third of the candidates is right; one writes behind a tensor of the table, one
/// computes an element of another wrongly.
KernelDefinition Tables(WorkLedger* ledger) {
  SearchSpace space;
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < kCandidates; ++i) numbers.push_back(i);
  IntAxis candidate = space.AddAxis("CANDIDATE", numbers);
  space.MaxConfigs(kCandidates);
  space.SetBaseline({{candidate, 0}});
  const std::string source = R"(
static void tables(const tuneonce_block&, float* const* x, const int* rows, float* const* y, int groups, int candidate,
                   long ledger) {
  for (int g = 0; g < groups; ++g) {
    const int count = 4 * rows[g];
    for (int i = 0; i < count; ++i) y[g][i] = 2 * x[g][i];
    if (candidate % 3 == 1 && g == 1) y[g][count] = 8;
    if (candidate % 3 == 2 && g == 2) y[g][1] += 1;
  }
  long* counts = reinterpret_cast<long*>(ledger);
  __atomic_fetch_add(counts, candidate == 0 ? 2000 : candidate == 33 ? 1000 : 1500 + candidate, __ATOMIC_RELAXED);
  __atomic_fetch_add(counts + 1 + candidate, 1, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(tables);)";
  KernelDefinition definition("tables");
  definition
      .Parameters(
          {In("x", kFloat32, {"G", "M", "N"}).ByPointers({"M"}),
           In("rows", kInt32, {"G"}).ForWarmup(WarmupFill::Constant("M")),
           Out("y", kFloat32, {"G", "M", "N"}).ByPointers({"M"}), DimValue("G"),
           Derived("candidate", [=](const Config& c, const Problem&) { return static_cast<int>(c[candidate]); }),
           OfRank("ledger", [=](const Config&) { return reinterpret_cast<std::int64_t>(ledger); })})
      .Space(space)
      .AddVariant(Variant([=](const Config& c, const Problem&) {
                    return KernelSource::CpuCpp(source, "tables").Define("CANDIDATE", c[candidate]);
                  }).Grid(Grid::Fixed(1)));
  return definition;
}

/// What the ranks heard of searches: that which led one hears of it.
struct Listener : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningResult& tuned) override {
    MutexLock lock(mutex);
    heard.push_back(tuned);
  }
  std::vector<TuningResult> results() const {
    MutexLock lock(mutex);
    return heard;
  }
  mutable Mutex mutex;
  std::vector<TuningResult> heard TUNEONCE_GUARDED_BY(mutex);
};

struct TableRanks : RankThreads {
  TableRanks() : RankThreads(2) {
    for (std::size_t i = 0; i < policies.size(); ++i) {
      definitions[i] = Tables(&ledgers[i]);
      policies[i].observer = listener;
      policies[i].search.max_rounds = 5;
      policies[i].search.quiet = true;
      ShareSearches(timers[i], std::make_shared<CountingCompiler>(), &policies[i]);
    }
  }
  bool Ran(int rank, bool is_right) const {
    const auto& runs = ledgers[static_cast<std::size_t>(rank)].runs;
    for (std::size_t i = 1; i < kCandidates; ++i) {
      if (runs[i] > 0 && IsRight(static_cast<std::int64_t>(i)) == is_right) return true;
    }
    return false;
  }

  /// On a busy machine the leader would be done before the other rank has tried anything: it waits for that.
  void HoldTheLeader() {
    policies[0].search.on_progress = [this,
                                      ends = Clock::now() + std::chrono::seconds(10)](const SearchProgress& step) {
      while (step.stage == SearchProgress::Stage::kMeasure && !Ran(1, false) && Clock::now() < ends) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
  }

  using Clock = std::chrono::steady_clock;
  std::array<WorkLedger, 2> ledgers;
  std::array<WorkTimer, 2> timers = {WorkTimer(ledgers[0].work), WorkTimer(ledgers[1].work)};
  std::shared_ptr<Listener> listener = std::make_shared<Listener>();
};

/// A rank's own tensors, of another size in each, but for the largest.
struct Call {
  explicit Call(RankThread& rank)
      : stream(rank.stream->view()),
        numbers(rank.rank == 0 ? std::vector<int>{5, 2, 7} : std::vector<int>{7, 3, 1}),
        rows(IntsOn(stream, numbers)),
        x(PointedGroup::Make(stream, numbers, 3)),
        y(PointedGroup::Make(stream, numbers, -1)) {}
  Status Launch(TunedKernel& kernel) { return kernel.Launch(stream.get(), x.table(), IntView(rows), y.table()); }
  Status Warmup(TunedKernel& kernel) { return kernel.Warmup(stream.get(), x.table(), IntView(rows), y.table()); }

  StreamView stream;
  std::vector<int> numbers;
  DeviceBuffer rows;
  PointedGroup x, y;
};

/// A way to one search of the group.
struct Way {
  const char* name;
  std::function<Status(RankThread&, Call&)> take;
  bool launches;
};
const Way kWays[] = {
    {"on arguments", [](RankThread& rank, Call& call) { return call.Warmup(*rank.kernel); }, false},
    {"by shape",
     [](RankThread& rank, Call&) {
       return rank.kernel->Warmup(rank.cu_stream(), {TunedKernel::Shape{{{"G", 3}, {"M", 7}, {"N", 4}}}});
     },
     false},
    {"at TunePending, on what a launch read",
     [](RankThread& rank, Call& call) {
       TUNEONCE_RETURN_IF_ERROR(call.Launch(*rank.kernel));
       return rank.kernel->TunePending(rank.cu_stream());
     },
     true},
};

TEST(SharedTablesTest, EachRankTriesItsShareOnItsOwnTablesAndAllRunTheSameSelection) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    TableRanks ranks;
    ranks.HoldTheLeader();
    ranks.Run([&](RankThread& rank) {
      Call call(rank);
      EXPECT_OK(way.take(rank, call));
      EXPECT_TRUE(call.x.AreAll(call.stream, 3)) << "the caller's inputs are damaged";
      EXPECT_TRUE(call.y.AreAll(call.stream, way.launches ? 6 : -1)) << "the caller's outputs are damaged";
      EXPECT_OK(call.Launch(*rank.kernel));
      EXPECT_TRUE(call.y.AreAll(call.stream, 6));
      Result<LaunchPlan> plan =
          rank.kernel->Explain(rank.cu_stream(), call.x.table(), IntView(call.rows), call.y.table());
      ASSERT_OK(plan);
      EXPECT_EQ(plan->config->ToString(), "CANDIDATE=33");
      EXPECT_EQ(rank.kernel->counters().hits, 1);
    });
    const std::vector<TuningResult> results = ranks.listener->results();
    ASSERT_EQ(results.size(), 1u) << "one search";
    const TuningResult& result = results.front();
    EXPECT_EQ(result.notes.back(), "the search was shared by 2 ranks");
    EXPECT_EQ(result.successes.size(), std::size_t{kCandidates} / 3);
    EXPECT_EQ(result.failures.size(), std::size_t{kCandidates} / 3 * 2);
    for (const Failure& failure : result.failures) {
      const int candidate = std::stoi(failure.config.ToString().substr(std::string("CANDIDATE=").size()));
      const std::string said = std::string(FailureKindName(failure.kind)) + ": " + failure.message;
      const char* expected = kFailures[static_cast<std::size_t>(candidate % 3)];
      EXPECT_NE(said.find(expected), std::string::npos) << failure.config.ToString() << ": " << said;
    }
    for (int rank : {0, 1}) EXPECT_TRUE(ranks.Ran(rank, false)) << "rank " << rank << " tried none of the wrong ones";
  }
}

TEST(SharedTablesTest, NothingIsTriedThroughAWrongTable) {
  for (int wrong_rank : {0, 1}) {  // The one that leads the search of the only key, and the one that would help.
    SCOPED_TRACE(wrong_rank);
    TableRanks ranks;
    ranks.Run([&](RankThread& rank) {
      Call call(rank);
      std::vector<TensorView> tensors(call.x.table().tensors, call.x.table().tensors + 3);
      if (rank.rank == wrong_rank) std::swap(tensors[0], tensors[2]);
      const PointerTable x = PointerTable::Of(call.x.table().view.data, tensors.data(), tensors.size());
      const Status warmed = rank.kernel->Warmup(rank.cu_stream(), x, IntView(call.rows), call.y.table());
      if (wrong_rank == 0) {
        EXPECT_ERROR(warmed, StatusCode::kInvalidArgument,
                     "rank 0: kernel 'tables', parameter 'x': entry 0 of the table is 0x");
      } else {
        EXPECT_OK(warmed);
      }
      EXPECT_TRUE(call.y.AreAll(call.stream, -1));
    });
    EXPECT_FALSE(ranks.Ran(wrong_rank, true) || ranks.Ran(wrong_rank, false));
    const std::vector<TuningResult> results = ranks.listener->results();
    ASSERT_EQ(results.size(), wrong_rank == 0 ? 0u : 1u);
    if (wrong_rank == 1) {
      EXPECT_EQ(results.front().notes.back(), "the search was shared by 1 ranks");
    }
  }
}

}  // namespace
}  // namespace tuneonce::testing
