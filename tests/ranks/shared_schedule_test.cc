// Searches that real threads share out, by a real clock, with seeded faults at any of their messages, ranks that
// compile or measure slowly, and GPUs that differ: one decision or words, in time. 12 schedules, or a quarter of what
// TUNEONCE_RANK_SCHEDULES says (scripts/soak).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing/faulty_rank.h"
#include "testing/faulty_search.h"
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
  explicit SharedSchedule(unsigned seed) : random_(seed) {
    const int size = 2 + Below(3);
    num_candidates_ = 6 + Below(11);
    auto ranks = std::make_unique<SharingRanks>(size, num_candidates_, WorkOfSeed(size));
    const int bad = Below(size);
    fault_ = {static_cast<RankFault::Kind>(Below(RankFault::kVersion + 1)), kMessages[Below(std::size(kMessages))],
              Below(kMostLateMs)};
    if (fault_.kind == RankFault::kSlow) fault_.delay_ms %= 4;
    const auto minimize = Below(2) == 0 ? RankPolicy::Minimize::kWorst : RankPolicy::Minimize::kMean;
    search_.emplace(std::move(ranks), bad, fault_, kSharedSilenceMs, kSharedBeyondMs);
    for (int rank = 0; rank < size; ++rank) {
      search_->ranks().policies[static_cast<std::size_t>(rank)].ranks.minimize = minimize;
      SlowDown(rank);
    }
  }

  void Run() {
    search_->Run();
    const bool is_well = fault_.kind == RankFault::kNone || fault_.kind == RankFault::kSlow ||
                         fault_.kind == RankFault::kDuplicate || !search_->clock().HasCome();
    const bool is_version = fault_.kind == RankFault::kVersion;  // It never comes to a clock.
    for (int rank = 0; rank < search_->size(); ++rank) {
      if (is_well && !is_version) {
        EXPECT_OK(search_->status(rank));
      }
      const std::optional<TuningRecord> record = search_->ranks().RecordOf(rank);
      if (!search_->is_served(rank) || !record) continue;
      EXPECT_EQ(record->candidates.size(), static_cast<std::size_t>(num_candidates_)) << rank;
      EXPECT_EQ(record->config.ToString(), search_->runs(rank)) << rank;
    }
  }

 private:
  int Below(std::size_t most) { return static_cast<int>(random_() % most); }
  int Below(int most) { return Below(static_cast<std::size_t>(most)); }

  /// Of each candidate, up to three times the least; GPUs differ by up to 3 %.
  std::function<std::int64_t(int, std::int64_t)> WorkOfSeed(int size) {
    std::vector<std::int64_t> work;
    for (int i = 0; i < num_candidates_; ++i) work.push_back(kLeastWork + Below(static_cast<int>(2 * kLeastWork)));
    std::vector<std::int64_t> percent;
    for (int rank = 0; rank < size; ++rank) percent.push_back(100 + Below(4));
    return [work, percent](int rank, std::int64_t candidate) {
      return work[static_cast<std::size_t>(candidate)] * percent[static_cast<std::size_t>(rank)] / 100;
    };
  }

  void SlowDown(int rank) {
    const auto index = static_cast<std::size_t>(rank);
    const std::chrono::milliseconds compile(Below(4) == 0 ? Below(60) : 0), step(Below(4) == 0 ? Below(20) : 0);
    search_->ranks().compilers[index]->on_compile = [compile](const std::string&, const WaitLimits&) {
      std::this_thread::sleep_for(compile);
    };
    search_->ranks().policies[index].search.on_progress = [step](const SearchProgress& progress) {
      if (progress.stage == SearchProgress::Stage::kMeasure) std::this_thread::sleep_for(step);
    };
  }

  std::mt19937 random_;
  int num_candidates_ = 0;
  RankFault fault_;
  std::optional<FaultySearch> search_;
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
