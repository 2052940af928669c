// Searches of a list of keys that the ranks of a group divide among each other: who searches for what, what is sent,
// and what happens if a rank is lost, slow, or has a store in another state.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "compile/command_toolchain.h"
#include "ranks/agree.h"
#include "ranks/agreement.h"
#include "testing/expect_status.h"
#include "testing/faulty_rank.h"
#include "testing/rank_threads.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce::testing {
namespace {

constexpr int kFourRanks = 4;

std::vector<TunedKernel::Shape> ShapesOf(int count) {
  std::vector<TunedKernel::Shape> shapes;
  for (int i = 1; i <= count; ++i) shapes.push_back({{"N", 100 * i}});
  return shapes;
}

/// What a rank had after a warm-up of ShapesOf(keys).
struct Warmed {
  std::vector<Status> statuses;
  std::vector<std::string> runs;
  Counters counters;
};

std::vector<Warmed> WarmUp(RankThreads& ranks, int keys) {
  std::vector<Warmed> all(ranks.policies.size());
  ranks.Run([&](RankThread& rank) {
    Warmed& mine = all[static_cast<std::size_t>(rank.rank)];
    Result<std::vector<WarmedKey>> warmed = WarmupAll(rank.cu_stream(), {{&*rank.kernel, ShapesOf(keys)}});
    ASSERT_OK(warmed);
    for (const WarmedKey& key : *warmed) mine.statuses.push_back(key.status);
    for (int i = 1; i <= keys; ++i) mine.runs.push_back(rank.Runs(100 * i));
    mine.counters = rank.kernel->counters();
  });
  return all;
}

void ExpectAllReadyAndEqual(const std::vector<Warmed>& all) {
  for (const Warmed& rank : all) {
    for (const Status& status : rank.statuses) EXPECT_OK(status);
    EXPECT_EQ(rank.runs, all.front().runs);
  }
}

std::int64_t TunesOf(const std::vector<Warmed>& all) {
  std::int64_t tunes = 0;
  for (const Warmed& rank : all) tunes += rank.counters.tunes;
  return tunes;
}

TEST(KeySharingTest, EachRankSearchesForItsShareAndAllRunTheSame) {
  RankThreads ranks(kFourRanks);
  const std::vector<Warmed> all = WarmUp(ranks, 12);
  ExpectAllReadyAndEqual(all);
  for (const Warmed& rank : all) EXPECT_GE(rank.counters.tunes, 1);
  EXPECT_EQ(TunesOf(all), 12);
  for (const AutotunePolicy& policy : ranks.policies) EXPECT_EQ(policy.store->List()->size(), 12u) << "the next start";
}

TEST(KeySharingTest, PendingKeysAreSharedAtTunePending) {
  RankThreads ranks(kFourRanks);
  std::vector<std::int64_t> tunes(kFourRanks);
  ranks.Run([&](RankThread& rank) {
    for (int i = 1; i <= 8; ++i) EXPECT_OK(rank.Launch(static_cast<std::size_t>(100 * i)));
    EXPECT_EQ(rank.kernel->counters().tunes, 0);
    EXPECT_OK(rank.kernel->TunePending(rank.cu_stream()));
    EXPECT_EQ(rank.kernel->counters().now.pending_keys, 0);
    tunes[static_cast<std::size_t>(rank.rank)] = rank.kernel->counters().tunes;
  });
  EXPECT_EQ(std::accumulate(tunes.begin(), tunes.end(), std::int64_t{0}), 8);
  for (std::int64_t mine : tunes) EXPECT_GE(mine, 1);
}

TEST(KeySharingTest, KernelsThatShareASelectionAreSearchedByOneRank) {
  RankThreads ranks(2);
  std::atomic<std::int64_t> tunes{0};
  for (AutotunePolicy& policy : ranks.policies) {
    policy.selection_group = "pair";
    policy.search.baseline_margin =
        100;  // The second kernel verifies the first one's selection; noise decides nothing.
  }
  ranks.Run([&](RankThread& rank) {
    Result<TunedKernel> other =
        TunedKernel::Create(ScaleKernel().Definition("other"), ranks.policies[static_cast<std::size_t>(rank.rank)]);
    ASSERT_OK(other);
    Result<std::vector<WarmedKey>> warmed =
        WarmupAll(rank.cu_stream(), {{&*rank.kernel, ShapesOf(1)}, {&*other, ShapesOf(1)}});
    ASSERT_OK(warmed);
    for (const WarmedKey& key : *warmed) EXPECT_OK(key.status);
    // Both keys have the same searching rank.
    const std::int64_t mine = rank.kernel->counters().tunes + other->counters().tunes;
    EXPECT_EQ(mine > 0, rank.rank == 0);
    tunes += mine;
  });
  EXPECT_GE(tunes, 1);
}

TEST(KeySharingTest, ManyKeysOfSeveralKernelsAreOneList) {
  RankThreads ranks(2);
  std::atomic<int> tuned_by_all{0};
  ranks.Run([&](RankThread& rank) {
    AutotunePolicy policy = ranks.policies[static_cast<std::size_t>(rank.rank)];
    Result<TunedKernel> other = TunedKernel::Create(ScaleKernel().Definition("other"), policy);
    ASSERT_OK(other);
    Result<std::vector<WarmedKey>> warmed =
        WarmupAll(rank.cu_stream(), {{&*rank.kernel, ShapesOf(2)}, {&*other, ShapesOf(2)}});
    ASSERT_OK(warmed);
    ASSERT_EQ(warmed->size(), 4u);
    int tuned = 0;
    for (const WarmedKey& key : *warmed) {
      EXPECT_OK(key.status);
      tuned += key.state == WarmedKey::State::kTuned ? 1 : 0;
      EXPECT_TRUE(key.state == WarmedKey::State::kTuned || key.state == WarmedKey::State::kFromRanks) << key.key;
    }
    EXPECT_GE(tuned, 1);
    tuned_by_all += tuned;
  });
  EXPECT_EQ(tuned_by_all, 4);
}

TEST(KeySharingTest, EachRankCompilesForItsKeysAhead) {
  RankThreads ranks(2);
  std::map<int, int> ahead;  // How many candidates each rank compiled ahead.
  Mutex mutex;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.policies[static_cast<std::size_t>(rank)].search.on_progress = [&, rank](const SearchProgress& progress) {
      MutexLock lock(mutex);
      if (progress.kernel == "all kernels") ahead[rank] = progress.total;
    };
  }
  ExpectAllReadyAndEqual(WarmUp(ranks, 4));
  // Of each key the fallback's code and four candidates'.
  EXPECT_EQ(ahead, (std::map<int, int>{{0, 10}, {1, 10}}));
}

/// A compiler with a version of its own that counts what it compiles, and may be slow.
class OwnCompiler final : public Toolchain {
 public:
  explicit OwnCompiler(std::string version, int delay_ms = 0) : version_(std::move(version)), delay_ms_(delay_ms) {}
  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override { return version_; }
  std::string Description() const override { return version_; }
  int compiled() const { return compiled_; }

 protected:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    ++compiled_;
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    return host_.Compile(source, hints, target, limits);
  }

 private:
  const std::string version_;
  const int delay_ms_;
  const CommandToolchain host_{kHostCompiler, Tools()};
  mutable std::atomic<int> compiled_{0};
};

TEST(KeySharingTest, OnlyRanksWithTheCompilersOfTheFirstSearch) {
  RankThreads ranks(3);
  for (int rank = 0; rank < 3; ++rank) {
    AutotunePolicy& policy = ranks.policies[static_cast<std::size_t>(rank)];
    policy.search.runtime = RuntimeWith(std::make_shared<OwnCompiler>(rank == 1 ? "other 2" : "usual 1"));
  }
  const std::vector<Warmed> all = WarmUp(ranks, 4);
  ExpectAllReadyAndEqual(all);
  EXPECT_GE(all[0].counters.tunes, 1);
  EXPECT_EQ(all[1].counters.tunes, 0);
  EXPECT_EQ(all[0].counters.tunes + all[2].counters.tunes, 4);
}

TEST(KeySharingTest, WithExchangeCodeEachCandidateIsCompiledOnceInTheGroup) {
  for (bool exchanges : {false, true}) {
    RankThreads ranks(2);
    std::vector<std::shared_ptr<OwnCompiler>> compilers;
    for (AutotunePolicy& policy : ranks.policies) {
      compilers.push_back(std::make_shared<OwnCompiler>("usual 1"));
      policy.search.runtime = RuntimeWith(compilers.back());
      policy.ranks.exchange_code = exchanges;
    }
    const std::vector<Warmed> all = WarmUp(ranks, 1);
    ExpectAllReadyAndEqual(all);
    EXPECT_EQ(compilers[0]->compiled(), 4) << "the configs of the key that this rank searched for";
    const int needed = all[1].runs.front() == kScaleBaseline ? 1 : 2;  // The selected config and the fallback.
    EXPECT_EQ(compilers[1]->compiled(), exchanges ? 0 : needed) << all[1].runs.front();
  }
}

TEST(KeySharingTest, ARankWithASlowCompilerIsWaitedFor) {
  constexpr int kSilenceMs = 600;  // Longer than a busy machine keeps a rank from its beat.
  RankThreads ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    AutotunePolicy& policy = ranks.policies[static_cast<std::size_t>(rank)];
    policy.search.runtime = RuntimeWith(std::make_shared<OwnCompiler>("usual 1", rank == 1 ? 4 * kSilenceMs : 0));
    policy.ranks.silence = std::chrono::milliseconds(kSilenceMs);
  }
  const std::vector<Warmed> all = WarmUp(ranks, 2);
  ExpectAllReadyAndEqual(all);
  EXPECT_EQ(all[1].counters.tunes, 1);
}

/// Rank `bad` falls silent before it sends its decisions.
std::vector<Warmed> WarmUpWithALostRank(RankThreads& ranks, int bad, int keys, bool may_differ) {
  const auto clock = std::make_shared<FaultClock>();
  const int size = static_cast<int>(ranks.policies.size());
  for (int rank = 0; rank < size; ++rank) {
    RankPolicy& policy = ranks.policies[static_cast<std::size_t>(rank)].ranks;
    policy.silence = std::chrono::milliseconds(600);
    policy.may_differ = may_differ;
    const RankFault fault = rank == bad ? RankFault{RankFault::kHang, "/decision/"} : RankFault();
    policy.group = std::make_shared<FaultyRank>(policy.group, fault, clock);
  }
  std::vector<Warmed> all(ranks.policies.size());
  std::atomic<int> done{0};
  ranks.Run([&](RankThread& rank) {
    Warmed& mine = all[static_cast<std::size_t>(rank.rank)];
    Result<std::vector<WarmedKey>> warmed = WarmupAll(rank.cu_stream(), {{&*rank.kernel, ShapesOf(keys)}});
    if (rank.rank != bad && ++done == size - 1) clock->Release();
    ASSERT_OK(warmed);
    for (const WarmedKey& key : *warmed) mine.statuses.push_back(key.status);
    for (int i = 1; i <= keys; ++i) mine.runs.push_back(rank.Runs(100 * i));
    mine.counters = rank.kernel->counters();
  });
  return all;
}

TEST(KeySharingTest, ALostRankIsWaitedForOnceInAWarmUpByWhoeverLearnsOfIt) {
  constexpr std::chrono::milliseconds kSilence(1500);
  for (bool may_differ : {false, true}) {
    RankThreads ranks(3);
    const auto clock = std::make_shared<FaultClock>();
    for (int rank = 0; rank < 3; ++rank) {
      RankPolicy& policy = ranks.policies[static_cast<std::size_t>(rank)].ranks;
      policy.silence = kSilence;
      policy.may_differ = may_differ;
      const RankFault fault = rank == 1 ? RankFault{RankFault::kHang, "/decision/"} : RankFault();
      policy.group = std::make_shared<FaultyRank>(policy.group, fault, clock);
    }
    std::atomic<int> done{0};
    ranks.Run([&](RankThread& rank) {
      const auto begin = std::chrono::steady_clock::now();
      const Status warmed = rank.kernel->Warmup(rank.cu_stream(), ShapesOf(6));
      if (rank.rank != 1) {
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 2 * kSilence) << rank.rank;
        if (++done == 2) clock->Release();
      }
      EXPECT_EQ(warmed.ok(), may_differ) << warmed.ToString();
    });
  }
}

TEST(KeySharingTest, TheKeysOfALostRankAreTakenOverAndServedWhereRanksMayDiffer) {
  RankThreads ranks(3);
  const std::vector<Warmed> all = WarmUpWithALostRank(ranks, /*bad=*/1, /*keys=*/6, /*may_differ=*/true);
  EXPECT_EQ(all[0].runs, all[2].runs);
  for (int rank : {0, 2}) {
    const Warmed& mine = all[static_cast<std::size_t>(rank)];
    for (const Status& status : mine.statuses) EXPECT_OK(status);
    EXPECT_EQ(mine.counters.now.pending_keys, 0);
  }
  EXPECT_EQ(all[0].counters.tunes + all[2].counters.tunes, 6) << "four keys of their own and two of the lost rank";
  // The lost rank finds that it was given up, and runs its fallback.
  for (const std::string& runs : all[1].runs) EXPECT_EQ(runs, kScaleBaseline);
  EXPECT_EQ(all[1].counters.now.pending_keys, 6);
}

TEST(KeySharingTest, WithoutMayDifferALostRankIsAnErrorAndNoSearchIsLost) {
  RankThreads ranks(3);
  const std::vector<Warmed> all = WarmUpWithALostRank(ranks, /*bad=*/1, /*keys=*/6, /*may_differ=*/false);
  std::set<std::string> stored;
  for (int rank : {0, 2}) {
    for (const Status& status : all[static_cast<std::size_t>(rank)].statuses) {
      EXPECT_ERROR(status, StatusCode::kDeadlineExceeded, "rank 1 ");
    }
    for (const std::string& runs : all[static_cast<std::size_t>(rank)].runs) EXPECT_EQ(runs, kScaleBaseline);
    const Result<std::vector<TuningRecord>> records = ranks.policies[static_cast<std::size_t>(rank)].store->List();
    ASSERT_OK(records);
    for (const TuningRecord& record : *records) stored.insert(record.key.key_text);
  }
  EXPECT_EQ(stored.size(), 6u) << "the next start of the group searches for nothing";
}

TEST(KeySharingTest, NoRankWaitsForTheSlowKeyOfAnotherBeforeAllOthersAreDone) {
  constexpr int kKeys = 6;
  RankThreads ranks(2);
  const RecordStore& of_other = *ranks.policies[1].store;
  std::atomic<bool> was_in_time{true};
  ranks.policies[0].search.on_progress = [&](const SearchProgress& progress) {
    if (progress.stage != SearchProgress::Stage::kMeasure) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (of_other.List()->size() < kKeys - 1 && was_in_time) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (std::chrono::steady_clock::now() > end) was_in_time = false;
    }
  };
  const std::vector<Warmed> all = WarmUp(ranks, kKeys);
  EXPECT_TRUE(was_in_time);
  ExpectAllReadyAndEqual(all);
  EXPECT_EQ(all[0].counters.tunes, 1);
  EXPECT_EQ(all[1].counters.tunes, kKeys - 1);
}

/// `scale` of another source, so that the ranks' kernels have no code in common.
KernelDefinition OtherKernel() {
  const ScaleKernel scale;
  return ScaleIn(scale.space, scale.tile, "other", std::string("#define OTHER\n") + kScaleSource);
}

/// Two keys of each of two kernels, of which each rank is dealt one. Returns how many searches each rank made.
std::vector<std::int64_t> WarmUpTwoKernels(RankThreads& ranks) {
  std::vector<std::int64_t> tunes(ranks.policies.size());
  std::vector<std::vector<std::string>> runs(ranks.policies.size());
  ranks.Run([&](RankThread& rank) {
    const auto index = static_cast<std::size_t>(rank.rank);
    Result<TunedKernel> other = TunedKernel::Create(OtherKernel(), ranks.policies[index]);
    ASSERT_OK(other);
    Result<std::vector<WarmedKey>> warmed =
        WarmupAll(rank.cu_stream(), {{&*rank.kernel, ShapesOf(2)}, {&*other, ShapesOf(2)}});
    ASSERT_OK(warmed);
    for (const WarmedKey& key : *warmed) EXPECT_OK(key.status);
    tunes[index] = rank.kernel->counters().tunes + other->counters().tunes;
    Result<std::vector<TuningRecord>> records = ranks.policies[index].store->List();
    ASSERT_OK(records);
    for (const TuningRecord& record : *records) {
      runs[index].push_back(record.key.kernel + record.key.key_text + record.best.config.ToString());
    }
    std::sort(runs[index].begin(), runs[index].end());
  });
  EXPECT_EQ(runs.front().size(), 4u);
  EXPECT_EQ(runs.front(), runs.back());
  return tunes;
}

TEST(KeySharingTest, ARankDoesNotCompileAKernelThatAnotherRankCompiles) {
  RankThreads ranks(2);
  std::vector<std::shared_ptr<OwnCompiler>> compilers;
  for (int rank = 0; rank < 2; ++rank) {
    compilers.push_back(std::make_shared<OwnCompiler>("usual 1", rank == 1 ? 500 : 0));
    ranks.policies[static_cast<std::size_t>(rank)].search.runtime = RuntimeWith(compilers.back());
  }
  EXPECT_EQ(WarmUpTwoKernels(ranks), (std::vector<std::int64_t>{2, 2}));
  // Of its own kernel four configs; of the other one two selected ones and a fallback at most.
  for (const std::shared_ptr<OwnCompiler>& compiler : compilers) EXPECT_LE(compiler->compiled(), 4 + 3);
}

/// Of a guided search nobody knows what it compiles, so that no rank compiles it ahead.
TEST(KeySharingTest, ARankTakesTheSearchOfAnyKernelWhoseCodeItHasOrNobodyCompilesAhead) {
  const std::shared_ptr<RecordStore> code = MakeMemoryStore();
  struct Case {
    bool is_guided, takes;
  };
  for (const Case each : {Case{false, false}, {false, true}, {true, true}}) {
    const bool is_guided = each.is_guided, takes = each.takes;
    SCOPED_TRACE(is_guided);
    RankThreads ranks(2);
    for (AutotunePolicy& policy : ranks.policies) {
      if (is_guided) policy.search.strategy = Strategy::kGuided;
      if (!is_guided) policy.search.compile.cache = code;
    }
    const RecordStore& of_other = *ranks.policies[1].store;
    std::atomic<bool> was_in_time{true};
    // Rank 0 does not end its first search before the others have ended.
    ranks.policies[0].search.on_progress = [&](const SearchProgress& progress) {
      if (!takes || progress.stage != SearchProgress::Stage::kMeasure) return;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (of_other.List()->size() < 3 && was_in_time) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (std::chrono::steady_clock::now() > end) was_in_time = false;
      }
    };
    const std::vector<std::int64_t> tunes = WarmUpTwoKernels(ranks);
    EXPECT_TRUE(was_in_time);
    if (takes) {
      EXPECT_EQ(tunes, (std::vector<std::int64_t>{1, 3}));
    }
  }
}

/// A rank that dies as soon as its first claim is written.
class DiesAfterItsClaim final : public RankGroup {
 public:
  DiesAfterItsClaim(std::shared_ptr<RankGroup> inner, std::atomic<bool>& is_dead)
      : inner_(std::move(inner)), is_dead_(is_dead) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Status Put(const std::string& name, const std::string& bytes) override {
    return is_dead_ ? Dead() : inner_->Put(name, bytes);
  }
  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    return is_dead_ ? Dead() : inner_->Get(name, wait_ms);
  }
  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override {
    if (is_dead_) return Dead();
    const bool is_claim = DecodeClaim(bytes).has_value();
    Result<std::string> held = inner_->PutOnce(name, bytes, wait_ms);
    is_dead_ = is_claim;
    return held;
  }

 private:
  static Status Dead() { return UnavailableError("the rank is dead"); }

  const std::shared_ptr<RankGroup> inner_;
  std::atomic<bool>& is_dead_;
};

TEST(KeySharingTest, AKeyOfARankThatDiesRightAfterItsClaimIsTakenOver) {
  RankThreads ranks(2);
  std::atomic<bool> is_dead{false};
  for (AutotunePolicy& policy : ranks.policies) {
    policy.ranks.may_differ = true;
    policy.ranks.silence = std::chrono::milliseconds(600);
  }
  ranks.policies[1].ranks.group = std::make_shared<DiesAfterItsClaim>(ranks.policies[1].ranks.group, is_dead);
  // The other rank takes nothing before.
  ranks.policies[0].search.on_progress = [&](const SearchProgress&) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!is_dead && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  const std::vector<Warmed> all = WarmUp(ranks, 4);
  for (const Status& status : all[0].statuses) EXPECT_OK(status);
  EXPECT_EQ(all[0].counters.tunes, 3) << "all keys but the first one of the other rank";
  for (const std::string& runs : all[1].runs) EXPECT_EQ(runs, kScaleBaseline);
}

TEST(KeySharingTest, AllRanksButOneMayBeLost) {
  RankThreads ranks(2);
  const std::vector<Warmed> all = WarmUpWithALostRank(ranks, /*bad=*/0, /*keys=*/4, /*may_differ=*/true);
  for (const Status& status : all[1].statuses) EXPECT_OK(status);
  EXPECT_EQ(all[1].counters.tunes, 4);
}

TEST(KeySharingTest, StoresInDifferentStatesAgree) {
  Result<TemporaryFolder> folder = MakeFolder();
  ASSERT_OK(folder);
  constexpr int kKeys = 6;
  auto open = [](const std::string& path) -> std::shared_ptr<RecordStore> {
    SqliteStoreOptions options;
    options.path = path;
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    EXPECT_OK(store);
    return store.ok() ? *store : nullptr;
  };
  const std::string warm = folder->path() + "/warm.db", read_only = folder->path() + "/read_only.db",
                    corrupt = folder->path() + "/corrupt.db";
  {  // A store that knows half of the keys.
    RankThreads alone(1);
    alone.policies[0].ranks = RankPolicy();
    alone.policies[0].store = open(warm);
    ExpectAllReadyAndEqual(WarmUp(alone, kKeys / 2));
  }
  for (const std::string& path : {read_only, corrupt}) {
    RankThreads alone(1);
    alone.policies[0].ranks = RankPolicy();
    alone.policies[0].store = open(path);
    ExpectAllReadyAndEqual(WarmUp(alone, 1));
  }
  ASSERT_EQ(::chmod(read_only.c_str(), 0400), 0);
  std::ofstream(corrupt, std::ios::binary | std::ios::in | std::ios::out).write(std::string(4096, 'x').data(), 4096);
  RankThreads ranks(kFourRanks);
  ranks.policies[0].store = MakeMemoryStore();  // Cold.
  ranks.policies[1].store = open(warm);
  ranks.policies[2].store = open(read_only);
  ranks.policies[3].store = open(corrupt);
  const std::vector<Warmed> all = WarmUp(ranks, kKeys);
  ExpectAllReadyAndEqual(all);
  EXPECT_EQ(TunesOf(all), kKeys / 2) << "a record of any rank serves all";
}

/// The distribution itself, without kernels: the votes of ranks, and who searches for which key.
class DistributionTest : public ::testing::Test {
 protected:
  static KeyVote VoteFor(const std::string& key, std::uint64_t cost) {
    KeyVote vote;
    vote.key = vote.search = Fingerprinter().Add(key).Finish();
    vote.cost = cost;
    return vote;
  }
  static Vote VoteForCosts(const std::vector<std::uint64_t>& costs) {
    Vote vote;
    vote.kind = "a";
    for (std::uint64_t cost : costs) vote.keys.push_back(VoteFor("key" + std::to_string(cost), cost));
    return vote;
  }
  /// The agreement of a rank that has all votes.
  static Agreement Voted(int rank, const std::vector<Vote>& votes) {
    Agreement::Options options;
    options.rank = rank;
    options.size = static_cast<int>(votes.size());
    options.mixed_kinds = true;
    Agreement agreement(options, votes[static_cast<std::size_t>(rank)]);
    agreement.Posted(agreement.bytes());
    for (int other = 0; other < options.size; ++other) {
      if (other != rank) EXPECT_OK(agreement.Heard(other, EncodeVote(votes[static_cast<std::size_t>(other)])));
    }
    return agreement;
  }
  /// The costs of the searches that each rank is dealt, from its own view; all ranks must come to the same.
  static std::vector<std::multiset<std::uint64_t>> Distribute(const std::vector<Vote>& votes) {
    std::vector<std::multiset<std::uint64_t>> costs(votes.size());
    const int size = static_cast<int>(votes.size());
    for (int rank = 0; rank < size; ++rank) {
      const Agreement agreement = Voted(rank, votes);
      for (std::size_t key : agreement.OwnSearches()) {
        costs[static_cast<std::size_t>(rank)].insert(votes[static_cast<std::size_t>(rank)].keys[key].cost);
      }
    }
    return costs;
  }
};

TEST_F(DistributionTest, SearchesAreDealtTheMostExpensiveFirst) {
  const Vote vote = VoteForCosts({1, 6, 5, 4, 3, 2, 7});
  EXPECT_EQ(Distribute({vote, vote}), (std::vector<std::multiset<std::uint64_t>>{{7, 4, 3}, {6, 5, 2, 1}}));
}

TEST_F(DistributionTest, SearchesOfAKernelAreDealtToFewRanks) {
  Vote vote;
  vote.kind = "a";
  const std::vector<std::string> kernels = {"attention", "matmul", "norm", "rope"};
  for (std::uint64_t i = 0; i < 40; ++i) {
    vote.keys.push_back(VoteFor("key" + std::to_string(i), 10 + i));
    // Half of the cost is the first kernel's.
    vote.keys.back().definition = Fingerprinter().Add(kernels[i % 2 == 0 ? 0 : 1 + i / 2 % 3]).Finish();
  }
  const std::vector<Vote> votes(4, vote);
  std::map<Fingerprint, std::set<int>> ranks_of;
  std::vector<std::uint64_t> load(4);
  for (int rank = 0; rank < 4; ++rank) {
    const Agreement agreement = Voted(rank, votes);
    for (std::size_t key : agreement.OwnSearches()) {
      ranks_of[vote.keys[key].definition].insert(rank);
      load[static_cast<std::size_t>(rank)] += vote.keys[key].cost;
    }
  }
  std::size_t pairs = 0;
  for (const auto& [kernel, ranks] : ranks_of) pairs += ranks.size();
  EXPECT_LE(pairs, 4u + 3) << "kernels and the limits between four ranks; 16 if each rank had each kernel";
  EXPECT_LE(*std::max_element(load.begin(), load.end()), 1.25 * *std::min_element(load.begin(), load.end()));
}

TEST_F(DistributionTest, CostsMayBeNothingOrAnything) {
  const Vote vote = VoteForCosts({0, 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1});
  const auto costs = Distribute({vote, vote});
  EXPECT_EQ(costs[0].size() + costs[1].size(), 4u);
  EXPECT_EQ(costs[0].count(~std::uint64_t{0}) + costs[1].count(~std::uint64_t{0}), 1u);
}

TEST_F(DistributionTest, TheOrderOfAListChangesNothing) {
  Vote forward;
  forward.kind = "a";
  for (std::uint64_t cost : {1, 9, 5, 5})
    forward.keys.push_back(VoteFor("key" + std::to_string(forward.keys.size()), cost));
  forward.keys[1].search = forward.keys[0].search;  // One search serves both, whose costs differ.
  Vote backward = forward;
  std::reverse(backward.keys.begin(), backward.keys.end());
  const auto costs = Distribute({forward, backward});
  std::multiset<std::uint64_t> all = costs[0];
  all.insert(costs[1].begin(), costs[1].end());
  EXPECT_EQ(all, (std::multiset<std::uint64_t>{1, 5, 5, 9})) << "each key is searched for by one rank";
  EXPECT_EQ(costs, Distribute({forward, forward}));
}

TEST_F(DistributionTest, RanksOfAKindShareAmongEachOther) {
  Vote a, b;
  a.kind = "a";
  b.kind = "b";
  for (int i = 0; i < 4; ++i) a.keys.push_back(VoteFor("key" + std::to_string(i), 1));
  b.keys = a.keys;
  const auto costs = Distribute({a, b, a, b});
  for (const auto& rank : costs) EXPECT_EQ(rank.size(), 2u);
}

TEST_F(DistributionTest, ARankThatMayNotSearchHasNoShare) {
  Vote searches, may_not;
  searches.kind = may_not.kind = "a";
  for (int i = 0; i < 4; ++i) searches.keys.push_back(VoteFor("key" + std::to_string(i), 1));
  may_not.keys = searches.keys;
  for (KeyVote& key : may_not.keys) key.state = KeyVote::kMayNotSearch;
  const auto costs = Distribute({may_not, searches, searches});
  EXPECT_EQ(costs[0].size(), 0u);
  EXPECT_EQ(costs[1].size(), 2u);
  EXPECT_EQ(costs[2].size(), 2u);
}

/// Who takes which search, over a table of cells that are written once. Four searches of the costs 4 to 1 are dealt to
/// two ranks: 4 and 1, and 3 and 2.
class ClaimTest : public DistributionTest {
 protected:
  using Want = Agreement::Want;

  ClaimTest() {
    const Vote vote = VoteForCosts({4, 3, 2, 1});
    for (int rank = 0; rank < 2; ++rank) ranks_.push_back(Voted(rank, {vote, vote}));
  }
  /// Writes what a rank wants to write.
  void Post(Agreement& rank) {
    ASSERT_EQ(rank.want(), Want::kPost);
    rank.Posted(cells_.try_emplace(rank.cell(), rank.bytes()).first->second);
  }
  /// Finds the config of the only key that a rank searches for, and returns its cost.
  std::uint64_t Find(Agreement& rank, const Result<std::string>& record = std::string("record")) {
    EXPECT_EQ(rank.want(), Want::kFind);
    const std::vector<std::size_t> wanted = rank.wanted();
    EXPECT_EQ(wanted.size(), 1u);
    rank.Found(wanted.front(), record);
    return kMostExpensive - wanted.front();
  }
  void Search(Agreement& rank, std::uint64_t cost) {
    EXPECT_EQ(Find(rank), cost);
    Post(rank);
  }
  /// Makes ready what a rank wants to have ready, until it waits for others, and returns the costs of these keys.
  std::multiset<std::uint64_t> MakeReadyAndWait(Agreement& rank) {
    std::multiset<std::uint64_t> costs;
    while (rank.want() == Want::kMakeReady) {
      const std::size_t key = rank.wanted().front();
      costs.insert(kMostExpensive - key);
      rank.Ready(key, Fingerprinter().Add(rank.DecisionOf(key)).Finish());
    }
    EXPECT_EQ(rank.want(), Want::kHear);
    return costs;
  }

  static constexpr std::uint64_t kMostExpensive = 4;
  std::vector<Agreement> ranks_;
  std::map<std::string, std::string> cells_;
};

TEST_F(ClaimTest, ARankThatIsDoneTakesWhatAnotherHasNotStarted) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);  // Its claim.
  Search(ranks_[1], 2);
  EXPECT_EQ(ranks_[1].ToTake(), std::size_t{3});
  Post(ranks_[1]);
  Search(ranks_[1], 1);
  MakeReadyAndWait(ranks_[1]);
  EXPECT_EQ(ranks_[1].awaited(), std::vector<int>{0}) << "its owner has started on the first one";
  Search(ranks_[0], 4);
  for (int i = 0; i < 2; ++i) Post(ranks_[0]);  // It finds that its second one was taken, and those of the other one.
  MakeReadyAndWait(ranks_[0]);
  EXPECT_EQ(ranks_[0].awaited(), std::vector<int>{1});
}

TEST_F(ClaimTest, ARankThatWaitsForASearchMakesReadyWhatIsDecided) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  EXPECT_EQ(ranks_[1].want(), Want::kFind) << "its searches come first";
  Search(ranks_[1], 2);
  Post(ranks_[1]);
  Search(ranks_[1], 1);
  EXPECT_EQ(MakeReadyAndWait(ranks_[1]), (std::multiset<std::uint64_t>{1, 2, 3}));
  Search(ranks_[0], 4);
  ASSERT_OK(ranks_[1].Heard(0, cells_.at(ranks_[1].CellOf(0))));
  EXPECT_EQ(ranks_[1].want(), Want::kMakeReady);
  EXPECT_EQ(ranks_[1].wanted(), std::vector<std::size_t>{0}) << "what was made ready stays so";
}

TEST_F(ClaimTest, ARankWhoseCellsAreKnownLateGoesOnAndClaimsAhead) {
  const Vote vote = VoteForCosts({7, 6, 5, 4, 3, 2, 1});
  Agreement rank = Voted(1, {vote, vote});
  const auto find = [&](std::uint64_t cost) {
    ASSERT_EQ(rank.want(), Want::kFind);
    ASSERT_EQ(rank.wanted(), std::vector<std::size_t>{7 - cost});
    rank.Found(rank.wanted().front(), std::string("record"));
  };
  const auto postpone = [&] {
    ASSERT_EQ(rank.want(), Want::kPost);
    ASSERT_TRUE(rank.MayPostpone());
    cells_.try_emplace(rank.cell(), rank.bytes());
    rank.Postponed();
  };
  find(6);  // It was dealt 6, 5, 2 and 1.
  postpone();
  EXPECT_FALSE(rank.MayPostpone()) << "it has nothing to search for before it knows who owns the next one";
  Post(rank);
  postpone();  // What was found for 6.
  postpone();  // The claim of 2. That of 1 is left to others.
  find(5);
  for (int i = 0; i < 3; ++i) Post(rank);
  find(2);
  Post(rank);
  Post(rank);
  find(1);
  EXPECT_EQ(cells_.size(), 6u) << "three decisions, and three claims";
}

TEST_F(ClaimTest, OneOfTwoRanksThatClaimAtOnceSearches) {
  Search(ranks_[0], 4);
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  // Both want to claim the last one.
  EXPECT_EQ(ranks_[0].cell(), ranks_[1].cell());
  Post(ranks_[1]);
  Post(ranks_[0]);
  EXPECT_EQ(ranks_[0].want(), Want::kPost) << "it claims the next one";
  Search(ranks_[1], 1);
}

TEST_F(ClaimTest, ARankWhoseSearchFailedLeavesOtherSearchesToOthers) {
  EXPECT_EQ(Find(ranks_[1], InternalError("no config is correct")), 3u);
  Post(ranks_[1]);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  EXPECT_EQ(MakeReadyAndWait(ranks_[1]), (std::multiset<std::uint64_t>{2})) << "it does not take the search of cost 1";
  Search(ranks_[0], 4);
  Post(ranks_[0]);
  Search(ranks_[0], 1);
}

TEST_F(ClaimTest, ARankThatMayNotSearchAnyMoreStillTakesOverFromALostRank) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  ranks_[1].TakeNoMore();
  MakeReadyAndWait(ranks_[1]);
  ranks_[1].Silent(0, "was silent");
  EXPECT_EQ(ranks_[1].ToTake(), std::nullopt);
  Post(ranks_[1]);
  Post(ranks_[1]);
  EXPECT_EQ(ranks_[1].wanted().size(), 2u) << "nobody else is left";
  // The lost rank was only slow.
  EXPECT_EQ(Find(ranks_[0]), 4u);
  Post(ranks_[0]);
  EXPECT_EQ(ranks_[0].outcome(0).code(), StatusCode::kDeadlineExceeded);
}

TEST_F(ClaimTest, ARankThatLeavesASearchStillTakesItOverFromALostRank) {
  Search(ranks_[1], 3);
  Post(ranks_[1]);
  Search(ranks_[1], 2);
  ASSERT_EQ(ranks_[1].ToTake(), std::size_t{3});
  ranks_[1].Leave(3);
  EXPECT_EQ(ranks_[1].ToTake(), std::nullopt);
  MakeReadyAndWait(ranks_[1]);
  ranks_[1].Silent(0, "was silent");
  for (int i = 0; i < 2; ++i) {
    if (ranks_[1].ToTake()) ranks_[1].Leave(*ranks_[1].ToTake());
    Post(ranks_[1]);
  }
  EXPECT_EQ(ranks_[1].wanted().size(), 2u) << "nobody else is left";
}

TEST_F(ClaimTest, ARankThatLeavesASearchTakesAnother) {
  const Vote vote = VoteForCosts({6, 5, 4, 3, 2, 1});  // Rank 0 is dealt 6, 3 and 2.
  Agreement rank = Voted(1, {vote, vote});
  for (int i = 0; i < 3; ++i) {
    rank.Found(rank.wanted().front(), std::string("record"));
    Post(rank);
    if (i < 2) Post(rank);
  }
  ASSERT_EQ(rank.ToTake(), std::size_t{4});
  rank.Leave(4);
  EXPECT_EQ(rank.ToTake(), std::size_t{3});
}

TEST_F(ClaimTest, ARankStartsASearchThatWaitsForNoCodeFirst) {
  const Vote vote = VoteForCosts({6, 5, 4, 3, 2, 1});  // Rank 0 is dealt 6, 3 and 2.
  Agreement rank = Voted(0, {vote, vote});
  std::vector<std::size_t> found;
  for (int i = 0; i < 3; ++i) {
    found.push_back(rank.wanted().front());
    rank.Found(found.back(), std::string("record"));
    rank.NoteWaits([&](std::size_t key) { return key == 3; });  // The most expensive one that is left.
    Post(rank);
    if (i < 2) Post(rank);
  }
  EXPECT_EQ(found, (std::vector<std::size_t>{0, 4, 3}));
}

class AskedRankTest : public ClaimTest, public ::testing::WithParamInterface<AgreementWork::Taking> {};

TEST_P(AskedRankTest, ARankIsAskedWhetherItTakesASearch) {
  const Vote vote = VoteForCosts({4, 3, 2, 1});
  const std::vector<std::shared_ptr<RankGroup>> groups = MakeThreadRanks(2);
  std::atomic<bool> is_asked{false};
  std::vector<std::vector<std::size_t>> found(2);  // By rank.
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Agreement::Options options;
      options.rank = rank;
      options.size = 2;
      Agreement agreement(options, vote);
      AgreementWork work;
      work.find = [&](std::size_t key, const Agreement&, RankBeat&) -> Result<std::string> {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (rank == 0 && !is_asked && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        found[static_cast<std::size_t>(rank)].push_back(key);
        return "record" + std::to_string(key);
      };
      work.taking = [&](std::size_t, RankBeat&) {
        is_asked = true;
        return GetParam();
      };
      work.make_ready = [](std::size_t key, const Agreement& agreed, RankBeat&) -> Result<Fingerprint> {
        return Fingerprinter().Add(agreed.DecisionOf(key)).Finish();
      };
      std::set<int> silent;
      Agree(*groups[static_cast<std::size_t>(rank)], /*silence_ms=*/20000, work, &agreement, &silent);
      for (std::size_t key = 0; key < vote.keys.size(); ++key) EXPECT_OK(agreement.outcome(key));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_asked);
  EXPECT_EQ(found, (std::vector<std::vector<std::size_t>>{{0, 3}, {1, 2}}));
}

INSTANTIATE_TEST_SUITE_P(Answers, AskedRankTest,
                         ::testing::Values(AgreementWork::Taking::kLeavesThis, AgreementWork::Taking::kTakesNoMore));

}  // namespace
}  // namespace tuneonce::testing
