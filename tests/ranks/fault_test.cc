// What goes wrong with one rank of three, at each stage: all others end within the deadline and two seconds, and those
// that run a selection run the same.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "testing/expect_status.h"
#include "testing/faulty_rank.h"
#include "testing/rank_threads.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce::testing {
namespace {

constexpr int kFaultRanks = 3;
/// How long a rank may be silent where the fault makes one silent, and where it must not be taken for that.
constexpr int kShortMs = 400, kLongMs = 20000;
/// The promise: beyond the deadline, on any machine.
constexpr int kBeyondMs = 2000;

/// A store that no record can be had from.
class GoneStore final : public ForwardingStore {
 public:
  GoneStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<RecordLookup> Lookup(const TuningKey&) const override { return UnavailableError("the store is gone"); }
  Status Put(const TuningRecord&) override { return UnavailableError("the store is gone"); }
  Result<std::vector<TuningRecord>> List() const override { return UnavailableError("the store is gone"); }
  Status Remove(const TuningKey&) override { return UnavailableError("the store is gone"); }
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits&) override {
    return UnavailableError("the store is gone");
  }
};

/// The kernel of ScaleKernel, of which nothing compiles.
KernelDefinition BrokenScale() {
  ScaleKernel scale;
  KernelDefinition definition("scale");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(scale.space)
      .AddVariant(Variant([](const Config&, const Problem&) {
                    return KernelSource::CpuCpp("no C++", "scale");
                  }).Grid(Grid::OneD({"N", scale.tile})));
  return definition;
}

struct Ended {
  Status status;
  std::string runs;
  std::chrono::milliseconds after_fault{0};
};

class FaultTest : public ::testing::Test {
 protected:
  FaultTest() : ranks_(kFaultRanks) {}

  /// Ranks of whom `bad` has the fault.
  void Break(int bad, const RankFault& fault, int silence_ms) {
    bad_ = bad;
    clock_ = std::make_shared<FaultClock>();
    const bool is_read = fault.kind == RankFault::kTorn || fault.kind == RankFault::kDamaged;
    // In common, so that a rank has the code of what others found, and of its baseline.
    const std::shared_ptr<RecordStore> cache = MakeMemoryStore();
    for (int rank = 0; rank < kFaultRanks; ++rank) {
      AutotunePolicy& policy = ranks_.policies[static_cast<std::size_t>(rank)];
      policy.ranks.silence = std::chrono::milliseconds(silence_ms);
      policy.search.compile.cache = cache;
      std::shared_ptr<RankFault> of_others;
      if (is_read && rank != bad) {
        of_others = std::make_shared<RankFault>(fault);
        of_others->at += std::to_string(bad);
      }
      const bool has_it = rank == bad && !is_read;
      policy.ranks.group =
          std::make_shared<FaultyRank>(policy.ranks.group, has_it ? fault : RankFault(), clock_, of_others);
    }
  }
  std::vector<Ended> Run() {
    std::vector<Ended> came(kFaultRanks);
    std::atomic<int> well{0};
    ranks_.Run([&](RankThread& rank) {
      Ended& mine = came[static_cast<std::size_t>(rank.rank)];
      mine.status = rank.Warmup(kScaleN);
      mine.after_fault = clock_->Since();
      if (rank.rank != bad_ && ++well == kFaultRanks - 1) clock_->Release();
      EXPECT_OK(rank.Launch(kScaleN));
      mine.runs = rank.Runs(kScaleN);
    });
    return came;
  }
  /// One decision or words; whoever is well in time.
  void ExpectOneDecisionOrWords(const std::vector<Ended>& came, int silence_ms) const {
    std::set<std::string> chosen;
    for (int rank = 0; rank < kFaultRanks; ++rank) {
      const Ended& each = came[static_cast<std::size_t>(rank)];
      if (each.status.ok()) chosen.insert(each.runs);
      if (!each.status.ok()) {
        EXPECT_EQ(each.runs, kScaleBaseline) << rank << ": " << each.status.ToString();
        EXPECT_NE(each.status.message().find("rank"), std::string::npos) << each.status.ToString();
      }
      EXPECT_LE(rank == bad_ ? 0 : each.after_fault.count(), silence_ms + kBeyondMs) << rank;
    }
    EXPECT_LE(chosen.size(), 1u);
  }

  RankThreads ranks_;
  std::shared_ptr<FaultClock> clock_;
  int bad_ = -1;
};

struct EngineCase {
  const char* name;
  RankFault::Kind kind;
  bool is_fatal;  // Nobody serves: else all do.
};
constexpr EngineCase kEngineCases[] = {
    {"Hang", RankFault::kHang, true},
    {"Death", RankFault::kDeath, true},
    {"EngineGone", RankFault::kEngineGone, true},
    {"Damaged", RankFault::kDamaged, true},
    {"Lost", RankFault::kLost, true},
    {"Torn", RankFault::kTorn, false},
    {"Duplicate", RankFault::kDuplicate, false},
    {"Late", RankFault::kLate, false},
    {"Slow", RankFault::kSlow, false},
};

class EngineFaultTest : public FaultTest, public ::testing::WithParamInterface<EngineCase> {};

TEST_P(EngineFaultTest, AtEachStageOfEachRankItIsOneDecisionOrWords) {
  const EngineCase& fault = GetParam();
  const int silence_ms = fault.is_fatal ? kShortMs : kLongMs;
  for (const char* at : {"/vote/", "/decision/", "/check/"}) {
    for (int bad : {0, 1}) {
      if (bad == 1 && std::string(at) == "/decision/") continue;  // It has none.
      SCOPED_TRACE(std::string(at) + std::to_string(bad));
      ranks_ = RankThreads(kFaultRanks);
      Break(bad, {fault.kind, at, fault.kind == RankFault::kSlow ? 5 : 150}, silence_ms);
      const std::vector<Ended> came = Run();
      ExpectOneDecisionOrWords(came, silence_ms);
      for (int rank = 0; rank < kFaultRanks; ++rank) {
        const Status& status = came[static_cast<std::size_t>(rank)].status;
        if (rank == bad && fault.is_fatal) continue;
        EXPECT_EQ(status.ok(), !fault.is_fatal) << rank << ": " << status.ToString();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, EngineFaultTest, ::testing::ValuesIn(kEngineCases),
                         [](const auto& of) { return std::string(of.param.name); });

/// A rank that is cancelled when it looks for the last message of its first agreement.
class CancelledAtTheCheck final : public RankGroup {
 public:
  CancelledAtTheCheck(std::shared_ptr<RankGroup> inner, std::atomic<bool>& cancelled)
      : inner_(std::move(inner)), cancelled_(cancelled) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Status Put(const std::string& name, const std::string& bytes) override { return inner_->Put(name, bytes); }
  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override {
    return inner_->PutOnce(name, bytes, wait_ms);
  }
  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    if (has_come_ || name.find("/check/") == std::string::npos) return inner_->Get(name, wait_ms);
    has_come_ = true;
    cancelled_ = true;
    return std::optional<std::string>();
  }

 private:
  const std::shared_ptr<RankGroup> inner_;
  std::atomic<bool>& cancelled_;
  bool has_come_ = false;
};

/// A group that states more ranks than there can be.
class HugeGroup final : public RankGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1 << 30; }
  Status Put(const std::string&, const std::string&) override { return Status(); }
  Result<std::string> PutOnce(const std::string&, const std::string& bytes, int) override { return bytes; }
  Result<std::optional<std::string>> Get(const std::string&, int) override { return std::optional<std::string>(); }
};

TEST_F(FaultTest, AGroupOfTooManyRanksIsAnError) {
  ranks_ = RankThreads(1);
  ranks_.policies[0].ranks.group = std::make_shared<HugeGroup>();
  ranks_.Run([&](RankThread& rank) {
    EXPECT_ERROR(rank.Warmup(kScaleN), StatusCode::kInvalidArgument, "size() returned 1073741824");
  });
}

TEST_F(FaultTest, ARankThatIsCancelledAtTheLastMessageRunsWhatTheOthersRunAfterTheNextTunePending) {
  constexpr int kCancelled = 1;
  std::atomic<bool> cancelled{false};
  for (AutotunePolicy& policy : ranks_.policies) policy.ranks.silence = std::chrono::milliseconds(kLongMs);
  AutotunePolicy& policy = ranks_.policies[kCancelled];
  policy.ranks.group = std::make_shared<CancelledAtTheCheck>(policy.ranks.group, cancelled);
  policy.search.stop = &cancelled;
  std::vector<Ended> came(kFaultRanks);
  ranks_.Run([&](RankThread& rank) {
    const Status warmed = rank.Warmup(kScaleN);
    if (rank.rank != kCancelled) {
      EXPECT_OK(warmed);
      EXPECT_EQ(rank.Explain(kScaleN).reason, LaunchPlan::Reason::kReady);
    } else {
      EXPECT_EQ(warmed.code(), StatusCode::kCancelled) << warmed.ToString();
      EXPECT_EQ(rank.Runs(kScaleN), kScaleBaseline);
      cancelled = false;
    }
    Ended& mine = came[static_cast<std::size_t>(rank.rank)];
    mine.status = rank.kernel->TunePending(rank.cu_stream());
    EXPECT_OK(rank.Launch(kScaleN));
    mine.runs = rank.Runs(kScaleN);
    EXPECT_EQ(rank.Explain(kScaleN).reason, LaunchPlan::Reason::kReady);
    EXPECT_EQ(rank.kernel->counters().now.pending_keys, 0);
    EXPECT_OK(rank.kernel->TunePending(rank.cu_stream()));
  });
  for (const Ended& each : came) {
    EXPECT_OK(each.status);
    EXPECT_EQ(each.runs, came[0].runs);
  }
}

struct SearchCase {
  SearchProgress::Stage stage;
  bool hangs;  // Else each step takes long, which is no silence.
};
constexpr SearchCase kSearchCases[] = {
    {SearchProgress::Stage::kCompile, true},
    {SearchProgress::Stage::kMeasure, true},
    {SearchProgress::Stage::kRace, true},
    {SearchProgress::Stage::kMeasure, false},
};

TEST_F(FaultTest, ASearchThatHangsIsGivenUpAndOneThatIsSlowIsWaitedFor) {
  for (const SearchCase& each : kSearchCases) {
    SCOPED_TRACE(static_cast<int>(each.stage));
    constexpr int kSlowSilenceMs = 1000, kStepMs = 400;  // Four steps are longer than the deadline.
    const int silence_ms = each.hangs ? kShortMs : kSlowSilenceMs;
    ranks_ = RankThreads(kFaultRanks);
    Break(0, RankFault(), silence_ms);
    ranks_.policies[0].search.on_progress = [&](const SearchProgress& progress) {
      if (progress.stage != each.stage) return;
      if (each.hangs) clock_->Hang();
      if (!each.hangs) std::this_thread::sleep_for(std::chrono::milliseconds(kStepMs));
    };
    const std::vector<Ended> came = Run();
    ExpectOneDecisionOrWords(came, silence_ms);
    for (int rank = 1; rank < kFaultRanks; ++rank) {
      const Status& status = came[static_cast<std::size_t>(rank)].status;
      if (each.hangs) {
        EXPECT_ERROR(status, StatusCode::kDeadlineExceeded, "rank 0 sent nothing for 400 ms");
      } else {
        EXPECT_OK(status);
      }
    }
  }
}

TEST_F(FaultTest, ASearchThatFailsIsTheSameErrorInAllRanks) {
  for (AutotunePolicy& policy : ranks_.policies) policy.ranks.silence = std::chrono::milliseconds(kLongMs);
  for (KernelDefinition& definition : ranks_.definitions) definition = BrokenScale();
  ranks_.Run([&](RankThread& rank) {
    const Status warmed = rank.Warmup(kScaleN);
    EXPECT_FALSE(warmed.ok());
    EXPECT_NE(warmed.message().find("the ranks did not agree: rank 0: "), std::string::npos) << warmed.ToString();
  });
}

TEST_F(FaultTest, ARankOfAnotherVersionIsNamed) {
  Break(2, {RankFault::kVersion}, kLongMs);
  const std::vector<Ended> came = Run();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_ERROR(came[static_cast<std::size_t>(rank)].status, StatusCode::kFailedPrecondition,
                 "rank 2: the rank uses version 5 of the rank protocol");
  }
}

TEST_F(FaultTest, ARankThatStartsAgainInTheSameGroupIsRefused) {
  ranks_.Run([&](RankThread& rank) { EXPECT_OK(rank.Warmup(kScaleN)); });
  // Every other handle of the same rank is another start of it.
  RankThreads again(kFaultRanks);
  Break(1, RankFault(), kShortMs);
  again.policies[0] = ranks_.policies[1];
  again.policies.resize(1);
  again.Run([&](RankThread& rank) {
    EXPECT_ERROR(rank.Warmup(kScaleN), StatusCode::kFailedPrecondition, "joined this group before");
    EXPECT_OK(rank.Launch(kScaleN));
    EXPECT_EQ(rank.Runs(kScaleN), kScaleBaseline);
  });
}

TEST_F(FaultTest, AStoreThatIsGoneInOneRankIsNoFaultOfTheAgreement) {
  for (int bad : {0, 1}) {
    ranks_ = RankThreads(kFaultRanks);
    Break(bad, RankFault(), kLongMs);
    ranks_.policies[static_cast<std::size_t>(bad)].store = std::make_shared<GoneStore>();
    const std::vector<Ended> came = Run();
    for (const Ended& each : came) {
      EXPECT_OK(each.status);
      EXPECT_EQ(each.runs, came[0].runs);
    }
  }
}

TEST_F(FaultTest, RecordsOfOtherYearsAreTheSameRecords) {
  RankThreads first(kFaultRanks);
  first.Run([&](RankThread& rank) { EXPECT_OK(rank.Warmup(kScaleN)); });
  for (std::size_t i = 0; i < kFaultRanks; ++i) {  // A clock that is years off has no part in it.
    TuningRecord record = first.policies[i].store->List()->front();
    record.unix_seconds += (static_cast<std::int64_t>(i) - 1) * 100000000;
    EXPECT_OK(ranks_.policies[i].store->Put(record));
  }
  Break(0, RankFault(), kLongMs);
  for (const Ended& came : Run()) EXPECT_OK(came.status);
}

}  // namespace
}  // namespace tuneonce::testing
