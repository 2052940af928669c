// The first launch's data may not be able to show an error: then the finalists are verified on generated data too.
#include <cmath>
#include <functional>
#include <limits>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/pointed_group.h"
#include "testing/work_timer.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class Warnings final : public AutotuneObserver {
 public:
  void OnWarning(const std::string& line) override { lines += line + "\n"; }
  std::string lines;
};

class WeakDataTest : public testing::CpuDeviceTest {
 protected:
  WeakDataTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
    policy_.search.timer = &timer_;
    policy_.observer = warnings_;
  }
  /// CONFIG 0 computes `reference` of x[i], CONFIG 1, which is faster, `candidate`.
  static KernelDefinition Define(const std::string& reference, const std::string& candidate) {
    SearchSpace space;
    auto config = space.AddAxis("CONFIG", {0, 1});
    space.SetBaseline({{config, 0}});
    const std::string source =
        "extern \"C\" __attribute__((weak)) long tuneonce_test_work;\n"
        "static void k(const tuneonce_block&, const float* x, float* y, int n) {\n"
        "  for (int i = 0; i < n; ++i) { if (CONFIG == 0) { y[i] = " +
        reference + "; } else { y[i] = " + candidate +
        "; } }\n  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, CONFIG == 0 ? 100 : 1, "
        "__ATOMIC_RELAXED);\n}\nTUNEONCE_CPU_KERNEL(k);";
    KernelDefinition definition("k");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"})})
        .Space(space)
        .Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp(source, "k").KernelArgs({"x", "y", "N"}));
    return definition;
  }
  TunedKernel Create(const KernelDefinition& definition) {
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  std::vector<float> Launch(TunedKernel& kernel, const std::vector<float>& values) {
    DeviceBuffer x = Floats(values), y = Floats(std::vector<float>(values.size(), -99));
    EXPECT_OK(kernel.Launch(stream_->get(), testing::View(x), testing::View(y)));
    return Read(y);
  }

  std::shared_ptr<Warnings> warnings_ = std::make_shared<Warnings>();
  AutotunePolicy policy_;
  testing::WorkTimer timer_;
};

struct Case {
  const char* name;
  std::function<float(int)> first;  ///< What the first launch's input holds.
  const char* reference;
  const char* candidate;
};

TEST_F(WeakDataTest, AConfigThatIsCorrectOnTheFirstDataAloneIsNotSelected) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<Case> cases = {
      {"zero", [](int) { return 0.0f; }, "2 * x[i]", "0"},
      {"constant", [](int) { return 3.0f; }, "2 * x[i]", "2 * x[0]"},
      {"NaN", [=](int) { return nan; }, "2 * x[i]", "x[i]"},
      {"infinite", [=](int i) { return i % 2 ? inf : -inf; }, "2 * x[i]", "x[i]"},
      {"positive", [](int i) { return static_cast<float>(i % 7 + 1); }, "x[i] > 0 ? x[i] : 0", "x[i]"},
      {"negative", [](int i) { return -static_cast<float>(i % 7 + 1); }, "x[i] > 0 ? x[i] : 0", "0"},
      {"nearly all zero", [](int i) { return i == 3   ? 1.0f
                                             : i == 4 ? -1.0f
                                                      : 0.0f; }, "2 * x[i]",
       "i == 3 || i == 4 ? 2 * x[i] : 0"},
  };
  for (const Case& c : cases) {
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel kernel = Create(Define(c.reference, c.candidate));
    TunedKernel reference = Create(Define(c.reference, c.reference));
    std::vector<float> first, later;
    for (int i = 0; i < 256; ++i) first.push_back(c.first(i)), later.push_back(static_cast<float>(i % 11) - 5);
    Launch(kernel, first);
    EXPECT_EQ(Launch(kernel, later), Launch(reference, later)) << c.name;
    const std::vector<TuningRecord> records = *policy_.store->List();
    ASSERT_FALSE(records.empty()) << c.name;
    EXPECT_TRUE(records[0].verification.has_generated_data) << c.name;
    EXPECT_TRUE(records[0].verification.is_data_sufficient) << c.name;
  }
}

TEST_F(WeakDataTest, OneElementIsVerifiedWithBothSigns) {
  for (const KeyPart& key : {KeyOf("N"), KeyOf("N").NextPow2(), DTypeOf("x")}) {
    for (float first : {3.0f, -3.0f}) {
      policy_.store = std::make_shared<MemoryStore>();
      KernelDefinition of_absolute = Define("x[i]", "x[i] < 0 ? -x[i] : x[i]");
      KernelDefinition of_negative = Define("x[i]", "x[i] > 0 ? -x[i] : x[i]");
      TunedKernel absolute = Create(of_absolute.Key(key)), negative = Create(of_negative.Key(key));
      for (TunedKernel* kernel : {&absolute, &negative}) {
        for (float value : {first, -first}) EXPECT_EQ(Launch(*kernel, {value}), std::vector<float>{value}) << first;
      }
    }
  }
}

TEST_F(WeakDataTest, OneElementDoesNotStandForMoreOfItsBucket) {
  KernelDefinition definition = Define("x[i]", "x[i] < 0 ? -x[i] : x[i]");
  TunedKernel kernel = Create(definition.Key(KeyOf("N").Nearest({16, 100})));
  EXPECT_EQ(Launch(kernel, {3}), std::vector<float>{3});
  EXPECT_EQ(Launch(kernel, {-3, 4}), (std::vector<float>{-3, 4}));
}

TEST_F(WeakDataTest, DataThatCanShowAnErrorAreNotReplaced) {
  TunedKernel kernel = Create(Define("2 * x[i]", "x[i] + x[i]"));
  std::vector<float> values;
  for (int i = 0; i < 256; ++i) values.push_back(static_cast<float>(i % 11) - 5);
  Launch(kernel, values);
  EXPECT_FALSE((*policy_.store->List()).front().verification.has_generated_data);
}

TEST_F(WeakDataTest, WhereNoDataCanBeGeneratedTheSelectionServesThisProcessAndIsNotStored) {
  // All indices are 0, and no others are declared: that CONFIG 1 ignores them cannot be seen.
  SearchSpace space;
  auto config = space.AddAxis("CONFIG", {0, 1});
  space.SetBaseline({{config, 0}});
  for (bool is_declared : {false, true}) {
    policy_.store = std::make_shared<MemoryStore>();
    warnings_->lines.clear();
    Parameter index = In("index", kInt32, {"N"});
    if (is_declared) index = std::move(index).ForWarmup(WarmupFill::Iota());
    KernelDefinition definition("gather");
    definition.Parameters({In("x", kFloat32, {"N"}), index, Out("y", kFloat32, {"N"})})
        .Space(space)
        .Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp("extern \"C\" __attribute__((weak)) long tuneonce_test_work;\n"
                           "static void k(const tuneonce_block&, const float* x, const int* index, float* y, int n) {\n"
                           "  for (int i = 0; i < n; ++i) y[i] = CONFIG == 0 ? x[index[i]] : x[0];\n"
                           "  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, CONFIG == 0 "
                           "? 100 : 1, __ATOMIC_RELAXED);\n}\nTUNEONCE_CPU_KERNEL(k);",
                           "k")
                        .KernelArgs({"x", "index", "y", "N"}));
    TunedKernel kernel = Create(definition);
    DeviceBuffer x = Floats({1, -2, 3, -4}), y = Floats({0, 0, 0, 0});
    DeviceBuffer zeros = testing::IntsOn(stream_->view(), std::vector<int>(4, 0));
    ASSERT_OK(kernel.Launch(stream_->get(), testing::View(x), testing::IntView(zeros), testing::View(y)));
    const std::vector<TuningRecord> records = *policy_.store->List();
    if (is_declared) {
      ASSERT_EQ(records.size(), 1u);
      EXPECT_EQ(std::get<std::int64_t>(*records[0].best.config.Find("CONFIG")), 0);
    } else {
      EXPECT_EQ(records.size(), 0u);
      EXPECT_NE(warnings_->lines.find("the inputs cannot reveal an incorrect result"), std::string::npos)
          << warnings_->lines;
      EXPECT_NE(warnings_->lines.find("declare values with ForWarmup"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tuneonce
