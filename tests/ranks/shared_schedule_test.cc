// Searches that real threads share out, by a real clock, with seeded faults at any of their messages, ranks that
// compile or measure slowly, and GPUs that differ: one decision or words, in time. 12 schedules, or a quarter of what
// TUNEONCE_RANK_SCHEDULES says (scripts/soak).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "testing/faulty_rank.h"
#include "testing/sharing_ranks.h"
#include "tuneonce/progress.h"

namespace tuneonce::testing {
namespace {

/// Longer than a rank that works is kept from saying so, on a busy machine and under ThreadSanitizer.
#ifdef __SANITIZE_THREAD__
constexpr int kSharedSilenceMs = 6000;
#else
constexpr int kSharedSilenceMs = 2000;
#endif
/// Beyond the deadline and the work, which sanitizers and what runs beside make take longer.
constexpr int kSharedBeyondMs = 2 * kSharedSilenceMs;
/// A message that is late comes before its rank counts as silent.
constexpr int kMostLateMs = kSharedSilenceMs / 4;

constexpr const char* kMessages[] = {"/vote/",  "/offer/0",  "/joined/",  "/claim/0/",  "/word/0", "/word/1",
                                     "/word/2", "/answer/0", "/answer/1", "/decision/", "/check/"};

class SharedSchedule {
 public:
  explicit SharedSchedule(unsigned seed)
      : random_(seed),
        size_(2 + Below(3)),
        num_candidates_(6 + Below(11)),
        ranks_(size_, num_candidates_, WorkOfSeed()),
        statuses_(static_cast<std::size_t>(size_)),
        runs_(statuses_.size()),
        after_fault_(statuses_.size()) {
    bad_ = Below(size_);
    fault_ = {static_cast<RankFault::Kind>(Below(RankFault::kVersion + 1)), kMessages[Below(std::size(kMessages))],
              Below(kMostLateMs)};
    if (fault_.kind == RankFault::kSlow) fault_.delay_ms %= 4;
    const bool is_read = fault_.kind == RankFault::kTorn || fault_.kind == RankFault::kDamaged;
    const auto minimize = Below(2) == 0 ? RankPolicy::Minimize::kWorst : RankPolicy::Minimize::kMean;
    for (int rank = 0; rank < size_; ++rank) {
      AutotunePolicy& policy = ranks_.policies[static_cast<std::size_t>(rank)];
      policy.ranks.silence_ms = kSharedSilenceMs;
      policy.ranks.minimize = minimize;
      policy.ranks.group =
          std::make_shared<FaultyRank>(policy.ranks.group, rank == bad_ && !is_read ? fault_ : RankFault(), clock_,
                                       is_read && rank != bad_ ? std::make_shared<RankFault>(fault_) : nullptr);
      SlowDown(rank, &policy);
    }
  }

  void Run() {
    std::atomic<int> well{0};
    ranks_.Run([&](RankThread& rank) {
      const auto index = static_cast<std::size_t>(rank.rank);
      statuses_[index] = rank.Warmup(kScaleN);
      after_fault_[index] = clock_->Since();
      if (rank.rank != bad_ && ++well == size_ - 1) clock_->Release();
      EXPECT_OK(rank.Launch(kScaleN));
      runs_[index] = rank.Runs(kScaleN);
    });
    Expect();
  }

 private:
  int Below(std::size_t most) { return static_cast<int>(random_() % most); }
  int Below(int most) { return Below(static_cast<std::size_t>(most)); }

  /// Of each candidate, up to three times the least; GPUs differ by up to 3 %.
  std::function<std::int64_t(int, std::int64_t)> WorkOfSeed() {
    std::vector<std::int64_t> work;
    for (int i = 0; i < num_candidates_; ++i) work.push_back(kLeastWork + Below(static_cast<int>(2 * kLeastWork)));
    std::vector<std::int64_t> percent;
    for (int rank = 0; rank < size_; ++rank) percent.push_back(100 + Below(4));
    return [work, percent](int rank, std::int64_t candidate) {
      return work[static_cast<std::size_t>(candidate)] * percent[static_cast<std::size_t>(rank)] / 100;
    };
  }

  void SlowDown(int rank, AutotunePolicy* policy) {
    const std::chrono::milliseconds compile(Below(4) == 0 ? Below(60) : 0), step(Below(4) == 0 ? Below(20) : 0);
    ranks_.compilers[static_cast<std::size_t>(rank)]->on_compile = [compile](const std::string&, const WaitLimits&) {
      std::this_thread::sleep_for(compile);
    };
    policy->search.on_progress = [step](const SearchProgress& progress) {
      if (progress.stage == SearchProgress::Stage::kMeasure) std::this_thread::sleep_for(step);
    };
  }

  void Expect() const {
    std::set<std::string> chosen;
    for (int rank = 0; rank < size_; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      const Status& status = statuses_[index];
      if (status.ok()) chosen.insert(runs_[index]);
      if (!status.ok()) {
        EXPECT_EQ(runs_[index], NameOf(0)) << rank << ": " << status.ToString();
        EXPECT_NE(status.message().find("rank"), std::string::npos) << status.ToString();
      }
      if (rank != bad_) {
        EXPECT_LE(after_fault_[index].count(), kSharedSilenceMs + kSharedBeyondMs) << rank;
      }
      const std::optional<TuningRecord> record = ranks_.RecordOf(rank);
      if (!status.ok() || !record) continue;
      EXPECT_EQ(record->candidates.size(), static_cast<std::size_t>(num_candidates_)) << rank;
      EXPECT_EQ(record->config.ToString(), runs_[index]) << rank;
    }
    EXPECT_LE(chosen.size(), 1u);
    const bool is_well = fault_.kind == RankFault::kNone || fault_.kind == RankFault::kSlow ||
                         fault_.kind == RankFault::kDuplicate || !clock_->HasCome();
    const bool is_version = fault_.kind == RankFault::kVersion;  // It never comes to a clock.
    if (is_well && !is_version) {
      for (const Status& status : statuses_) EXPECT_OK(status);
    }
  }

  std::mt19937 random_;
  const int size_, num_candidates_;
  SharingRanks ranks_;
  int bad_ = 0;
  RankFault fault_;
  const std::shared_ptr<FaultClock> clock_ = std::make_shared<FaultClock>();
  std::vector<Status> statuses_;
  std::vector<std::string> runs_;
  std::vector<std::chrono::milliseconds> after_fault_;
};

TEST(SharedScheduleTest, ItIsOneDecisionOrWordsInTime) {
  constexpr unsigned kAtATime = 3;
  const char* wanted = std::getenv("TUNEONCE_RANK_SCHEDULES");
  const unsigned schedules = wanted == nullptr ? 12 : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) / 4;
  std::atomic<unsigned> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kAtATime; ++i) {
    threads.emplace_back([&] {
      for (unsigned seed = next++; seed < schedules && !::testing::Test::HasFailure(); seed = next++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SharedSchedule(seed).Run();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tuneonce::testing
