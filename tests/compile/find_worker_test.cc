#include <gtest/gtest.h>

#include "base/file.h"
#include "compile/toolbox.h"
#include "testing/expect_status.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

TEST(FindWorkerTest, TheNamedOneIsTaken) {
  Environment environment;
  environment.worker = "/bin/true";
  EXPECT_EQ(*FindWorker(environment), "/bin/true");
}

TEST(FindWorkerTest, ANamedOneThatIsNoProgramIsAnErrorAndNoOtherIsTaken) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  ASSERT_OK(folder->WriteFile("text", "no program"));
  for (const std::string& name : {std::string("/no/such/worker"), folder->path(), folder->path() + "/text"}) {
    Environment environment;
    environment.worker = name;
    EXPECT_ERROR(FindWorker(environment), StatusCode::kUnavailable, "TUNEONCE_WORKER is '" + name + "'");
  }
}

TEST(FindWorkerTest, OtherwiseItLiesBesideOrIsMissedWithAllPlaces) {
  Result<std::string> found = FindWorker(Environment());
  std::string beside = RealPath("/proc/self/exe");
  beside = beside.substr(0, beside.rfind('/')) + "/tuneonce_worker";
  if (IsRegularFile(beside)) {
    EXPECT_EQ(*found, beside);
    return;
  }
  EXPECT_ERROR(found, StatusCode::kUnavailable, beside + "; ");
  EXPECT_ERROR(found, StatusCode::kUnavailable, "libexec/tuneonce/tuneonce_worker");
  EXPECT_ERROR(found, StatusCode::kUnavailable, "name it by TUNEONCE_WORKER");
}

}  // namespace
}  // namespace tuneonce
