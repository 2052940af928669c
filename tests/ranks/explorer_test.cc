// Every interleaving of three ranks that agree: messages that come late, twice, torn or never, ranks that crash, with
// or without what they had just sent, and start again, searches that fail, compilers that differ. What is explored is
// Agreement itself; a board takes the place of the engine. States that were seen are not entered again.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ranks/agreement.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
namespace {

constexpr int kRanks = 3;
using Want = Agreement::Want;

Fingerprint Of(const std::string& text) { return Fingerprinter().Add(text).Finish(); }

/// What a rank has of the one key, and what may go wrong.
struct Scenario {
  std::string name;
  std::array<std::string, kRanks> stored;  // A record; empty: none.
  std::array<std::string, kRanks> kinds = {"a", "a", "a"};
  bool mixed_kinds = false;
  bool with_faults = true;
};

/// One rank: its present agreement, and what it runs since an earlier one.
struct Rank {
  std::optional<Agreement> agreement;  // Empty: it is down.
  int starts = 0, round = 0;
  std::string stored;
  std::optional<std::string> served;
};

struct World {
  std::array<Rank, kRanks> ranks;
  std::map<std::string, std::string> board;
  int crashes = 0, restarts = 0;
};

class Explorer {
 public:
  explicit Explorer(Scenario scenario) : scenario_(std::move(scenario)) {}

  void Run() {
    World world;
    for (int rank = 0; rank < kRanks; ++rank) {
      world.ranks[Index(rank)].stored = scenario_.stored[Index(rank)];
      Begin(&world, rank);
    }
    Enter(world);
    while (!open_.empty() && !::testing::Test::HasFailure()) {
      World next = std::move(open_.back());
      open_.pop_back();
      Expand(next);
    }
  }

  std::size_t num_states() const { return seen_.size(); }
  /// How many ranks ran a choice in states where nothing can happen any more: of all such states.
  const std::set<int>& served_at_the_end() const { return served_at_the_end_; }

 private:
  static std::size_t Index(int rank) { return static_cast<std::size_t>(rank); }

  void Begin(World* world, int rank) const {
    Rank& of = world->ranks[Index(rank)];
    Vote vote;
    vote.kind = scenario_.kinds[Index(rank)];
    KeyVote key{Of("key"), Of("definition"), KeyVote::kNothing, {}};
    if (!of.stored.empty()) key.state = KeyVote::kStored;
    if (of.served) key.state = KeyVote::kServed;
    if (key.state != KeyVote::kNothing) key.choice = Of(of.served ? *of.served : of.stored);
    vote.keys.push_back(key);
    Agreement::Options options;
    options.rank = rank;
    options.size = kRanks;
    options.round = static_cast<std::uint64_t>(of.round);
    options.nonce = static_cast<std::uint64_t>(rank * 10 + of.starts);
    options.mixed_kinds = scenario_.mixed_kinds;
    of.agreement.emplace(options, std::move(vote), std::vector<std::string>{"key"});
  }

  /// What `rank` has decided on: what it would run.
  static std::string ChoiceOf(const Rank& of) {
    const std::string& decision = of.agreement->DecisionOf(0);
    return !decision.empty() ? decision : of.served ? *of.served : of.stored;
  }

  std::string Signature(const World& world) const {
    std::string text;
    for (const Rank& of : world.ranks) {
      text += std::to_string(of.starts) + std::to_string(of.round) + of.stored + "/" + of.served.value_or("-");
      if (!of.agreement) {
        text += "down;";
        continue;
      }
      text += std::to_string(static_cast<int>(of.agreement->want())) + of.agreement->cell() + ":";
      for (int awaited : of.agreement->awaited()) text += std::to_string(awaited);
      text += "," + std::to_string(of.agreement->wanted().size()) + of.agreement->outcome(0).ToString() +
              of.agreement->DecisionOf(0) + ";";
      text += ready_.count(&of) != 0 ? "" : "";
    }
    for (const auto& [cell, bytes] : world.board) text += cell + "=" + Of(bytes).ToString() + ";";
    return text + std::to_string(world.crashes) + std::to_string(world.restarts);
  }

  void Enter(World world) {
    // An agreement that is over: its choice is served from now on, or nothing; then the next round may begin.
    for (Rank& of : world.ranks) {
      const bool is_over = of.agreement && of.agreement->want() == Want::kNothing;
      if (!is_over) continue;
      if (of.agreement->outcome(0).ok()) {
        of.served = ChoiceOf(of);
        of.stored = *of.served;
      } else {
        ASSERT_FALSE(of.agreement->outcome(0).message().empty());
      }
      if (of.round == 0) {
        ++of.round;
        Begin(&world, static_cast<int>(&of - world.ranks.data()));
      } else {
        of.agreement.reset();
        of.round = 2;
      }
    }
    if (!seen_.insert(Signature(world)).second) return;
    ASSERT_LT(seen_.size(), 3000000u);
    Check(world);
    open_.push_back(std::move(world));
  }

  /// No two ranks of one kind serve different choices.
  void Check(const World& world) {
    std::map<std::string, std::string> served;
    for (int rank = 0; rank < kRanks; ++rank) {
      const Rank& of = world.ranks[Index(rank)];
      if (!of.served) continue;
      const std::string& first = served.try_emplace(scenario_.kinds[Index(rank)], *of.served).first->second;
      ASSERT_EQ(first, *of.served) << scenario_.name << ": " << Signature(world);
    }
  }

  void Expand(const World& world) {
    bool is_end = true;
    for (int rank = 0; rank < kRanks; ++rank) {
      const Rank& of = world.ranks[Index(rank)];
      if (!of.agreement) {
        if (of.round == 2 || !scenario_.with_faults || world.restarts == 1) continue;
        World next = world;
        Rank& again = next.ranks[Index(rank)];
        ++next.restarts;
        ++again.starts;
        again.round = 0;
        Begin(&next, rank);
        Enter(std::move(next));
        continue;
      }
      is_end = false;
      if (scenario_.with_faults && world.crashes < 2) Enter(Crashed(world, rank));
      switch (of.agreement->want()) {
        case Want::kPost:
          Post(world, rank);
          break;
        case Want::kHear:
          Hear(world, rank);
          break;
        case Want::kFind:
          FindRecord(world, rank);
          break;
        case Want::kMakeReady:
          MakeReady(world, rank);
          break;
        case Want::kNothing:
          FAIL() << "it was over";
      }
    }
    if (!is_end) return;
    int serving = 0;
    for (const Rank& of : world.ranks) serving += of.served ? 1 : 0;
    served_at_the_end_.insert(serving);
  }

  static World Crashed(const World& world, int rank) {
    World next = world;
    Rank& of = next.ranks[Index(rank)];
    of.agreement.reset();
    of.served.reset();  // Its records are still there.
    ++next.crashes;
    return next;
  }

  void Post(const World& world, int rank) {
    World next = world;
    Agreement& agreement = *next.ranks[Index(rank)].agreement;
    const std::string held = next.board.try_emplace(agreement.cell(), agreement.bytes()).first->second;
    if (scenario_.with_faults && world.crashes < 2) Enter(Crashed(next, rank));  // It was sent, and nobody knows.
    agreement.Posted(held);
    Enter(std::move(next));
  }

  void Hear(const World& world, int rank) {
    const Agreement& agreement = *world.ranks[Index(rank)].agreement;
    const std::vector<int> awaited = agreement.awaited();
    ASSERT_FALSE(awaited.empty()) << "nobody is waited for: it would wait for ever";
    for (int from : awaited) {
      if (auto cell = world.board.find(agreement.CellOf(from)); cell != world.board.end()) {
        World next = world;
        Agreement& hearing = *next.ranks[Index(rank)].agreement;
        ASSERT_FALSE(hearing.Heard(from, cell->second.substr(0, cell->second.size() / 2)).ok()) << "it was torn";
        ASSERT_EQ(Signature(next), Signature(world)) << "what was torn is not taken";
        const std::string stage = hearing.cell();
        ASSERT_TRUE(hearing.Heard(from, cell->second).ok());
        if (hearing.cell() == stage) {
          const std::string before = Signature(next);
          ASSERT_TRUE(hearing.Heard(from, cell->second).ok());
          ASSERT_EQ(Signature(next), before) << "what comes twice is taken once";
        }
        Enter(std::move(next));
      }
      if (!scenario_.with_faults) continue;
      World next = world;  // Also of one that has spoken, and is late.
      next.ranks[Index(rank)].agreement->Silent(from, "was silent");
      Enter(std::move(next));
    }
  }

  void FindRecord(const World& world, int rank) {
    const Rank& of = world.ranks[Index(rank)];
    World found = world;
    Rank& finder = found.ranks[Index(rank)];
    if (of.agreement->HasRecord(0)) {
      finder.agreement->Found(0, of.served ? *of.served : of.stored);
    } else {  // No two searches find the same.
      const std::string record = "s" + std::to_string(rank) + std::to_string(of.starts) + std::to_string(of.round);
      finder.stored = record;
      finder.agreement->Found(0, record);
    }
    Enter(std::move(found));
    if (!scenario_.with_faults) return;
    World failed = world;
    failed.ranks[Index(rank)].agreement->Found(0, InternalError("the search failed"));
    Enter(std::move(failed));
  }

  void MakeReady(const World& world, int rank) {
    const std::string choice = ChoiceOf(world.ranks[Index(rank)]);
    World ready = world;
    ready.ranks[Index(rank)].agreement->Ready(0, Of(choice));
    Enter(std::move(ready));
    if (!scenario_.with_faults) return;
    World failed = world;
    failed.ranks[Index(rank)].agreement->Ready(0, InternalError("it does not compile"));
    Enter(std::move(failed));
    World other = world;
    other.ranks[Index(rank)].agreement->Ready(0, Of(choice + " by another compiler"));
    // Whoever serves by that would serve something else.
    other.ranks[Index(rank)].stored = choice;
    Enter(std::move(other));
  }

  Scenario scenario_;
  std::set<std::string> seen_;
  std::vector<World> open_;
  std::set<int> served_at_the_end_;
  std::set<const Rank*> ready_;
};

const std::vector<std::array<std::string, kRanks>>& Stores() {
  static const auto* const stores = new std::vector<std::array<std::string, kRanks>>{
      {"", "", ""}, {"x", "x", "x"}, {"x", "y", "y"}, {"", "y", ""}, {"", "y", "z"}, {"x", "x", ""}};
  return *stores;
}

TEST(ExplorerTest, NoTwoRanksServeDifferentChoicesWhateverHappens) {
  for (const auto& stored : Stores()) {
    Explorer explorer({"stored " + stored[0] + "," + stored[1] + "," + stored[2], stored});
    explorer.Run();
    ASSERT_FALSE(HasFailure());
    std::printf("%s,%s,%s: %zu states\n", stored[0].c_str(), stored[1].c_str(), stored[2].c_str(),
                explorer.num_states());
    EXPECT_EQ(explorer.served_at_the_end(), (std::set<int>{0, 1, 2, 3})) << "faults make a difference";
  }
}

TEST(ExplorerTest, WithoutFaultsAllServe) {
  for (const auto& stored : Stores()) {
    Explorer explorer({"stored", stored, {"a", "a", "a"}, false, /*with_faults=*/false});
    explorer.Run();
    EXPECT_EQ(explorer.served_at_the_end(), std::set<int>{3});
  }
}

TEST(ExplorerTest, KindsAgreeAmongEachOtherWherePolicyLetsThem) {
  for (const auto& stored : Stores()) {
    Explorer explorer({"kinds", stored, {"a", "b", "a"}, /*mixed_kinds=*/true});
    explorer.Run();
    Explorer calm({"kinds", stored, {"a", "b", "a"}, true, /*with_faults=*/false});
    calm.Run();
    EXPECT_EQ(calm.served_at_the_end(), std::set<int>{3});
    Explorer refused({"kinds", stored, {"a", "b", "a"}, false, false});
    refused.Run();
    EXPECT_EQ(refused.served_at_the_end(), std::set<int>{0});
  }
}

}  // namespace
}  // namespace tuneonce
