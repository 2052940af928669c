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
#include "ranks/rank_messages.h"
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

}  // namespace
}  // namespace tuneonce::testing
