// Why the store does not serve a key: what Explain, the observer, the log and the counters say of it.
#include <functional>
#include <string>
#include <vector>

#include "store/shipped_selections.h"
#include "testing/record_changes.h"
#include "testing/runtimes.h"
#include "testing/tuned_scale_test.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

struct KeepMisses : AutotuneObserver {
  void OnStoredMiss(const std::string&, const std::string&, RecordMiss why, const std::string& detail) override {
    misses.push_back(why);
    details.push_back(detail);
  }
  std::vector<RecordMiss> misses;
  std::vector<std::string> details;
};

std::int64_t AllMisses(const Counters& counters) {
  return counters.misses_no_record + counters.misses_other_driver + counters.misses_other_device +
         counters.misses_other_source + counters.misses_refused;
}

/// A record of a search made here is changed, and what a new kernel makes of it is asked.
class StoreMissTest : public testing::TunedScaleTest {
 protected:
  StoreMissTest() {
    RuntimeOptions options;
    options.environment = {{"TUNEONCE_LOG", "info"}};
    options.log = [this](LogLevel, const std::string& line) { lines_.push_back(line); };
    policy_.search.runtime = testing::MakeRuntime(options);
    policy_.observer = observer_;
  }

  void SetUp() override {
    testing::TunedScaleTest::SetUp();
    TunedKernel first = Create();
    Launch(first, 1000);
    EXPECT_EQ(first.counters().misses_no_record, 1);
    record_ = policy_.store->List()->front();
    observer_->misses.clear();
    lines_.clear();
  }
  /// The store has this record alone.
  void Store(const TuningRecord& record) {
    policy_.store = std::make_shared<MemoryStore>();
    ASSERT_OK(policy_.store->Put(record));
  }
  Result<LaunchPlan> Explain(const TunedKernel& kernel) {
    return kernel.Explain(stream_->get(), TunedKernel::Shape{{"N", 1000}});
  }

  std::shared_ptr<KeepMisses> observer_ = std::make_shared<KeepMisses>();
  std::vector<std::string> lines_;
  TuningRecord record_;
};

struct MissCase {
  RecordMiss miss;
  std::function<void(TuningRecord&)> change;
  std::int64_t Counters::*counter;
  const char* detail;
};

const std::vector<MissCase>& Cases() {
  static const auto* const cases = new std::vector<MissCase>{
      {RecordMiss::kNoRecord, [](TuningRecord& r) { r.key.key_words[0] = 77; }, &Counters::misses_no_record, ""},
      {RecordMiss::kNoRecord,
       [](TuningRecord& r) {
         r.key.kernel = "another";
         r.key.kernel_fingerprint = {7, 7};
       },
       &Counters::misses_no_record, ""},
      {RecordMiss::kOtherDriver, [](TuningRecord& r) { ++r.key.driver_version; }, &Counters::misses_other_driver, ""},
      {RecordMiss::kOtherDevice, [](TuningRecord& r) { r.key.device_name = "B300"; }, &Counters::misses_other_device,
       ""},
      {RecordMiss::kOtherSource,
       [](TuningRecord& r) {
         r.key.kernel_fingerprint = {1, 2};
       },
       &Counters::misses_other_source, ""},
      {RecordMiss::kRefused, [](TuningRecord& r) { r.best.config = testing::NamedConfig("none"); },
       &Counters::misses_refused, "none} is not a config of the kernel"},
  };
  return *cases;
}

TEST_F(StoreMissTest, EachReasonIsSaidByAllThatSayIt) {
  for (const MissCase& each : Cases()) {
    const std::string name(RecordMissName(each.miss));
    SCOPED_TRACE(name);
    TuningRecord changed = record_;
    each.change(changed);
    Store(changed);
    observer_->misses.clear();
    observer_->details.clear();
    lines_.clear();
    TunedKernel kernel = Create();
    Result<LaunchPlan> plan = Explain(kernel);
    ASSERT_OK(plan);
    EXPECT_EQ(plan->reason, LaunchPlan::Reason::kNoRecord);
    EXPECT_EQ(plan->miss, each.miss);
    EXPECT_NE(plan->detail.find(each.detail), std::string::npos) << plan->detail;
    EXPECT_EQ(AllMisses(kernel.counters()), 0) << "a question is no miss";
    Launch(kernel, 1000);
    Launch(kernel, 1000);
    EXPECT_EQ(kernel.counters().*each.counter, 1);
    EXPECT_EQ(AllMisses(kernel.counters()), 1);
    EXPECT_EQ(kernel.counters().tunes, 1);
    ASSERT_EQ(observer_->misses, std::vector<RecordMiss>{each.miss});
    EXPECT_NE(observer_->details[0].find(each.detail), std::string::npos);
    ASSERT_GE(lines_.size(), 1u);
    EXPECT_NE(lines_[0].find("kernel 'scale', N=1000"), std::string::npos) << lines_[0];
    EXPECT_NE(lines_[0].find("no selection for this key: " + name), std::string::npos) << lines_[0];
    EXPECT_EQ(Explain(kernel)->miss, RecordMiss::kNone) << "it is ready";
  }
}

TEST_F(StoreMissTest, WhatServesIsNoMiss) {
  TunedKernel kernel = Create();
  EXPECT_EQ(Explain(kernel)->miss, RecordMiss::kNone);
  Launch(kernel, 1000);
  EXPECT_EQ(AllMisses(kernel.counters()), 0);
  EXPECT_TRUE(observer_->misses.empty());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("was loaded from the store"), std::string::npos) << lines_[0];
}

TEST_F(StoreMissTest, WhatPolicyAcceptsIsNoMiss) {
  for (const MissCase& each : Cases()) {
    if (each.miss != RecordMiss::kOtherDriver && each.miss != RecordMiss::kOtherDevice) continue;
    TuningRecord changed = record_;
    each.change(changed);
    Store(changed);
    policy_.min_match = RecordMatch::kOtherDevice;
    TunedKernel kernel = Create();
    EXPECT_EQ(Explain(kernel)->miss, RecordMiss::kNone);
    Launch(kernel, 1000);
    EXPECT_EQ(AllMisses(kernel.counters()), 0) << RecordMissName(each.miss);
  }
}

TEST_F(StoreMissTest, WithoutStoredCodeAKernelThatMayNotCompileSaysSo) {
  policy_.mode = AutotunePolicy::Mode::kStoredOnly;
  policy_.search.runtime = testing::RuntimeIn({});
  Store(record_);
  TunedKernel kernel = Create();
  Result<LaunchPlan> plan = Explain(kernel);
  ASSERT_OK(plan);
  EXPECT_EQ(plan->action, LaunchPlan::Action::kFallback);
  EXPECT_EQ(plan->miss, RecordMiss::kRefused);
  EXPECT_NE(plan->detail.find("} is not in the store"), std::string::npos) << plan->detail;
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  EXPECT_ERROR(kernel.Launch(stream_->get(), testing::View(x), testing::View(y), 2.0f), StatusCode::kUnavailable,
               "the store has no code for {");
  EXPECT_EQ(kernel.counters().misses_refused, 1);
}

TEST_F(StoreMissTest, OfLayersTheReasonThatSaysMostIsSaid) {
  auto with = [&](const std::function<void(TuningRecord&)>& change) {
    auto store = std::make_shared<MemoryStore>();
    TuningRecord changed = record_;
    change(changed);
    EXPECT_OK(store->Put(changed));
    return store;
  };
  auto other_source = [](TuningRecord& r) { r.key.kernel_fingerprint = {1, 2}; };
  auto other_driver = [](TuningRecord& r) { ++r.key.driver_version; };
  auto other_shape = [](TuningRecord& r) { r.key.key_words[0] = 77; };
  const TuningKey& key = record_.key;
  EXPECT_EQ(MakeLayeredStore(with(other_shape), {with(other_source)})->Lookup(key)->Miss(), RecordMiss::kOtherSource);
  EXPECT_EQ(MakeLayeredStore(with(other_source), {with(other_shape)})->Lookup(key)->Miss(), RecordMiss::kOtherSource);
  EXPECT_EQ(MakeLayeredStore(with(other_source), {with(other_driver)})->Lookup(key)->Miss(), RecordMiss::kOtherDriver);
  EXPECT_EQ(MakeLayeredStore(with(other_driver), {with(other_source)})->Lookup(key)->Miss(), RecordMiss::kOtherDriver);
}

}  // namespace
}  // namespace tuneonce
