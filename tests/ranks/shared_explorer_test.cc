// Every interleaving of three ranks that share three candidates out: claims in any order, helpers that die, with or
// without claims, answers that come too late, leaders without patience. The list, its claims and its answers are
// modelled; what the leader makes of them is SearchLedger itself. States that were seen are not entered again.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "search/search_ledger.h"

namespace tuneonce {
namespace {

constexpr int kSharers = 3, kLeader = 0;
constexpr std::uint64_t kPlaces = 4, kBaselinePlace = 0, kBestPlace = 2;
/// As SharedSearch has it: then the leader does what is left.
constexpr int kLaps = 2;
/// How many helpers die, or are given up though they live, on one way.
constexpr int kMostShareFaults = 2;

/// A rank on its way along the list of a word.
struct Sharer {
  int word = 0;
  std::size_t walked = 0;
  std::set<std::uint64_t> mine;  // Of this word.
  bool is_down = false, has_answered = false;
};

struct Sharing {
  std::array<Sharer, kSharers> ranks;
  std::vector<std::vector<std::uint64_t>> words;                    // Lists.
  std::map<std::pair<int, std::uint64_t>, int> claims;              // By word and place.
  std::map<std::pair<int, int>, std::set<std::uint64_t>> answers;   // By word and rank.
  std::map<std::uint64_t, std::set<std::pair<int, int>>> tried_by;  // Ranks and words, of each place.
  std::set<int> awaited, gone;                                      // The leader's.
  bool is_waiting = false;
  SearchLedger ledger{kPlaces, kBaselinePlace};
  int faults = 0;
};

SearchAnswer AnswerOf(const std::set<std::uint64_t>& places) {
  SearchAnswer answer;
  auto add = [&](std::uint64_t place) {
    TriedCandidate tried;
    tried.place = place;
    tried.kind = TriedCandidate::kMeasured;
    tried.success.measurement.mean_us = place == kBestPlace ? 50 : 100 + static_cast<double>(place);
    answer.tried.push_back(tried);
  };
  add(kBaselinePlace);
  for (std::uint64_t place : places) add(place);
  return answer;
}

class SharingExplorer {
 public:
  explicit SharingExplorer(int most_faults) : most_faults_(most_faults) {}

  void Run() {
    Sharing begin;
    begin.words.push_back(begin.ledger.Open());
    Enter(begin);
    while (!open_.empty() && !::testing::Test::HasFailure()) {
      const Sharing next = std::move(open_.back());
      open_.pop_back();
      const std::size_t entered = num_entered_;
      for (int rank = 0; rank < kSharers; ++rank) Step(next, rank);
      if (num_entered_ == entered) FAIL() << "nothing can happen, and the leader is not done: " << Signature(next);
    }
  }

  std::size_t num_ends() const { return num_ends_; }
  std::size_t num_states() const { return seen_.size(); }
  /// How often the last candidate of all was tried, at most.
  std::size_t most_tries() const { return most_tries_; }

 private:
  static std::string Signature(const Sharing& of) {
    std::string text;
    auto add = [&](auto number) { text += std::to_string(number) + ","; };
    for (const Sharer& rank : of.ranks) {
      add(rank.word), add(rank.walked), add(rank.is_down), add(rank.has_answered);
      for (std::uint64_t place : rank.mine) add(place);
      text += ";";
    }
    for (const auto& [at, rank] : of.claims) add(at.first), add(at.second), add(rank);
    for (const auto& [at, places] : of.answers) add(at.first), add(at.second), add(places.size());
    for (int rank : of.awaited) add(rank);
    text += "/";
    for (int rank : of.gone) add(rank);
    for (std::uint64_t place : of.ledger.Open()) add(place);
    return text + std::to_string(of.is_waiting) + std::to_string(of.faults) + std::to_string(of.words.size());
  }

  void Enter(Sharing next) {
    ++num_entered_;
    if (!seen_.insert(Signature(next)).second) return;
    open_.push_back(std::move(next));
  }

  void Step(const Sharing& now, int rank) {
    const Sharer& of = now.ranks[static_cast<std::size_t>(rank)];
    if (of.is_down) return;
    if (rank != kLeader && now.faults < most_faults_) {  // It may die at any time.
      Sharing next = now;
      next.ranks[static_cast<std::size_t>(rank)].is_down = true;
      ++next.faults;
      Enter(std::move(next));
    }
    const bool is_late = of.word + 1 < static_cast<int>(now.words.size());
    if (is_late) return CatchUp(now, rank);
    if (of.walked < now.words[static_cast<std::size_t>(of.word)].size()) return Claim(now, rank);
    if (!of.has_answered) return Answer(now, rank);
    if (rank == kLeader) Await(now);
  }

  /// What it has of the word before is left as it is.
  void CatchUp(Sharing next, int rank) {
    Sharer& of = next.ranks[static_cast<std::size_t>(rank)];
    of = Sharer();
    of.word = static_cast<int>(next.words.size()) - 1;
    Enter(std::move(next));
  }

  void Claim(Sharing next, int rank) {
    Sharer& of = next.ranks[static_cast<std::size_t>(rank)];
    const std::uint64_t place = next.words[static_cast<std::size_t>(of.word)][of.walked++];
    const int holder = next.claims.try_emplace({of.word, place}, rank).first->second;
    if (holder == rank) of.mine.insert(place);
    if (holder == rank) next.tried_by[place].insert({rank, of.word});
    if (rank == kLeader && holder != rank && next.gone.count(holder) == 0) next.awaited.insert(holder);
    Enter(std::move(next));
  }

  void Answer(Sharing next, int rank) {
    Sharer& of = next.ranks[static_cast<std::size_t>(rank)];
    of.has_answered = true;
    if (rank == kLeader) next.ledger.Take(rank, AnswerOf(of.mine));
    if (rank != kLeader) next.answers[{of.word, rank}] = of.mine;
    Enter(std::move(next));
  }

  void Await(const Sharing& now) {
    if (now.awaited.empty()) return GoOn(now);
    const int word = static_cast<int>(now.words.size()) - 1;
    for (int rank : now.awaited) {
      Sharing next = now;
      next.awaited.erase(rank);
      if (auto answer = now.answers.find({word, rank}); answer != now.answers.end()) {
        next.ledger.Take(rank, AnswerOf(answer->second));
        next.ledger.Take(rank, AnswerOf(answer->second));  // What comes twice changes nothing.
        Enter(std::move(next));
        continue;
      }
      const bool is_down = now.ranks[static_cast<std::size_t>(rank)].is_down;
      if (!is_down && now.faults >= most_faults_) continue;  // It will answer.
      next.faults += is_down ? 0 : 1;
      next.gone.insert(rank);
      Enter(std::move(next));
    }
  }

  void GoOn(Sharing next) {
    const std::vector<std::uint64_t> left = next.ledger.Open();
    if (!left.empty() && static_cast<int>(next.words.size()) < kLaps) {
      next.words.push_back(left);
      next.ranks[kLeader] = Sharer();
      next.ranks[kLeader].word = static_cast<int>(next.words.size()) - 1;
      return Enter(std::move(next));
    }
    next.ledger.Take(kLeader, AnswerOf({left.begin(), left.end()}));  // Alone.
    ++num_ends_, ++num_entered_;
    EXPECT_TRUE(next.ledger.Open().empty()) << "a candidate that nobody tried: " << Signature(next);
    EXPECT_EQ(next.ledger.Finalists(), (std::vector<std::uint64_t>{kBaselinePlace, kBestPlace}));
    for (const auto& [place, by] : next.tried_by) most_tries_ = std::max(most_tries_, by.size());
  }

  const int most_faults_;
  std::set<std::string> seen_;
  std::vector<Sharing> open_;
  std::size_t num_entered_ = 0, num_ends_ = 0, most_tries_ = 0;
};

TEST(SharedExplorerTest, WithoutFaultsEachCandidateIsTriedOnceWhoeverIsFaster) {
  SharingExplorer explorer(/*most_faults=*/0);
  explorer.Run();
  EXPECT_GT(explorer.num_ends(), 10u);
  EXPECT_EQ(explorer.most_tries(), 1u);
}

TEST(SharedExplorerTest, WhoeverDiesOrIsLateTheLeaderKnowsOfAllCandidates) {
  SharingExplorer explorer(kMostShareFaults);
  explorer.Run();
  EXPECT_GT(explorer.num_ends(), 1000u);
  EXPECT_GT(explorer.num_states(), 5000u);
  EXPECT_LE(explorer.most_tries(), static_cast<std::size_t>(kLaps)) << "shared out so often, at most";
}

}  // namespace
}  // namespace tuneonce
