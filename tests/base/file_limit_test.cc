#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "testing/expect_status.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

TEST(FileLimitTest, AFileBeyondTheLimitIsNotReadAtAll) {
  TemporaryFolder folder = *testing::MakeFolder();
  std::string path = folder.path() + "/sparse";
  std::ofstream(path) << "x";
  ASSERT_EQ(truncate(path.c_str(), (off_t{1} << 30) + 1), 0);
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  Result<std::string> read = ReadFile(path);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 * 1024) << "KiB";
  EXPECT_ERROR(read, StatusCode::kInvalidArgument, "the file has 1073741825 bytes; at most 1073741824 are possible");
}

TEST(FileLimitTest, ALimitHoldsToTheByteAndForFilesWithoutASize) {
  TemporaryFolder folder = *testing::MakeFolder();
  std::string path = *folder.WriteFile("ten", "0123456789");
  EXPECT_OK(ReadFile(path, 10));
  EXPECT_ERROR(ReadFile(path, 9), StatusCode::kInvalidArgument,
               path + ": the file has 10 bytes; at most 9 are possible");
  EXPECT_ERROR(ReadFile("/proc/self/status", 20), StatusCode::kInvalidArgument, "the file has more than 20 bytes");
  EXPECT_OK(ReadFile(*folder.WriteFile("empty", ""), 0));
}

}  // namespace
}  // namespace tuneonce
