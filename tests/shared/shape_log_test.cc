// TUNEONCE_RECORD_SHAPES' file: what its lines say, and that many writers lose nothing of it.
#include "shared/shape_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/file.h"
#include "testing/device_test.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

TEST(ShapeLineTest, WhatIsWrittenIsReadAgain) {
  ShapeLine line;
  line.kernel = "my kernel,#1";
  line.values = {{"M", "64"}, {"a=b", "1e-05"}, {"100%", "float16"}};
  const std::string text = ShapeText(line);
  EXPECT_EQ(text, "my%20kernel%2c%231 M=64 a%3db=1e-05 100%25=float16");
  Result<ShapeLine> read = ParseShapeLine(ShapeLineText(text, 12));
  ASSERT_OK(read);
  EXPECT_EQ(read->kernel, line.kernel);
  EXPECT_EQ(read->values, line.values);
  EXPECT_EQ(read->launches, 12);
}

TEST(ShapeLineTest, LinesOfPeopleAreRead) {
  struct Case {
    const char* line;
    const char* text;
  };
  for (const Case& each :
       {Case{"M=64 N=4096", "M=64 N=4096"}, Case{"  M=64,\tN=4096 \r", "M=64 N=4096"},
        Case{"matmul: M=1 # ", "matmul M=1"}, Case{"", ""}, Case{"# M=64", ""}, Case{"k # x", "k"}}) {
    Result<ShapeLine> read = ParseShapeLine(each.line);
    ASSERT_OK(read);
    EXPECT_EQ(ShapeText(*read), each.text);
    EXPECT_EQ(read->launches, 0);
    EXPECT_EQ(read->is_empty(), std::string(each.text).empty());
  }
}

TEST(ShapeLineTest, WhatIsNoShapeIsNamed) {
  EXPECT_ERROR(ParseShapeLine("M=64 4096"), StatusCode::kInvalidArgument, "'4096' is not of the form NAME=VALUE");
  EXPECT_ERROR(ParseShapeLine("k M="), StatusCode::kInvalidArgument, "'M=' is not of the form NAME=VALUE");
  EXPECT_ERROR(ParseShapeLine("=4"), StatusCode::kInvalidArgument, "'=4' is not of the form NAME=VALUE");
  EXPECT_ERROR(ParseShapeLine("M=1 M=2"), StatusCode::kInvalidArgument, "'M' is given twice");
  for (const char* wrong : {"%", "%2", "%2g", "a%"}) {
    EXPECT_ERROR(ParseShapeLine(wrong), StatusCode::kInvalidArgument, "two hexadecimal digits");
  }
  EXPECT_ERROR(ParseShapeLine(std::string(100000, 'x')), StatusCode::kInvalidArgument, "a shape has at most");
}

class ShapeLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> folder = testing::MakeFolder();
    ASSERT_OK(folder);
    folder_.emplace(*std::move(folder));
    path_ = folder_->path() + "/shapes";
  }
  ShapeLog::Warn Warn() {
    return [this](const std::string& line) { warnings_.push_back(line); };
  }
  std::string Content() {
    Result<std::string> content = ReadFile(path_);
    EXPECT_OK(content);
    return content.ok() ? *content : "";
  }

  std::optional<TemporaryFolder> folder_;
  std::string path_;
  std::vector<std::string> warnings_;
};

TEST_F(ShapeLogTest, ANewShapeIsWrittenAtOnceAndTheRestByFlushAndCountsAddUp) {
  for (int process = 1; process <= 2; ++process) {
    ShapeLog log(path_, Warn());
    EXPECT_EQ(IsRegularFile(path_), process == 2);
    ShapeLog::Counter& counter = log.CounterOf("k M=1");
    for (int i = 0; i < 5; ++i) log.Count(counter);
    EXPECT_NE(Content().find(process == 1 ? "k M=1  # 1 launches\n" : "k M=1  # 6 launches\n"), std::string::npos)
        << Content();
    log.Flush();
    EXPECT_EQ(Content(), std::string(kShapesHeader) + "\nk M=1  # " + std::to_string(5 * process) + " launches\n");
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ShapeLogTest, ManyProcessesAndThreadsLoseNothing) {
  constexpr int kProcesses = 4, kThreads = 3, kLaunches = 200;
  for (int process = 0; process < kProcesses; ++process) {
    if (fork() != 0) continue;
    {
      ShapeLog log(path_, [](const std::string&) { _exit(1); });
      std::vector<std::thread> threads;
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          for (int i = 0; i < kLaunches; ++i) log.Count(log.CounterOf("k M=" + std::to_string(i % 7 + thread)));
        });
      }
      for (std::thread& each : threads) each.join();
    }
    _exit(0);
  }
  for (int process = 0; process < kProcesses; ++process) {
    int status = 0;
    ASSERT_GT(wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  std::int64_t launches = 0;
  std::string content = Content();
  for (std::size_t at = 0; (at = content.find("\nk M=", at)) != std::string::npos; ++at) {
    launches += ParseShapeLine(content.substr(at + 1, content.find('\n', at + 1) - at - 1))->launches;
  }
  EXPECT_EQ(launches, kProcesses * kThreads * kLaunches) << content;
}

TEST_F(ShapeLogTest, AFlushWaitsForALockThatIsHeldLongerThanALaunchWaits) {
  FileDescriptor held(open((path_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  ASSERT_EQ(fcntl(held.get(), F_OFD_SETLK, &whole), 0);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    held.Close();
  });
  {
    ShapeLog log(path_, Warn());
    log.Count(log.CounterOf("k M=1"));
  }
  release.join();
  EXPECT_EQ(Content(), std::string(kShapesHeader) + "\nk M=1  # 1 launches\n");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(ShapeLogTest, AForkedProcessDoesNotWriteWhatItsParentCounted) {
  ShapeLog log(path_, Warn());
  ShapeLog::Counter& counter = log.CounterOf("k M=1");
  for (int i = 0; i < 10; ++i) log.Count(counter);
  if (fork() == 0) {
    log.Count(counter);
    log.Flush();
    _exit(0);
  }
  int status = 0;
  ASSERT_GT(wait(&status), 0);
  log.Flush();
  EXPECT_NE(Content().find("k M=1  # 11 launches\n"), std::string::npos) << Content();
}

TEST_F(ShapeLogTest, AFileOfOthersIsLeftAsItIsWithAWarning) {
  for (const char* others : {"root:x:0:0\n", "# tuneonce shapes 2\n"}) {
    ASSERT_OK(WriteFile(path_, others));
    ShapeLog log(path_, Warn());
    log.Count(log.CounterOf("k M=1"));
    ASSERT_FALSE(warnings_.empty());
    EXPECT_NE(warnings_.back().find("is not a file of recorded shapes"), std::string::npos) << warnings_.back();
    EXPECT_EQ(Content(), others);
  }
  const std::string damaged = std::string(kShapesHeader) + "\nk M=1 2\n";
  ASSERT_OK(WriteFile(path_, damaged));
  {
    ShapeLog log(path_, Warn());
    log.Count(log.CounterOf("k M=1"));
  }
  EXPECT_NE(warnings_.back().find("line 2: '2' is not of the form NAME=VALUE"), std::string::npos) << warnings_.back();
  EXPECT_EQ(Content(), damaged);
  {
    ShapeLog log("/none/shapes", Warn());
    log.Count(log.CounterOf("k M=1"));
  }
  EXPECT_NE(warnings_.back().find("cannot open /none/shapes.lock"), std::string::npos) << warnings_.back();
}

TEST_F(ShapeLogTest, ItIsBoundedAndSaysHowMuchItLeftOut) {
  {
    ShapeLog log(path_, Warn());
    for (std::size_t i = 0; i < ShapeLog::kMostShapes + 3; ++i) log.Count(log.CounterOf("k M=" + std::to_string(i)));
  }
  {
    ShapeLog log(path_, Warn());
    log.Count(log.CounterOf("other M=1"));
  }
  const std::string content = Content();
  EXPECT_NE(content.find("# launches of other shapes: 4\n"), std::string::npos) << content.substr(content.size() - 200);
}

}  // namespace
}  // namespace tuneonce
