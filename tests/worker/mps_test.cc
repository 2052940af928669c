#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "testing/expect_status.h"
#include "testing/tools.h"
#include "worker/worker_process.h"

namespace tuneonce {
namespace {

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

}  // namespace
}  // namespace tuneonce
