#include "compile/dependency_file.h"

#include <cstdlib>

#include "base/file.h"
#include "testing/device_test.h"
#include "tuneonce/plugin/fingerprint.h"

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

TEST(DependencyFileTest, WhatIsMissingHasToStayMissing) {
  Artifact artifact;
  for (const char* path : {"/no/such/file", "/no/such/folder/", "/tmp", "/dev/null/"}) {
    artifact.absent = {path};
    EXPECT_TRUE(DependenciesHold(artifact)) << path << ": missing, or a folder where a file is meant, or the reverse";
  }
  for (const char* path : {"/dev/null", "/tmp/"}) {
    artifact.absent = {"/no/such/file", path};
    EXPECT_FALSE(DependenciesHold(artifact)) << path;
  }
}

TEST(DependencyFileTest, AFileThatIsChangedWhileItIsCompiledIsNotKept) {
  std::string folder = "/tmp/tuneonce-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::string header = folder + "/value.h";
  std::string rule = folder + "/kernel.d";
  timespec before = FileClock();
  ASSERT_OK(WriteFile(header, "text"));
  ASSERT_OK(WriteFile(rule, "kernel: " + header + "\n"));
  EXPECT_EQ(*NamesInRuleFile(rule, "/elsewhere"), std::vector<std::string>{header});
  EXPECT_TRUE(NamesInRuleFile(rule, folder)->empty()) << "what lies in the tool's own folder";
  EXPECT_ERROR(NamesInRuleFile(folder + "/none.d", folder), StatusCode::kNotFound, "none.d");
  Artifact changed;
  SetDependencies({header}, before, &changed);
  EXPECT_FALSE(changed.cacheable);
  timespec later = before;
  later.tv_sec += 3600;
  Artifact unchanged;
  SetDependencies({header, header}, later, &unchanged);
  EXPECT_TRUE(unchanged.cacheable);
  EXPECT_EQ(unchanged.dependencies.size(), 1u);
  EXPECT_EQ(system(("rm -rf " + folder).c_str()), 0);
}

}  // namespace
}  // namespace tuneonce
