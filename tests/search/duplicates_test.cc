// Which candidates count as one: only those whose launches do the same.
#include <gtest/gtest.h>

#include <cstring>

#include "testing/device_test.h"
#include "testing/work_timer.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

// What it takes is `work`, which is no part of the code; with `work` 1 the result is incorrect.
constexpr char kSource[] = R"(
extern "C" __attribute__((weak)) long tuneonce_test_work;
static void k(const tuneonce_block& block, const float* x, float* y, int n, int work, const void* memory) {
  for (int i = 0; i < n; ++i) y[i] = work == 1 ? -1 : 2 * x[i];
  if (&tuneonce_test_work != nullptr) __atomic_fetch_add(&tuneonce_test_work, work, __ATOMIC_RELAXED);
}
TUNEONCE_CPU_KERNEL(k);)";

class DuplicatesTest : public testing::CpuDeviceTest {
 protected:
  DuplicatesTest() {
    space_.SetBaseline({{work_, 100}, {unused_, 0}});
    options_.timer = &timer_;
    options_.max_rounds = 1;
    options_.quiet = true;
  }
  KernelDefinition With(Parameter work, Parameter memory) {
    KernelDefinition definition("k");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), std::move(work), std::move(memory)})
        .Space(space_)
        .Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp(kSource, "k", {}).KernelArgs({"x", "y", "N", "work", "memory"}));
    return definition;
  }
  Result<TuningRecord> Search(const KernelDefinition& definition) {
    x_.emplace(Floats({1, 2, 3}));
    y_.emplace(Floats({0, 0, 0}));
    return exhaustive_search(definition, stream_->get(), {testing::View(*x_), testing::View(*y_)}, options_);
  }

  SearchSpace space_;
  IntAxis work_ = space_.AddAxis("WORK", {100, 1, 20});
  IntAxis unused_ = space_.AddAxis("UNUSED", {0, 1});
  SearchOptions options_;
  testing::WorkTimer timer_;
  std::optional<DeviceBuffer> x_, y_;
};

TEST_F(DuplicatesTest, ConfigsWhoseDerivedValuesDifferAreCandidatesOfTheirOwn) {
  const std::vector<std::pair<const char*, Parameter>> forms = {
      {"a term", Derived("work", Term(work_))},
      {"a function",
       Derived("work", [work = work_](const Config& c, const Problem&) { return static_cast<int>(c[work]); })}};
  for (const auto& [name, derived] : forms) {
    Result<TuningRecord> result = Search(With(derived, Workspace("memory", Term(16))));
    ASSERT_OK(result);
    EXPECT_EQ(result->best.config[work_], 20) << name << ": {WORK=1} is incorrect, and {WORK=100} slower";
    EXPECT_EQ(result->failures().size(), 1u) << name;
    EXPECT_EQ(result->duplicates().size(), 3u) << name << ": those that differ in UNUSED";
    for (const CandidateOutcome& duplicate : result->duplicates()) {
      EXPECT_EQ(duplicate.config[work_], (*duplicate.same_as)[work_]) << name;
    }
  }
}

TEST_F(DuplicatesTest, ConfigsWhoseWorkspacesDifferAreCandidatesOfTheirOwn) {
  Result<TuningRecord> result =
      Search(With(Derived("work", [](const Config&, const Problem&) { return 5; }), Workspace("memory", Term(work_))));
  ASSERT_OK(result);
  EXPECT_EQ(result->successes().size(), 3u);
  EXPECT_EQ(result->duplicates().size(), 3u);
}

TEST_F(DuplicatesTest, KernelsWithADescriptorThatTheHostFillsHaveNoDuplicates) {
  KernelDefinition definition("k");
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Derived("work", Term(work_)),
                   Descriptor("memory", 8,
                              [](const Config&, const Problem&, const TensorView* const*, void* bytes) {
                                std::memset(bytes, 0, 8);
                                return Status();
                              })})
      .Space(space_)
      .Grid(Grid::Fixed(1))
      .AddVariant(CpuCpp(kSource, "k", {}).KernelArgs({"x", "y", "N", "work", "memory"}));
  Result<TuningRecord> result = Search(definition);
  ASSERT_OK(result);
  EXPECT_EQ(result->duplicates().size(), 0u);
  EXPECT_EQ(result->best.config[work_], 20);
}

TEST_F(DuplicatesTest, TheSameCodeByVariantsThatTakeOtherParametersIsNoDuplicate) {
  // Both variants have one source; the second passes the tensors the other way round.
  SearchSpace space;
  auto backend = space.AddStringAxis("backend", {"forth", "back"});
  space.SetBaseline({{backend, std::string("forth")}});
  constexpr char kCopy[] =
      "static void c(const tuneonce_block&, const float* a, float* b, int n) { for (int i = 0; i < n; ++i) b[i] = "
      "a[i]; }\n"
      "TUNEONCE_CPU_KERNEL(c);";
  KernelDefinition definition("c");
  definition.Parameters({InOut("x", kFloat32, {"N"}), InOut("y", kFloat32, {"N"})})
      .Space(space)
      .Grid(Grid::Fixed(1))
      .AddVariant(CpuCpp(kCopy, "c", {}).Named("forth").KernelArgs({"x", "y", "N"}))
      .AddVariant(CpuCpp(kCopy, "c", {}).Named("back").KernelArgs({"y", "x", "N"}));
  Result<TuningRecord> result = Search(definition);
  ASSERT_OK(result);
  EXPECT_EQ(result->duplicates().size(), 0u);
  ASSERT_EQ(result->failures().size(), 1u);
  EXPECT_EQ(result->failures()[0].kind, OutcomeKind::kWrongResult);
}

}  // namespace
}  // namespace tuneonce
