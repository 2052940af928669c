// A record outlives a change of a header; the code that it names does not.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/file.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class StaleRecordTest : public testing::CpuDeviceTest {
 protected:
  StaleRecordTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~StaleRecordTest() override { EXPECT_EQ(system(("rm -rf " + folder_).c_str()), 0); }

  /// Waits for the next clock tick: code that includes a file which changed in the tick of the compile is not stored.
  void WriteHeader(const std::string& text) {
    ASSERT_OK(WriteFile(folder_ + "/value.h", text));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  /// In a kernel of its own, as after a restart. Config 1 is the baseline and slow. Returns what the kernel wrote.
  float LaunchAnew(Counters* counters) {
    SearchSpace space;
    IntAxis which = space.AddAxis("WHICH", {1, 2});
    space.SetBaseline({{which, 1}});
    KernelDefinition definition("set");
    definition.Parameters({Out("y", kFloat32, {"N"}).MayBePartial()}).Space(space).Key({KeyOf("N")});
    definition.AddVariant(Variant([this, which](const Config& c, const Problem&) {
                            const bool reads_header = c[which] == 1 || all_read_header_;
                            return KernelSource::CpuCpp(
                                       (reads_header ? "#include \"" + folder_ + "/value.h\"\n" : "#define VALUE 1\n") +
                                           "static void set(const tuneonce_block&, float* y) {\n"
                                           "  for (volatile int i = 0; WHICH == 1 && i < 5000000; i = i + 1) {}\n"
                                           "  *y = VALUE;\n"
                                           "}\n"
                                           "TUNEONCE_CPU_KERNEL(set);",
                                       "set")
                                .Define("WHICH", c[which]);
                          }).Grid(Grid::Fixed(1)));
    SqliteStoreOptions options;
    options.path = folder_ + "/cache/store.db";
    AutotunePolicy policy;
    policy.store = *SqliteStore::Open(options);
    policy.search.compile.cache = cache_;
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
    EXPECT_OK(kernel);
    DeviceBuffer y = Floats(std::vector<float>(extent_));
    EXPECT_OK(kernel->Launch(stream_->get(), testing::View(y)));
    *counters = kernel->counters();
    return Read(y)[0];
  }

  std::string folder_ = "/tmp/tuneonce-test-XXXXXX";
  std::shared_ptr<RecordStore> cache_;  // Null: the store.
  bool all_read_header_ = true;
  std::size_t extent_ = 1;
};

TEST_F(StaleRecordTest, AHeaderThatChangedIsCompiledForTheStoredSelection) {
  Counters counters;
  WriteHeader("#define VALUE 1\n");
  EXPECT_EQ(LaunchAnew(&counters), 1);
  EXPECT_EQ(counters.tunes, 1);
  WriteHeader("#define VALUE 2\n");
  EXPECT_EQ(LaunchAnew(&counters), 2) << "a stale artifact of the store";
  EXPECT_EQ(counters.tunes, 0);
  EXPECT_EQ(counters.stored_hits, 1);
}

TEST_F(StaleRecordTest, OutcomesOfCodeWhoseHeaderChangedAreNotKeptByTheNextSearch) {
  const auto record_of = [&](std::int64_t num_configs) {
    SearchSpace space;
    const IntAxis which = space.AddAxis("WHICH", {1, 2, 3, 4});
    std::vector<std::vector<AxisAssignment>> list;
    for (std::int64_t config = 1; config <= num_configs; ++config) list.push_back({{which, config}});
    space.SetConfigs(list).SetBaseline({{which, 1}});
    KernelDefinition definition("set");
    definition.Parameters({Out("y", kFloat32, {"N"}).MayBePartial()}).Space(space).Key({KeyOf("N")});
    definition.Grid(Grid::Fixed(1))
        .AddVariant(CpuCpp("#include \"" + folder_ + "/value.h\"\n" +
                               "static void set(const tuneonce_block&, float* y) {\n"
                               "  for (volatile int i = 0; i < SLOW * 100000; i = i + 1) {}\n"
                               "  *y = 1;\n"
                               "}\n"
                               "TUNEONCE_CPU_KERNEL(set);",
                           "set"));
    SqliteStoreOptions options;
    options.path = folder_ + "/cache/store.db";
    AutotunePolicy policy;
    policy.store = *SqliteStore::Open(options);
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
    EXPECT_OK(kernel);
    DeviceBuffer y = Floats({0});
    EXPECT_OK(kernel->Launch(stream_->get(), testing::View(y)));
    EXPECT_EQ(kernel->counters().tunes, 1);
    return policy.store->List()->front();
  };
  WriteHeader("#define SLOW (WHICH == 2 ? 1 : 50 + WHICH)\nstatic_assert(WHICH != 3, \"\");\n");
  const TuningRecord before = record_of(3);
  EXPECT_EQ(before.best.config.ToString(), "WHICH=2");
  EXPECT_EQ(before.failures().size(), 1u);
  WriteHeader("#define SLOW (WHICH == 3 ? 1 : 50 + WHICH)\n");
  const TuningRecord after = record_of(4);
  EXPECT_EQ(after.best.config.ToString(), "WHICH=3") << "it compiles now";
  EXPECT_EQ(after.successes().size(), 4u);
  for (const CandidateOutcome& outcome : after.successes()) {
    const bool is_fast = outcome.config.ToString() == "WHICH=3";
    EXPECT_TRUE(is_fast || outcome.measurement.mean_us > 4 * after.best.measurement.mean_us)
        << outcome.config.ToString() << " has the time of its old code";
  }
}

/// With code in the store, and apart from it.
class StaleBaselineTest : public StaleRecordTest, public ::testing::WithParamInterface<bool> {};

TEST_P(StaleBaselineTest, AConfigIsComparedAgainWhenAHeaderChangedItsBaseline) {
  if (GetParam()) cache_ = MakeMemoryStore();
  all_read_header_ = false;
  Counters counters;
  WriteHeader("#define VALUE 1\n");
  EXPECT_EQ(LaunchAnew(&counters), 1);
  extent_ = 2;
  EXPECT_EQ(LaunchAnew(&counters), 1);
  EXPECT_EQ(LaunchAnew(&counters), 1);
  EXPECT_EQ(counters.stored_hits, 1) << "an unchanged header costs no search";
  EXPECT_EQ(counters.tunes, 0);
  WriteHeader("#define VALUE 2\n");
  EXPECT_EQ(LaunchAnew(&counters), 2) << "the baseline is what defines the result";
  EXPECT_EQ(counters.tunes, 1);
  extent_ = 1;  // Now the store has the baseline's new code.
  EXPECT_EQ(LaunchAnew(&counters), 2) << "the record was verified against other code than the store's";
  EXPECT_EQ(counters.tunes, 1);
}
INSTANTIATE_TEST_SUITE_P(All, StaleBaselineTest, ::testing::Bool());

}  // namespace
}  // namespace tuneonce
