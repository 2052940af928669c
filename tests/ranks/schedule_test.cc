// Agreements over real threads and a real clock, with seeded faults: delays, ranks that hang, die, start again, skip a
// round or come late to it, searches that fail, engines that answer late. 50 schedules, or as many as
// TUNEONCE_RANK_SCHEDULES says (scripts/soak).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ranks/agree.h"
#include "ranks/agreement.h"
#include "ranks/rank_turn.h"
#include "testing/faulty_rank.h"
#include "tuneonce/plugin/rank_group.h"

namespace tuneonce::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// More than there are ranks, so that they take searches from each other.
constexpr const char* kScheduleKeys[] = {"k0", "k1", "k2", "k3", "k4"};
constexpr int kScheduleSilenceMs = 60, kScheduleRounds = 3, kBeyondTheDeadlineMs = 2000;

Fingerprint OfText(const std::string& text) { return Fingerprinter().Add(text).Finish(); }

/// What a rank has of the keys of a schedule, and how it goes wrong.
struct Actor {
  std::map<std::string, std::string> stored, served;  // By key.
  RankFault fault;
  bool starts_again = false;  // After its first round.
  int skips_round = -1;
  int late_ms = 0;    // To each round.
  int search_ms = 0;  // With beats.
  bool is_answered_late = false;
  bool search_fails = false;
  bool leaves = false;  // All searches of other ranks.
};

class Schedule {
 public:
  explicit Schedule(unsigned seed) : random_(seed), groups_(MakeThreadRanks(2 + Below(3))), actors_(groups_.size()) {
    for (Actor& actor : actors_) {
      for (const char* key : kScheduleKeys) {
        if (Below(2) == 0) actor.stored[key] = std::string(1, static_cast<char>('x' + Below(3)));
      }
      actor.late_ms = Below(10);
      actor.search_ms = Below(4) == 0 ? 2 * kScheduleSilenceMs : Below(5);
      actor.search_fails = Below(8) == 0;
    }
    Actor& bad = actors_[static_cast<std::size_t>(Below(static_cast<int>(actors_.size())))];
    const char* const at[] = {"/vote/", "/decision/", "/check/"};
    bad.fault = {static_cast<RankFault::Kind>(Below(RankFault::kVersion + 1)), at[Below(3)], Below(kScheduleSilenceMs)};
    if (bad.fault.kind == RankFault::kSlow) bad.fault.delay_ms %= 4;
    bad.starts_again = Below(6) == 0;
    if (Below(6) == 0) bad.skips_round = Below(kScheduleRounds);
    may_differ_ = Below(2) == 0;
    for (Actor& actor : actors_) actor.is_answered_late = Below(3) == 0;
    for (Actor& actor : actors_) actor.leaves = Below(3) == 0;
  }

  void Run() {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < groups_.size(); ++rank) threads.emplace_back([this, rank] { RunRank(rank); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  int Below(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }

  std::shared_ptr<RankGroup> Handle(std::size_t rank) {
    std::shared_ptr<RankGroup> group = std::make_shared<FaultyRank>(groups_[rank], actors_[rank].fault, clock_);
    return actors_[rank].is_answered_late ? std::make_shared<LateRank>(std::move(group)) : group;
  }

  void RunRank(std::size_t rank) {
    Actor& actor = actors_[rank];
    std::shared_ptr<RankGroup> group = Handle(rank);
    for (int round = 0; round < kScheduleRounds; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(actor.late_ms));
      if (round == actor.skips_round) continue;
      RunRound(actor, *group);
      if (round == 0 && actor.starts_again) {
        group = Handle(rank);
        actor.served.clear();
        Serve(rank, actor);
      }
      Serve(rank, actor);
    }
    if (++num_done_ == static_cast<int>(groups_.size()) - 1) clock_->Release();
  }

  void RunRound(Actor& actor, RankGroup& group) {
    const RankTurn turn(group);
    Agreement::Options options;
    options.rank = group.rank();
    options.size = group.size();
    options.turn = turn.number();
    options.nonce = turn.nonce();
    options.may_differ = may_differ_;
    const std::vector<std::string> keys(std::begin(kScheduleKeys), std::end(kScheduleKeys));
    Vote vote;
    vote.kind = "a device";
    for (const std::string& key : keys) {
      KeyVote of;
      of.key = of.search = OfText(key);
      of.definition = OfText("definition");
      if (actor.stored.count(key) != 0) of.state = KeyVote::kStored;
      if (actor.served.count(key) != 0) of.state = KeyVote::kServed;
      if (of.has_record()) of.selection = OfText(OwnOf(actor, key));
      vote.keys.push_back(of);
    }
    Agreement agreement(options, vote);
    AgreementWork work;
    work.find = [&](std::size_t key, const Agreement& of, RankBeat& beat) -> Result<std::string> {
      if (of.HasRecord(key)) return OwnOf(actor, keys[key]);
      for (int i = 0; i < actor.search_ms; ++i, beat.Step()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (actor.search_fails) return InternalError("the search failed");
      return "s" + std::to_string(group.rank()) + std::to_string(++num_searches_);
    };
    work.taking = [&](std::size_t, RankBeat&) {
      return actor.leaves ? AgreementWork::Taking::kLeavesThis : AgreementWork::Taking::kTakes;
    };
    work.make_ready = [&](std::size_t key, const Agreement& agreed, RankBeat&) -> Result<Fingerprint> {
      return OfText(agreed.DecisionOf(key).empty() ? OwnOf(actor, keys[key]) : agreed.DecisionOf(key));
    };
    const Clock::time_point begin = Clock::now();
    Agree(group, kScheduleSilenceMs, work, &agreement, &turn.silent());
    // Every rank may search for some time first; only one of them goes silent.
    const auto most_ms = 4 * kScheduleSilenceMs * static_cast<int>(groups_.size()) + kBeyondTheDeadlineMs;
    if (actor.fault.kind != RankFault::kHang) {
      EXPECT_LE(Clock::now() - begin, std::chrono::milliseconds(most_ms));
    }
    for (std::size_t key = 0; key < keys.size(); ++key) {
      if (!agreement.outcome(key).ok()) {
        EXPECT_FALSE(agreement.outcome(key).message().empty());
        continue;
      }
      const std::string chosen =
          agreement.DecisionOf(key).empty() ? OwnOf(actor, keys[key]) : agreement.DecisionOf(key);
      actor.stored[keys[key]] = actor.served[keys[key]] = chosen;
    }
  }

  static std::string OwnOf(const Actor& actor, const std::string& key) {
    auto served = actor.served.find(key);
    return served != actor.served.end() ? served->second : actor.stored.at(key);
  }

  /// What this rank serves now, beside what the others do.
  void Serve(std::size_t rank, const Actor& actor) {
    MutexLock lock(mutex_);
    served_[rank] = actor.served;
    for (const auto& [other, of_other] : served_) {
      for (const auto& [key, selection] : of_other) {
        auto mine = actor.served.find(key);
        if (mine == actor.served.end()) continue;
        EXPECT_EQ(mine->second, selection) << key << " of ranks " << rank << " and " << other;
      }
    }
  }

  std::mt19937 random_;
  bool may_differ_ = false;
  const std::vector<std::shared_ptr<RankGroup>> groups_;
  std::vector<Actor> actors_;
  const std::shared_ptr<FaultClock> clock_ = std::make_shared<FaultClock>();
  std::atomic<int> num_done_{0}, num_searches_{0};
  Mutex mutex_;
  std::map<std::size_t, std::map<std::string, std::string>> served_ TUNEONCE_GUARDED_BY(mutex_);
};

TEST(ScheduleTest, NoTwoRanksServeDifferentSelectionsAndNobodyWaitsForEver) {
  constexpr unsigned kAtATime = 8;  // They wait most of the time.
  const char* wanted = std::getenv("TUNEONCE_RANK_SCHEDULES");
  const unsigned schedules = wanted == nullptr ? 50 : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
  std::atomic<unsigned> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kAtATime; ++i) {
    threads.emplace_back([&] {
      for (unsigned seed = next++; seed < schedules && !HasFailure(); seed = next++) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Schedule(seed).Run();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tuneonce::testing
