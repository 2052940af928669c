// Pairwise tests of features that interact: launch paths, keys, variants, stores, modes, devices, shared memory, a
// missing compiler, tables of pointers, partial searches and predictions. An Oracle, which was written from
// docs/internal/modes.md, computes what each case must do.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "runtime/feature_matrix/case.h"
#include "runtime/feature_matrix/matrix_test.h"
#include "runtime/feature_matrix/oracle.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::AllPairs;
using testing::Case;
using testing::Factors;
using testing::ImpossiblePair;
using testing::ImpossiblePairs;
using testing::KeyKind;
using testing::MatrixCall;
using testing::Oracle;
using testing::Path;
using testing::StoreState;

/// What can be done in a case, each with what the oracle says of it.
class FeatureMatrixTest : public testing::MatrixTest {
 protected:
  void ExpectCounters() {
    const Counters got = tuned_->counters(), &wanted = oracle_.counters();
    EXPECT_EQ(got.hits, wanted.hits);
    EXPECT_EQ(got.tunes, wanted.tunes);
    EXPECT_EQ(got.stored_hits, wanted.stored_hits);
    EXPECT_EQ(got.predictions, wanted.predictions);
    EXPECT_EQ(got.fallbacks, wanted.fallbacks);
    EXPECT_EQ(got.frozen_misses, wanted.frozen_misses);
    EXPECT_EQ(got.capture_misses, wanted.capture_misses);
    EXPECT_EQ(got.failed_tunes, wanted.failed_tunes);
    EXPECT_EQ(got.now.pending_keys, oracle_.num_pending());
    if (!oracle_.may_have_compiled()) {
      EXPECT_EQ(toolchain_->num_asked(), 0) << "was compiled";
    }
  }
  void Launch(const MatrixCall& call) {
    Arguments arguments(*this, stream(), call);
    tuneonce_matrix_ran = 0;
    const Oracle::Answer answer = oracle_.Launch(call);
    Status launched = tuned_->Launch(stream().get(), arguments.list);
    EXPECT_EQ(launched.code(), answer.code) << launched.ToString();
    if (launched.ok()) arguments.ExpectRight(stream());
    if (launched.ok()) {
      EXPECT_EQ(tuneonce_matrix_ran, answer.ran.mark());
    }
    ExpectCounters();
  }
  void Capture(const MatrixCall& call) {
    Arguments arguments(*this, stream(), call);
    const Oracle::Answer answer = oracle_.Launch(call, /*is_captured=*/true);
    Status launched;
    Result<GraphExec> graph = GraphExec::Capture(stream(), [&](CUstream captured) {
      launched = tuned_->Launch(captured, arguments.list);
      return Status();
    });
    ASSERT_OK(graph);
    EXPECT_EQ(launched.code(), answer.code) << launched.ToString();
    tuneonce_matrix_ran = 0;
    if (launched.ok()) ASSERT_OK(graph->Launch(stream().get()));
    if (launched.ok()) arguments.ExpectRight(stream());
    EXPECT_EQ(tuneonce_matrix_ran, answer.ran.mark());
    ExpectCounters();
  }
  void Warmup(const MatrixCall& call, bool by_shape) {
    Arguments arguments(*this, stream(), call);
    const StatusCode code = oracle_.Warmup(call);
    TunedKernel::Shape shape{{"N", call.n}};
    if (case_.tensors() == testing::Tensors::kByPointers) shape.values.emplace_back("G", Case::kGroups);
    if (case_.key() == KeyKind::kDType) {
      DType dtype = arguments.dtype();
      shape.values.emplace_back("x", dtype);
      shape.values.emplace_back("y", dtype);
    }
    Status warmed = by_shape ? tuned_->Warmup(stream().get(), {shape}) : tuned_->Warmup(stream().get(), arguments.list);
    EXPECT_EQ(warmed.code(), code) << warmed.ToString();
    ExpectCounters();
  }
  void TunePending() {
    const StatusCode code = oracle_.TunePending();
    Status status = tuned_->TunePending(stream().get());
    EXPECT_EQ(status.code(), code) << status.ToString();
    ExpectCounters();
  }
  /// One of them may run the fallback, as it finds the key busy; which is not known, and so not what is counted of it.
  void LaunchOnTwoThreads(const MatrixCall& call) {
    const Oracle::Answer answer = oracle_.Launch(call);
    const bool has_fallback = oracle_.HasFallback(call);
    auto launch = [&] {
      ScopedContext current(places_[static_cast<std::size_t>(device_)].context.view());
      Stream own = *Stream::Create(places_[static_cast<std::size_t>(device_)].device.api());
      Arguments arguments(*this, own.view(), call);
      Status launched = tuned_->Launch(own.get(), arguments.list);
      EXPECT_TRUE(launched.code() == answer.code || (!has_fallback && launched.code() == StatusCode::kUnavailable))
          << launched.ToString();
      if (launched.ok()) arguments.ExpectRight(own.view());
    };
    std::thread one(launch), other(launch);
    one.join();
    other.join();
    Counters counted = oracle_.counters();
    const Counters got = tuned_->counters();
    counted.hits = got.hits;
    counted.fallbacks = got.fallbacks;
    oracle_.set_counters(counted);
    ExpectCounters();
  }
  void TakePath() {
    switch (case_.path()) {
      case Path::kLaunch:
        return Launch(first_);
      case Path::kWarmupByShape:
      case Path::kWarmupByArguments:
        Warmup(first_, case_.path() == Path::kWarmupByShape);
        return Launch(first_);
      case Path::kCaptureAfterWarmup:
        Warmup(first_, /*by_shape=*/false);
        return Capture(first_);
      case Path::kCaptureOnMiss:
        Capture(first_);
        return Launch(first_);
      case Path::kAfterFreeze:
        Warmup(first_, /*by_shape=*/true);
        tuned_->Freeze();
        oracle_.Freeze();
        return Launch(first_);
      case Path::kTunePending:
        Launch(first_);
        TunePending();
        return Launch(first_);
      case Path::kTwoThreads:
        LaunchOnTwoThreads(first_);
        return Launch(first_);
    }
  }
  void ExpectRecords() {
    if (case_.store() == StoreState::kFailing) return;
    Result<std::vector<TuningRecord>> records = store_->List();
    ASSERT_OK(records);
    std::vector<std::string> lines;
    for (const TuningRecord& record : *records) {
      lines.push_back(record.tuned_at + (record.key.driver_version == 1 ? " other driver" : "") +
                      (record.is_complete ? "" : " incomplete"));
    }
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines, oracle_.Records());
  }
  MatrixCall SecondCall() const {
    MatrixCall call = first_;
    call.n = case_.key() == KeyKind::kGuardOnBaseline ? 1000 : 999;
    call.is_int = case_.key() == KeyKind::kDType;
    if (case_.key() == KeyKind::kScalar) call.factor = 5;
    return call;
  }
};

TEST_P(FeatureMatrixTest, DoesWhatTheDocsSay) {
  Start();
  const int device = case_.devices() == testing::Devices::kOne ? 0 : 1;
  Use(device);
  auto step = [&](const char* what, auto&& act) {
    if (HasFailure()) return;  // What follows would only repeat it.
    SCOPED_TRACE(what);
    act();
  };
  step("the path", [&] { TakePath(); });
  step("a second shape", [&] { Launch(SecondCall()); });
  if (case_.has_general_variant()) {
    MatrixCall irregular = first_;
    irregular.is_regular = false;
    step("a tensor that the first variant is not for", [&] { Launch(irregular); });
  }
  step("nothing", [&] { Launch({0, false, 2, true}); });
  step("the first shape again", [&] { Launch(first_); });
  if (device == 1) {
    Use(0);
    step("on the other device", [&] { Launch(first_); });
    Use(1);
  }
  step("what is stored", [&] { ExpectRecords(); });
  Start();
  oracle_.Restart();
  step("after a restart", [&] { Launch(first_); });
  step("what is stored after a restart", [&] { ExpectRecords(); });
}

INSTANTIATE_TEST_SUITE_P(feature_matrix, FeatureMatrixTest, ::testing::ValuesIn(AllPairs()),
                         [](const auto& of_case) { return of_case.param.Name(); });

TEST(AllPairsTest, EveryPossiblePairOccursAndNoImpossibleOne) {
  const std::vector<Case> cases = AllPairs();
  auto occurs = [&](std::size_t a, int value_a, std::size_t b, int value_b) {
    return std::any_of(cases.begin(), cases.end(),
                       [&](const Case& c) { return c.values[a] == value_a && c.values[b] == value_b; });
  };
  for (std::size_t a = 0; a < Case::kNumFactors; ++a) {
    for (std::size_t b = a + 1; b < Case::kNumFactors; ++b) {
      for (int i = 0; i < static_cast<int>(Factors()[a].values.size()); ++i) {
        for (int j = 0; j < static_cast<int>(Factors()[b].values.size()); ++j) {
          bool is_impossible =
              std::any_of(ImpossiblePairs().begin(), ImpossiblePairs().end(), [&](const ImpossiblePair& pair) {
                return pair.factor_a == a && pair.value_a == i && pair.factor_b == b && pair.value_b == j;
              });
          EXPECT_EQ(occurs(a, i, b, j), !is_impossible)
              << Factors()[a].name << " " << Factors()[a].values[static_cast<std::size_t>(i)] << " x "
              << Factors()[b].name << " " << Factors()[b].values[static_cast<std::size_t>(j)];
        }
      }
    }
  }
  std::set<std::string> names;
  for (const Case& c : cases) EXPECT_TRUE(names.insert(c.Name()).second) << c.Name() << " twice";
  EXPECT_LE(cases.size(), 80u);
  for (const ImpossiblePair& pair : ImpossiblePairs()) EXPECT_STRNE(pair.reason, "");
}

}  // namespace
}  // namespace tuneonce
