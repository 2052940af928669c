// A record outlives a change of a header; the code that it names does not.
#include <cstdlib>

#include "base/file.h"
#include "testing/device_test.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

class StaleRecordTest : public testing::CpuDeviceTest {
 protected:
  StaleRecordTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~StaleRecordTest() override { EXPECT_EQ(system(("rm -rf " + folder_).c_str()), 0); }

  /// In a kernel of its own, as after a restart. Returns what the kernel wrote.
  float LaunchAnew(Counters* counters) {
    SearchSpace space;
    IntAxis unused = space.AddAxis("UNUSED", {1, 2});
    space.SetBaseline({{unused, 1}});
    KernelDefinition definition("set");
    definition.Parameters({Out("y", kFloat32, {"N"})}).Space(space);
    definition.AddVariant(Variant([this, unused](const Config& c, const Problem&) {
                            return KernelSource::CpuCpp(
                                       "#include \"" + folder_ + "/value.h\"\n" +
                                           "static void set(const tuneonce_block&, float* y) { *y = VALUE; }\n"
                                           "TUNEONCE_CPU_KERNEL(set);",
                                       "set")
                                .Define("UNUSED", c[unused]);
                          }).Grid(Grid::Fixed(1)));
    SqliteStoreOptions options;
    options.path = folder_ + "/cache/store.db";
    AutotunePolicy policy;
    policy.store = *SqliteStore::Open(options);
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
    EXPECT_OK(kernel);
    DeviceBuffer y = Floats({0});
    EXPECT_OK(kernel->Launch(stream_->get(), testing::View(y)));
    *counters = kernel->counters();
    return Read(y)[0];
  }

  std::string folder_ = "/tmp/tuneonce-test-XXXXXX";
};

TEST_F(StaleRecordTest, AHeaderThatChangedIsCompiledForTheStoredSelection) {
  Counters counters;
  ASSERT_OK(WriteFile(folder_ + "/value.h", "#define VALUE 1\n"));
  EXPECT_EQ(LaunchAnew(&counters), 1);
  EXPECT_EQ(counters.tunes, 1);
  ASSERT_OK(WriteFile(folder_ + "/value.h", "#define VALUE 2\n"));
  EXPECT_EQ(LaunchAnew(&counters), 2) << "a stale artifact of the store";
  EXPECT_EQ(counters.tunes, 0);
  EXPECT_EQ(counters.stored_hits, 1);
}

}  // namespace
}  // namespace tuneonce
