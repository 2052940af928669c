#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/temporary_folder.h"
#include "testing/expect_status.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

class FileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(FileTest, WhatWasWrittenIsRead) {
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{1} << 20}) {
    std::string content(size, 'x');
    ASSERT_OK(WriteFile(Path("a"), content));
    Result<std::string> read = ReadFile(Path("a"));
    ASSERT_OK(read);
    EXPECT_EQ(*read, content);
  }
  Result<std::string> of_unknown_size = ReadFile("/proc/self/status");
  ASSERT_OK(of_unknown_size);
  EXPECT_NE(of_unknown_size->find("VmPeak"), std::string::npos);
}

TEST_F(FileTest, AFailedReadIsNoShortFile) {
  std::filesystem::create_symlink("/dev/null", Path("link"));
  struct Case {
    std::string path;
    const char* message;
  };
  const Case cases[] = {
      {folder_.path(), "it is a directory, not a file"},
      {"/dev/null", "it is a device, not a file"},
      {Path("link"), "it is a device, not a file"},
      {"/proc/self/mem", "Input/output error"},  // A regular file; nothing is mapped at address 0.
      {Path("none"), "No such file or directory"},
  };
  for (const Case& each : cases) {
    Result<std::string> read = ReadFile(each.path);
    EXPECT_FALSE(read.ok()) << each.path;
    EXPECT_NE(read.status().message().find("cannot read " + each.path), std::string::npos) << read.status().message();
    EXPECT_NE(read.status().message().find(each.message), std::string::npos) << read.status().message();
  }
}

TEST_F(FileTest, APipeIsRefusedAndNotWaitedFor) {
  std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::atomic<bool> is_done{false};
  Status status;
  std::thread reader([&] {
    status = ReadFile(path).status();
    is_done = true;
  });
  // A reader that waits is let go: it finds the pipe at its end.
  while (!is_done) {
    if (int writer = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC); writer >= 0) close(writer);
    std::this_thread::yield();
  }
  reader.join();
  EXPECT_ERROR(status, StatusCode::kInvalidArgument, "it is a pipe, not a file");
}

TEST_F(FileTest, AWriteThatFailsLeavesWhatWasThere) {
  ASSERT_OK(WriteFile(Path("a"), "old"));
  std::filesystem::create_symlink("/dev/full", Path("a.partial"));
  EXPECT_ERROR(WriteFile(Path("a"), std::string(100000, 'x')), StatusCode::kResourceExhausted, "No space left");
  EXPECT_EQ(*ReadFile(Path("a")), "old");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(Path("a.partial"))));
}

}  // namespace
}  // namespace tuneonce
