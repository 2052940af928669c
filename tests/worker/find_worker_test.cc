#include "worker/find_worker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "testing/expect_status.h"
#include "testing/tools.h"
#include "worker/mps.h"

namespace tuneonce {
namespace {

TEST(FindWorkerTest, TheNamedOneIsTaken) {
  Environment environment;
  environment.worker = TUNEONCE_OBEDIENT_WORKER;
  EXPECT_EQ(*FindWorker(environment), TUNEONCE_OBEDIENT_WORKER);
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

TEST(MpsTest, ADaemonIsKnownByItsPipe) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  Result<Environment> environment = Environment::Read({{"CUDA_MPS_PIPE_DIRECTORY", folder->path()}});
  ASSERT_OK(environment);
  EXPECT_FALSE(IsServedByMps(*environment));
  ASSERT_EQ(mkfifo((folder->path() + "/control").c_str(), 0600), 0);
  EXPECT_TRUE(IsServedByMps(*environment));
  EXPECT_EQ(Environment::Read({{"CUDA_MPS_PIPE_DIRECTORY", ""}})->mps_folder, "/tmp/nvidia-mps");
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
