#include "compile/dependency_file.h"

#include <cstdlib>

#include "base/file.h"
#include "testing/device_test.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
namespace {

TEST(DependencyFileTest, NamesAreReadAsCompilersWriteThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesInRule("kernel: /tmp/a.cc\n"), Names{"/tmp/a.cc"});
  EXPECT_EQ(NamesInRule("kernel: a.cc \\\n  b.h c.h \\\n /d/e.h\n"), (Names{"a.cc", "b.h", "c.h", "/d/e.h"}));
  EXPECT_EQ(NamesInRule("kernel: with\\ blank.h with\\#hash.h with$$dollar.h\n"),
            (Names{"with blank.h", "with#hash.h", "with$dollar.h"}));
  EXPECT_EQ(NamesInRule("kernel: back\\slash.h\n"), Names{"back\\slash.h"});
  EXPECT_EQ(NamesInRule("kernel: a.h\n\na.h:\n"), Names{"a.h"}) << "the empty rules of -MP";
  EXPECT_EQ(NamesInRule("kernel: a.h"), Names{"a.h"});
  EXPECT_EQ(NamesInRule(""), Names{});
  EXPECT_EQ(NamesInRule("no rule"), Names{});
  EXPECT_EQ(NamesInRule("kernel: \\"), Names{});
}

TEST(DependencyFileTest, AnArtifactWithoutFilesAlwaysHolds) {
  Artifact artifact;
  EXPECT_TRUE(DependenciesHold(artifact));
  artifact.dependencies = {{"/no/such/file", Fingerprint()}};
  EXPECT_FALSE(DependenciesHold(artifact));
}

TEST(DependencyFileTest, AFileThatIsChangedWhileItIsCompiledIsNotKept) {
  std::string folder = "/tmp/tuneonce-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::string header = folder + "/value.h";
  std::string rule = folder + "/kernel.d";
  timespec before = FileClock();
  ASSERT_OK(WriteFile(header, "text"));
  ASSERT_OK(WriteFile(rule, "kernel: " + header + "\n"));
  Artifact changed;
  EXPECT_OK(SetDependencies(rule, "/elsewhere", before, &changed));
  EXPECT_FALSE(changed.cacheable);
  timespec later = before;
  later.tv_sec += 3600;
  Artifact unchanged;
  EXPECT_OK(SetDependencies(rule, "/elsewhere", later, &unchanged));
  EXPECT_TRUE(unchanged.cacheable);
  EXPECT_EQ(unchanged.dependencies.size(), 1u);
  Artifact own;
  EXPECT_OK(SetDependencies(rule, folder, later, &own));
  EXPECT_TRUE(own.dependencies.empty()) << "what lies in the tool's own folder";
  EXPECT_ERROR(SetDependencies(folder + "/none.d", folder, later, &own), StatusCode::kNotFound, "none.d");
  EXPECT_EQ(system(("rm -rf " + folder).c_str()), 0);
}

}  // namespace
}  // namespace tuneonce
