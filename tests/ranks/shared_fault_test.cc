// What goes wrong with one rank of three that share a search, at each of its messages: one decision or words, in time;
// what a helper costs is its share alone, and of a search that its leader ends, the leader has a record of all
// candidates.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "testing/faulty_rank.h"
#include "testing/faulty_search.h"
#include "testing/sharing_ranks.h"
#include "tuneonce/progress.h"

namespace tuneonce::testing {
namespace {

constexpr int kSharers = 3, kSharedCandidates = 12;
constexpr int kHelper = 1;
/// How long a rank may be silent where the fault makes one silent, and where it must not be taken for that. The former
/// is above the promise: a rank that is waited for twice shows.
constexpr int kSoonMs = 2500, kLateMs = 20000;
/// The promise: beyond the deadline and the work, which takes ThreadSanitizer ten times as long.
#ifdef __SANITIZE_THREAD__
constexpr int kPromiseMs = 20000;
#else
constexpr int kPromiseMs = 2000;
#endif

class SharedRun : public FaultySearch {
 public:
  SharedRun(int bad, const RankFault& fault, int silence_ms)
      : FaultySearch(std::make_unique<SharingRanks>(kSharers, kSharedCandidates), bad, fault, silence_ms, kPromiseMs) {}

  /// A leader that is faster than the others would be done before the helper comes to a message of the shares: it waits
  /// for the fault then, not long enough to be taken for silent.
  void HoldTheLeader() {
    ranks().policies[0].search.on_progress =
        [this,
         ends = std::make_shared<std::optional<FaultClock::Clock::time_point>>()](const SearchProgress& progress) {
          if (progress.stage != SearchProgress::Stage::kMeasure) return;
          if (!*ends) *ends = FaultClock::Clock::now() + std::chrono::milliseconds(kSoonMs / 2);
          while (!clock().HasCome() && FaultClock::Clock::now() < **ends) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        };
  }

  void ExpectTheLeaderKnowsAll() const {
    const std::optional<TuningRecord> record = ranks().RecordOf(0);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->config.ToString(), NameOf(kBest));
    EXPECT_EQ(record->candidates.size(), static_cast<std::size_t>(kSharedCandidates));
    EXPECT_TRUE(record->is_complete);
  }
};

/// They wait most of the time: all at once.
template <typename Case, typename Body>
void ForEachAtOnce(const std::vector<Case>& cases, const Body& body) {
  std::vector<std::thread> threads;
  for (const Case& each : cases) threads.emplace_back([&] { body(each); });
  for (std::thread& thread : threads) thread.join();
}

struct SharedCase {
  const char* name;
  RankFault::Kind kind;
  bool is_fatal;  // The rank says nothing from then on: nobody serves.
};
constexpr SharedCase kSharedCases[] = {
    {"Hang", RankFault::kHang, true},  {"Death", RankFault::kDeath, true}, {"EngineGone", RankFault::kEngineGone, true},
    {"Lost", RankFault::kLost, false}, {"Torn", RankFault::kTorn, false},  {"Duplicate", RankFault::kDuplicate, false},
    {"Late", RankFault::kLate, false}, {"Slow", RankFault::kSlow, false},
};

class SharedFaultTest : public ::testing::TestWithParam<SharedCase> {};

constexpr int kDelayMs = 100, kSlowMs = 3;

/// A run in which the fault comes, if it is one of which that is known, after a few attempts on a busy machine.
std::unique_ptr<SharedRun> RunWithHelpersFault(const SharedCase& fault, const std::string& at) {
  constexpr int kAttempts = 5;
  const bool is_unread = fault.kind == RankFault::kTorn && at == "/claim/0/";  // A claim's answer is the cell's.
  const bool is_known = fault.kind != RankFault::kSlow && fault.kind != RankFault::kDuplicate && !is_unread;
  std::unique_ptr<SharedRun> run;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    run = std::make_unique<SharedRun>(kHelper,
                                      RankFault{fault.kind, at, fault.kind == RankFault::kSlow ? kSlowMs : kDelayMs},
                                      fault.is_fatal ? kSoonMs : kLateMs);
    if (is_known && at != "/answer/1/1") run->HoldTheLeader();
    run->Run();
    if (!is_known || run->clock().HasCome()) return run;
  }
  ADD_FAILURE() << "the fault never came";
  return run;
}

TEST_P(SharedFaultTest, OfAHelperItCostsItsShareAlone) {
  const SharedCase& fault = GetParam();
  const std::vector<std::string> messages = {"/joined/1", "/claim/0/", "/answer/0/1", "/answer/1/1"};
  ForEachAtOnce(messages, [&](const std::string& at) {
    SCOPED_TRACE(at);
    const std::unique_ptr<SharedRun> run = RunWithHelpersFault(fault, at);
    for (int rank = 0; rank < kSharers; ++rank) {
      if (rank == kHelper && fault.is_fatal) continue;
      EXPECT_EQ(run->is_served(rank), !fault.is_fatal) << rank << ": " << run->status(rank).ToString();
      if (!fault.is_fatal) {
        EXPECT_EQ(run->runs(rank), NameOf(kBest));
      }
    }
    run->ExpectTheLeaderKnowsAll();
  });
}

TEST_P(SharedFaultTest, OfTheLeaderItIsOneDecisionOrWords) {
  const SharedCase& fault = GetParam();
  const std::vector<std::string> messages = {"/offer/0", "/word/0", "/word/1", "/word/2", "/decision/0"};
  ForEachAtOnce(messages, [&](const std::string& at) {
    SCOPED_TRACE(at);
    // Without its decision nobody has one: they wait for it as long as it works, and no longer.
    const bool is_fatal = fault.is_fatal || (fault.kind == RankFault::kLost && at == "/decision/0");
    SharedRun run(0, {fault.kind, at, fault.kind == RankFault::kSlow ? kSlowMs : kDelayMs},
                  is_fatal ? kSoonMs : kLateMs);
    run.Run();
    for (int rank = 1; rank < kSharers; ++rank) {
      EXPECT_EQ(run.is_served(rank), !is_fatal) << rank << ": " << run.status(rank).ToString();
      if (!is_fatal) {
        EXPECT_EQ(run.runs(rank), NameOf(kBest));
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Of, SharedFaultTest, ::testing::ValuesIn(kSharedCases),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(SharedFaultsTest, AHelperWhoseCompilerHangsIsNotWaitedForAndComesBackForTheRest) {
  SharedRun run(kHelper, {}, kLateMs);
  std::atomic<bool> was_given_up{false};
  run.ranks().compilers[kHelper]->on_compile = [&](const std::string& define, const WaitLimits& limits) {
    if (define == NameOf(0)) return;
    while (!limits.cancelled->load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    was_given_up = true;
  };
  run.Run();
  EXPECT_TRUE(was_given_up);
  for (int rank = 0; rank < kSharers; ++rank) {
    EXPECT_OK(run.status(rank));
    EXPECT_EQ(run.runs(rank), NameOf(kBest));
  }
  run.ExpectTheLeaderKnowsAll();
}

TEST(SharedFaultsTest, AHelperThatIsSlowHasWhatItClaimedFirstAndTheOthersHaveTheRest) {
  SharedRun run(kHelper, {}, kLateMs);
  constexpr int kHeldAtATime = 2;  // With one compile at a time: what is tried, and what is compiled meanwhile.
  for (AutotunePolicy& policy : run.ranks().policies) policy.search.compile.num_workers = 1;
  run.ranks().policies[kHelper].search.on_progress = [&](const SearchProgress& progress) {
    auto by_others = [&] {
      int candidates = 0;
      for (int candidate = 0; candidate < kSharedCandidates; ++candidate) {
        const auto index = static_cast<std::size_t>(candidate);
        candidates += run.ranks().kernels[0]->ledger().runs[index] + run.ranks().kernels[2]->ledger().runs[index] > 0;
      }
      return candidates;
    };
    while (progress.stage == SearchProgress::Stage::kMeasure && by_others() < kSharedCandidates - kHeldAtATime) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  run.Run();
  for (int rank = 0; rank < kSharers; ++rank) {
    EXPECT_OK(run.status(rank));
    EXPECT_EQ(run.runs(rank), NameOf(kBest));
  }
  constexpr int kRunByAll = 3;  // The baseline and the finalists.
  EXPECT_LE(run.ranks().RunBy(kHelper), kHeldAtATime + kRunByAll);
  run.ExpectTheLeaderKnowsAll();
}

/// Times of another timer, which are up to a fifth longer, by chance, from when it is told.
class UnsteadyTimer final : public Timer {
 public:
  explicit UnsteadyTimer(Timer& inner) : inner_(inner) {}
  std::atomic<bool> is_unsteady{false};
  std::string_view name() const override { return "unsteady"; }
  Result<std::unique_ptr<TimingSession>> Open(StreamView stream, CacheState cache) override {
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<TimingSession> inner, inner_.Open(stream, cache));
    return std::unique_ptr<TimingSession>(new Session(std::move(inner), is_unsteady));
  }

 private:
  class Session final : public TimingSession {
   public:
    Session(std::unique_ptr<TimingSession> inner, const std::atomic<bool>& is_unsteady)
        : inner_(std::move(inner)), is_unsteady_(is_unsteady) {}
    Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override { return inner_->Prepare(std::move(run)); }
    Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<double> times_us, inner_->Sample(runs));
      for (double& us : times_us) us *= is_unsteady_ ? 1 + kSpread * unit_(random_) : 1;
      return times_us;
    }
    std::int64_t num_launches() const override { return inner_->num_launches(); }

   private:
    static constexpr double kSpread = 0.2;  // Some 100 rounds tell two apart by 1 % then.
    const std::unique_ptr<TimingSession> inner_;
    const std::atomic<bool>& is_unsteady_;
    std::mt19937 random_{1};
    std::uniform_real_distribution<double> unit_;
  };
  Timer& inner_;
};

TEST(SharedFaultsTest, AHelperThatCannotTellTheFinalistsApartStopsWhenTheLeaderCan) {
  constexpr std::int64_t kMostRounds = 300;  // SearchOptions::max_rounds.
  SharingRanks ranks(kSharers, kSharedCandidates);
  std::atomic<int> parts_of_leader{0};
  ranks.policies[0].search.on_progress = [&, ends = FaultClock::Clock::now() +
                                                    std::chrono::seconds(10)](const SearchProgress& progress) {
    if (progress.stage == SearchProgress::Stage::kDone) ++parts_of_leader;
    // The helper has a share, also on a busy machine.
    while (progress.stage == SearchProgress::Stage::kMeasure && ranks.RunBy(kHelper) < 2 &&
           FaultClock::Clock::now() < ends) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  UnsteadyTimer timer(*ranks.timers[kHelper]);
  ranks.policies[kHelper].search.timer = &timer;
  ranks.policies[kHelper].search.on_progress = [&](const SearchProgress& progress) {
    if (progress.stage == SearchProgress::Stage::kDone) timer.is_unsteady = true;  // Its share is.
    if (progress.stage != SearchProgress::Stage::kRace || !timer.is_unsteady) return;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    } while (parts_of_leader < 2);
  };
  ranks.Run([&](RankThread& rank) { EXPECT_OK(rank.Warmup(kScaleN)); });
  EXPECT_LT(ranks.kernels[kHelper]->ledger().runs[kBest], kMostRounds);
  const std::optional<TuningRecord> record = ranks.RecordOf(0);
  ASSERT_TRUE(record.has_value());
  EXPECT_FALSE(record->is_conclusive) << "the helper was not, when it stopped";
}

TEST(SharedFaultsTest, AHelperThatHangsInATrialOrTheFinalsIsGivenUpInWords) {
  ForEachAtOnce(std::vector<SearchProgress::Stage>{SearchProgress::Stage::kCompile, SearchProgress::Stage::kMeasure,
                                                   SearchProgress::Stage::kRace},
                [](SearchProgress::Stage stage) {
                  SCOPED_TRACE(static_cast<int>(stage));
                  SharedRun run(kHelper, {}, kSoonMs);
                  run.ranks().policies[kHelper].search.on_progress = [&](const SearchProgress& progress) {
                    if (progress.stage == stage) run.clock().Hang();
                  };
                  run.Run();
                  for (int rank : {0, 2}) {
                    EXPECT_ERROR(run.status(rank), StatusCode::kDeadlineExceeded, "sent nothing for 2500 ms");
                  }
                  run.ExpectTheLeaderKnowsAll();
                });
}

}  // namespace
}  // namespace tuneonce::testing
