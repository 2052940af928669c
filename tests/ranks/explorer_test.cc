// Every interleaving of three ranks that agree: messages that come late, twice, torn or never, ranks that crash, with
// or without what they had just sent, and start again, searches that fail, compilers that differ, engines that take
// time to say what a cell holds. What is explored is Agreement itself; a board takes the place of the engine. States
// that were seen are not entered again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ranks/agreement.h"
#include "testing/in_child.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

constexpr int kRanks = 3;
/// How many things may go wrong on one way, of any kind: with one more the ways are twenty times as many, and none is
/// of a new sort. What a sanitizer finds it finds with one.
constexpr int kMostFaults = testing::kIsSanitized ? 1 : 2;
using Want = Agreement::Want;

Fingerprint Of(const std::string& text) { return Fingerprinter().Add(text).Finish(); }

/// What a rank has of each key, and what may go wrong.
struct Scenario {
  std::string name;
  std::array<std::string, kRanks> stored;  // A record; empty: none.
  std::array<std::string, kRanks> kinds = {"a", "a", "a"};
  bool mixed_kinds = false;
  bool with_faults = true;
  bool may_differ = false;
  std::size_t num_keys = 1;
  int num_turns = 2;
  std::array<bool, kRanks> may_search = {true, true, true};
  std::array<bool, kRanks> is_slow = {false, false, false};  // It goes on while what it sent is on its way.
  std::array<bool, kRanks> leaves = {false, false, false};   // All searches of other ranks.
  std::array<std::set<std::size_t>, kRanks> waits = {};      // Keys whose code is being compiled.
  std::size_t left_to_others = 1;
  std::uint64_t cost_of_first_key = 1;  // Of the others 1.
  int most_faults = kMostFaults;
};

/// What a rank has of a key.
struct Held {
  std::string stored;
  std::string ready;                  // What would run: a selection, as some compiler made it.
  std::optional<std::string> served;  // The selection,
  std::string runs;                   // and what runs of it.
};

/// One rank: its present agreement, and what it runs since an earlier one.
struct Rank {
  std::optional<Agreement> agreement;  // Empty: it is down.
  int starts = 0, turn = 0;
  std::vector<Held> keys;
  std::set<std::string> written;  // The cells that it has tried to write in this turn.
  bool has_failed = false;        // A search of this turn.

  bool ServesAll() const {
    return std::all_of(keys.begin(), keys.end(), [](const Held& held) { return held.served.has_value(); });
  }
};

/// What a rank wrote once, and the board does not have yet.
struct Sent {
  int rank;
  std::string cell, bytes;
};

struct World {
  std::array<Rank, kRanks> ranks;
  std::map<std::string, std::string> board;
  std::vector<Sent> on_the_way;
  int faults = 0;
  std::size_t num_searches = 0;

  const Sent* FindSent(int rank, const std::string& cell) const {
    const auto found = std::find_if(on_the_way.begin(), on_the_way.end(),
                                    [&](const Sent& sent) { return sent.rank == rank && sent.cell == cell; });
    return found == on_the_way.end() ? nullptr : &*found;
  }
  void Arrive(const Sent* sent) {
    board.try_emplace(sent->cell, sent->bytes);
    Lose(sent);
  }
  void Lose(const Sent* sent) { on_the_way.erase(on_the_way.begin() + (sent - on_the_way.data())); }
};

class Explorer {
 public:
  explicit Explorer(Scenario scenario) : scenario_(std::move(scenario)) {}

  void Run() {
    World world;
    for (int rank = 0; rank < kRanks; ++rank) {
      world.ranks[Index(rank)].keys.assign(scenario_.num_keys, {scenario_.stored[Index(rank)], "", std::nullopt, ""});
      Begin(&world, rank);
    }
    Enter(world);
    while (!open_.empty() && !::testing::Test::HasFailure()) {
      World next = std::move(open_.back());
      open_.pop_back();
      Expand(next);
    }
    std::printf("%s: %zu states\n", scenario_.name.c_str(), seen_.size());
  }

  std::size_t num_states() const { return seen_.size(); }
  /// How many ranks ran a selection of every key in states where nothing can happen any more: of all such states.
  const std::set<int>& served_at_the_end() const { return served_at_the_end_; }
  /// How many searches were made until such a state.
  const std::set<std::size_t>& searches_at_the_end() const { return searches_at_the_end_; }

 private:
  static std::size_t Index(int rank) { return static_cast<std::size_t>(rank); }

  void Begin(World* world, int rank) const {
    Rank& of = world->ranks[Index(rank)];
    Vote vote;
    vote.kind = scenario_.kinds[Index(rank)];
    for (std::size_t i = 0; i < of.keys.size(); ++i) {
      const Held& held = of.keys[i];
      KeyVote key;
      key.key = key.search = Of("key" + std::to_string(i));
      key.definition = Of("definition");
      key.cost = i == 0 ? scenario_.cost_of_first_key : 1;
      if (!scenario_.may_search[Index(rank)]) key.state = KeyVote::kMayNotSearch;
      if (!held.stored.empty()) key.state = KeyVote::kStored;
      if (held.served) key.state = KeyVote::kServed;
      if (key.has_record()) key.selection = Of(held.served ? *held.served : held.stored);
      vote.keys.push_back(key);
    }
    of.written.clear();
    of.has_failed = false;
    Agreement::Options options;
    options.rank = rank;
    options.size = kRanks;
    options.turn = static_cast<std::uint64_t>(of.turn);
    options.nonce = static_cast<std::uint64_t>(rank * 10 + of.starts);
    options.mixed_kinds = scenario_.mixed_kinds;
    options.may_differ = scenario_.may_differ;
    options.left_to_others = scenario_.left_to_others;
    of.agreement.emplace(options, std::move(vote));
  }

  /// What `rank` has decided on: what it would run.
  static std::string Explain(const Rank& of, std::size_t key) {
    const std::string& decision = of.agreement->DecisionOf(key);
    const Held& held = of.keys[key];
    return !decision.empty() ? decision : held.served ? *held.served : held.stored;
  }

  static std::string Signature(const World& world) {
    std::string text;
    for (const Rank& of : world.ranks) {
      text += std::to_string(of.starts) + std::to_string(of.turn) + (of.has_failed ? "!" : "");
      for (const Held& held : of.keys) {
        text += held.stored + "/" + held.served.value_or("-") + "/" + held.runs + "/" + held.ready + "/";
      }
      if (!of.agreement) {
        text += "down;";
        continue;
      }
      const Agreement& agreement = *of.agreement;
      text += std::to_string(static_cast<int>(agreement.want())) + agreement.cell() + ":";
      for (int awaited : agreement.awaited()) text += std::to_string(awaited) + agreement.CellOf(awaited);
      for (const std::string& cell : of.written) text += "," + cell;
      for (std::size_t key : agreement.wanted()) text += ";" + std::to_string(key);
      text += agreement.MayPostpone() ? "," : ".";
      for (std::size_t i = 0; i < of.keys.size(); ++i) {
        text += agreement.outcome(i).ToString() + agreement.DecisionOf(i) + ";";
      }
    }
    for (const auto& [cell, bytes] : world.board) text += cell + "=" + bytes + ";";
    for (const Sent& sent : world.on_the_way) text += std::to_string(sent.rank) + sent.cell + ">" + sent.bytes + ";";
    return text + std::to_string(world.faults);
  }

  void Enter(World world) {
    // An agreement that is over: its selection is served from now on, or nothing; then the next turn may begin.
    for (Rank& of : world.ranks) {
      const bool is_over = of.agreement && of.agreement->want() == Want::kNothing;
      if (!is_over) continue;
      for (std::size_t i = 0; i < of.keys.size(); ++i) {
        Held& held = of.keys[i];
        if (!of.agreement->outcome(i).ok()) {
          ASSERT_FALSE(of.agreement->outcome(i).message().empty());
          continue;
        }
        held.served = Explain(of, i);
        held.stored = *held.served;
        held.runs = held.ready;
      }
      if (++of.turn < scenario_.num_turns) Begin(&world, static_cast<int>(&of - world.ranks.data()));
      if (of.turn == scenario_.num_turns) of.agreement.reset();
    }
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      std::optional<Agreement>& agreement = world.ranks[rank].agreement;
      while (scenario_.leaves[rank] && agreement && agreement->ToTake()) agreement->Leave(*agreement->ToTake());
      if (agreement) agreement->NoteWaits([&](std::size_t key) { return scenario_.waits[rank].count(key) > 0; });
    }
    if (!seen_.insert(Of(Signature(world))).second) return;
    Check(world);
    open_.push_back(std::move(world));
  }

  /// No two ranks of one kind run different code, or decide on different selections.
  void Check(const World& world) {
    CheckDecided(world);
    std::map<std::pair<std::string, std::size_t>, std::string> served;  // By kind and key.
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::size_t i = 0; i < scenario_.num_keys; ++i) {
        const Held& held = world.ranks[Index(rank)].keys[i];
        if (!held.served) continue;
        const std::string& first = served.try_emplace({scenario_.kinds[Index(rank)], i}, held.runs).first->second;
        ASSERT_EQ(first, held.runs) << scenario_.name << ": " << Signature(world);
      }
    }
  }

  /// Already where it is decided: the digests of the last stage would only turn a difference into an error.
  void CheckDecided(const World& world) {
    std::map<std::tuple<std::string, int, std::size_t>, std::string> decided;  // By kind, turn and key.
    for (int rank = 0; rank < kRanks; ++rank) {
      const Rank& of = world.ranks[Index(rank)];
      if (!of.agreement || of.agreement->num_awaited() != Agreement::kNumMessages) continue;
      for (std::size_t i = 0; i < scenario_.num_keys; ++i) {
        if (!of.agreement->outcome(i).ok()) continue;
        const std::string mine = Explain(of, i);
        const std::string& first = decided.try_emplace({scenario_.kinds[Index(rank)], of.turn, i}, mine).first->second;
        ASSERT_EQ(first, mine) << scenario_.name << ": " << Signature(world);
      }
    }
  }

  /// What may happen next. What one rank does by itself, and hearing what is there for good, comes to the same whatever
  /// the others do before it: where a rank is at that, it is tried first, and only it.
  void Expand(const World& world) {
    bool is_end = true;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (IsIndependent(world, rank)) return Step(world, rank);
    }
    for (std::size_t i = 0; i < world.on_the_way.size(); ++i) {
      World arrived = world, lost = world;
      arrived.Arrive(&arrived.on_the_way[i]);
      Enter(std::move(arrived));
      if (world.ranks[Index(world.on_the_way[i].rank)].agreement) continue;
      lost.Lose(&lost.on_the_way[i]);  // With the rank that sent it.
      Enter(std::move(lost));
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      const Rank& of = world.ranks[Index(rank)];
      if (of.agreement) {
        is_end = false;
        Step(world, rank);
      } else if (of.turn < scenario_.num_turns) {  // Else it was done.
        World next = world;
        Rank& again = next.ranks[Index(rank)];
        ++again.starts;
        again.turn = 0;
        Begin(&next, rank);
        Enter(std::move(next));
      }
    }
    if (!is_end) return;
    int serving = 0;
    for (const Rank& of : world.ranks) serving += of.ServesAll() ? 1 : 0;
    served_at_the_end_.insert(serving);
    searches_at_the_end_.insert(world.num_searches);
  }

  static bool IsIndependent(const World& world, int rank) {
    const Rank& of = world.ranks[Index(rank)];
    if (!of.agreement) return false;
    const Want want = of.agreement->want();
    if (want == Want::kFind || want == Want::kMakeReady) return true;
    return want == Want::kHear && world.board.count(of.agreement->CellOf(of.agreement->awaited().front())) != 0;
  }

  void Step(const World& world, int rank) {
    if (MayFail(world)) Enter(Crashed(world, rank));
    switch (world.ranks[Index(rank)].agreement->want()) {
      case Want::kPost:
        return Post(world, rank);
      case Want::kHear:
        return Hear(world, rank);
      case Want::kFind:
        return FindRecord(world, rank);
      case Want::kMakeReady:
        return MakeReady(world, rank);
      case Want::kNothing:
        FAIL() << "it was over";
    }
  }

  bool MayFail(const World& world) const { return scenario_.with_faults && world.faults < scenario_.most_faults; }

  static World Crashed(const World& world, int rank) {
    World next = world;
    Rank& of = next.ranks[Index(rank)];
    of.agreement.reset();
    of.written.clear();
    for (Held& held : of.keys) held = {held.stored, "", std::nullopt, ""};  // Its records are still there.
    ++next.faults;
    return next;
  }

  void Post(const World& world, int rank) {
    World next = world;
    Rank& of = next.ranks[Index(rank)];
    Agreement& agreement = *of.agreement;
    const std::string cell = agreement.cell();
    of.written.insert(cell);
    if (scenario_.is_slow[Index(rank)] && agreement.MayPostpone()) {
      World later = next;
      if (later.FindSent(rank, cell) == nullptr) later.on_the_way.push_back({rank, cell, agreement.bytes()});
      later.ranks[Index(rank)].agreement->Postponed();
      Enter(std::move(later));
    }
    if (const Sent* sent = next.FindSent(rank, cell)) next.Arrive(sent);
    const std::string held = next.board.try_emplace(cell, agreement.bytes()).first->second;
    if (MayFail(world)) Enter(Crashed(next, rank));  // It was sent, and nobody knows.
    agreement.Posted(held);
    Enter(std::move(next));
  }

  /// Whether that rank may still say what `listener` waits for.
  static bool MaySpeak(const World& world, int rank, const Agreement& listener) {
    const Rank& of = world.ranks[Index(rank)];
    return of.agreement && of.agreement->options().turn <= listener.options().turn;
  }

  static bool ServesNothing(const Agreement& agreement) {
    bool serves = false;
    for (std::size_t key = 0; key < agreement.num_keys(); ++key) serves |= agreement.outcome(key).ok();
    return !serves;
  }

  void Hear(const World& world, int rank) {
    const Agreement& agreement = *world.ranks[Index(rank)].agreement;
    const std::vector<int> awaited = agreement.awaited();
    ASSERT_FALSE(awaited.empty()) << "nobody is waited for: it would wait for ever";
    const int from = awaited.front();  // In which order they are heard makes no difference.
    const auto cell = world.board.find(agreement.CellOf(from));
    if (cell != world.board.end()) Hear(world, rank, from, cell->second);
    // A rank that is down, or over, says nothing: that is no fault more. One that may still speak is late: a fault, but
    // for the last message, which each pair of ranks may miss of each other.
    const bool is_late = cell != world.board.end() || MaySpeak(world, from, agreement);
    const bool is_last = agreement.num_awaited() == 3;
    // Who serves nothing already is none the wiser.
    if (is_late && ServesNothing(agreement)) return;
    const bool is_fault = is_late && !is_last;
    if (is_late && (is_last ? !scenario_.with_faults : !MayFail(world))) return;
    World next = world;
    next.faults += is_fault ? 1 : 0;
    next.ranks[Index(rank)].agreement->Silent(from, "was silent");
    Enter(std::move(next));
  }

  void Hear(const World& world, int rank, int from, const std::string& bytes) {
    World next = world;
    if (world.faults == 0) CheckDamagedAndRepeated(world, rank, from, bytes);
    ASSERT_TRUE(next.ranks[Index(rank)].agreement->Heard(from, bytes).ok());
    Enter(std::move(next));
  }

  void CheckDamagedAndRepeated(World world, int rank, int from, const std::string& bytes) const {
    Agreement& hearing = *world.ranks[Index(rank)].agreement;
    std::string before = Signature(world);
    ASSERT_FALSE(hearing.Heard(from, bytes.substr(0, bytes.size() / 2)).ok()) << "it was torn";
    ASSERT_EQ(Signature(world), before) << "what was torn is not taken";
    const std::string cell = hearing.CellOf(from);
    ASSERT_TRUE(hearing.Heard(from, bytes).ok());
    if (hearing.want() != Want::kHear || hearing.CellOf(from) != cell) return;  // It would be another message.
    before = Signature(world);
    ASSERT_TRUE(hearing.Heard(from, bytes).ok());
    ASSERT_EQ(Signature(world), before) << "what comes twice is taken once";
  }

  void FindRecord(const World& world, int rank) {
    const Rank& of = world.ranks[Index(rank)];
    const std::size_t key = of.agreement->wanted().front();
    World found = world;
    Rank& finder = found.ranks[Index(rank)];
    Held& held = finder.keys[key];
    if (of.agreement->HasRecord(key)) {
      finder.agreement->Found(key, held.served ? *held.served : held.stored);
    } else {  // No two searches find the same.
      ++found.num_searches;
      held.stored = "s" + std::to_string(rank) + std::to_string(of.starts) + std::to_string(of.turn);
      finder.agreement->Found(key, held.stored);
    }
    Enter(std::move(found));
    if (!MayFail(world)) return;
    World failed = world;
    ++failed.faults;
    failed.ranks[Index(rank)].has_failed = true;
    failed.ranks[Index(rank)].agreement->Found(key, InternalError("the search failed"));
    Enter(std::move(failed));
  }

  void MakeReady(const World& world, int rank) {
    const Rank& of = world.ranks[Index(rank)];
    const std::size_t key = of.agreement->wanted().front();
    const std::string selection = Explain(of, key);
    const bool is_loaded = of.keys[key].served == selection;
    auto enter = [&](const Result<std::string>& made, int faults) {
      World next = world;
      next.faults += faults;
      Rank& maker = next.ranks[Index(rank)];
      if (made.ok()) maker.keys[key].ready = *made;
      maker.agreement->Ready(key, made.ok() ? Result<Fingerprint>(Of(*made)) : made.status());
      Enter(std::move(next));
    };
    enter(is_loaded ? of.keys[key].runs : selection, 0);
    if (is_loaded || !MayFail(world)) return;
    enter(InternalError("it does not compile"), 1);
    enter(selection + " by another compiler", 1);
  }

  Scenario scenario_;
  std::set<Fingerprint> seen_;
  std::vector<World> open_;
  std::set<int> served_at_the_end_;
  std::set<std::size_t> searches_at_the_end_;
};

constexpr std::array<std::array<const char*, kRanks>, 3> kStores = {{{"", "", ""}, {"x", "y", "y"}, {"x", "x", ""}}};

class ExplorerTest : public ::testing::TestWithParam<std::array<const char*, kRanks>> {
 protected:
  static std::array<std::string, kRanks> Stored() { return {GetParam()[0], GetParam()[1], GetParam()[2]}; }
};

TEST_P(ExplorerTest, NoTwoRanksServeDifferentSelectionsWhateverHappens) {
  Explorer explorer({"faults", Stored()});
  explorer.Run();
  EXPECT_EQ(explorer.served_at_the_end(), (std::set<int>{0, 1, 2, 3})) << "faults make a difference";
  EXPECT_GT(explorer.num_states(), 1000u);
}

TEST_P(ExplorerTest, WithoutFaultsAllServe) {
  Explorer explorer({"calm", Stored(), {"a", "a", "a"}, false, /*with_faults=*/false});
  explorer.Run();
  EXPECT_EQ(explorer.served_at_the_end(), std::set<int>{3});
}

TEST_P(ExplorerTest, KindsAgreeAmongEachOtherWherePolicyLetsThem) {
  Explorer calm({"kinds", Stored(), {"a", "b", "a"}, /*mixed_kinds=*/true, /*with_faults=*/false});
  calm.Run();
  EXPECT_EQ(calm.served_at_the_end(), std::set<int>{3});
  Explorer refused({"refused", Stored(), {"a", "b", "a"}, false, false});
  refused.Run();
  EXPECT_EQ(refused.served_at_the_end(), std::set<int>{0});
}

INSTANTIATE_TEST_SUITE_P(Stores, ExplorerTest, ::testing::ValuesIn(kStores));

TEST(ExplorerOfTakeoversTest, SurvivorsServeWhatTheyAgreedOnWithoutALostRank) {
  Explorer explorer({"takeovers", {"", "", ""}, {"a", "a", "a"}, false, /*with_faults=*/true, /*may_differ=*/true});
  explorer.Run();
  EXPECT_EQ(explorer.served_at_the_end(), (std::set<int>{0, 1, 2, 3}));
}

/// Two ranks deal three searches among each other, so that both may claim the last one; the third rank takes what they
/// find, and is the one to notice a lost rank whose search nobody has started.
Scenario Claims() {
  Scenario scenario;
  scenario.name = "claims";
  scenario.num_keys = 3;
  scenario.num_turns = 1;
  scenario.may_search = {true, true, false};
  return scenario;
}

TEST(ExplorerOfClaimsTest, WithoutFaultsAllServe) {
  Scenario scenario = Claims();
  scenario.with_faults = false;
  Explorer explorer(scenario);
  explorer.Run();
  EXPECT_EQ(explorer.served_at_the_end(), std::set<int>{3});
  EXPECT_EQ(explorer.searches_at_the_end(), std::set<std::size_t>{scenario.num_keys}) << "one for each key";
}

TEST(ExplorerOfClaimsTest, NoTwoRanksServeDifferentSelectionsWhateverHappens) {
  Scenario scenario = Claims();
  scenario.may_differ = true;
  Explorer explorer(scenario);
  explorer.Run();
  EXPECT_EQ(explorer.served_at_the_end(), (std::set<int>{0, 1, 2, 3})) << "faults make a difference";
}

TEST(ExplorerOfClaimsTest, RanksMayLeaveSearchesToEachOther) {
  for (const bool with_faults : {false, true}) {
    Scenario scenario = Claims();
    scenario.name = "left claims";
    scenario.leaves = {!with_faults, true, false};
    scenario.may_differ = with_faults;
    scenario.with_faults = with_faults;
    Explorer explorer(scenario);
    explorer.Run();
    EXPECT_EQ(explorer.served_at_the_end(), with_faults ? std::set<int>({0, 1, 2, 3}) : std::set<int>{3});
  }
}

/// As Claims, with a rank that is dealt three of four searches. The engine answers it late, so that it claims the last
/// one while it searches.
Scenario SlowClaims() {
  Scenario scenario = Claims();
  scenario.name = "slow claims";
  scenario.num_keys = 4;
  scenario.cost_of_first_key = 10;
  scenario.is_slow = {false, true, false};
  scenario.waits[1] = {3};  // It claims 2 before.
  scenario.left_to_others = 0;
  scenario.most_faults = kMostFaults - 1;
  return scenario;
}

TEST(ExplorerOfSlowClaimsTest, WithoutFaultsAllServe) {
  Scenario scenario = SlowClaims();
  scenario.with_faults = false;
  Explorer explorer(scenario);
  explorer.Run();
  EXPECT_EQ(explorer.served_at_the_end(), std::set<int>{3});
  EXPECT_EQ(explorer.searches_at_the_end(), std::set<std::size_t>{scenario.num_keys}) << "one for each key";
}

TEST(ExplorerOfSlowClaimsTest, NoTwoRanksServeDifferentSelectionsWhateverHappens) {
  Scenario scenario = SlowClaims();
  scenario.may_differ = true;
  Explorer explorer(scenario);
  explorer.Run();
  EXPECT_GT(explorer.served_at_the_end().size(), 1u) << "faults make a difference";
}

TEST(ExplorerOfKindsTest, NoTwoRanksOfAKindServeDifferentSelectionsWhateverHappens) {
  Explorer explorer({"kinds", {"", "y", ""}, {"a", "b", "a"}, /*mixed_kinds=*/true});
  explorer.Run();
}

}  // namespace
}  // namespace tuneonce
