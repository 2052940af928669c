#include "base/file.h"
#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tuneonce/base/environment.h"

namespace tuneonce {
namespace {

Result<ProcessResult> Shell(const std::string& script, int timeout_ms = 20000) {
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", script};
  options.environment = {"PATH=/usr/bin:/bin", "COLOR=blue"};
  options.timeout_ms = timeout_ms;
  return RunProcess(options);
}

TEST(ProcessTest, OutputAndExitCodeComeBack) {
  Result<ProcessResult> result = Shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "out\nerr\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(ProcessTest, TheEnvironmentIsOnlyWhatIsGiven) {
  setenv("TUNEONCE_LEAK", "1", 1);
  EXPECT_EQ(Shell("echo $COLOR$TUNEONCE_LEAK")->output, "blue\n");
}

TEST(ProcessTest, ASignalIsAnExitCode) { EXPECT_EQ(Shell("kill -9 $$")->exit_code, 128 + 9); }

TEST(ProcessTest, AToolThatClosesItsOutputIsWaitedFor) { EXPECT_EQ(Shell("exec >&- 2>&-; exit 5")->exit_code, 5); }

TEST(ProcessTest, OutputIsCapped) {
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done"};
  options.max_output_bytes = 100;
  EXPECT_EQ(RunProcess(options)->output.size(), 100u);
}

TEST(ProcessTest, AChildThatHoldsTheOutputDoesNotHoldUpTheResult) {
  Result<ProcessResult> result = Shell("sleep 1000 & echo done; exit 4");
  EXPECT_EQ(result->output, "done\n");
  EXPECT_EQ(result->exit_code, 4);
}

/// Waits until the process is gone, or a zombie that nobody reaps.
bool IsGone(int pid) {
  for (int i = 0; i < 1000; ++i) {
    Result<std::string> state = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    if (!state.ok() || state->empty() || state->find(") Z ") != std::string::npos) return true;
    usleep(10000);
  }
  return false;
}

int PidFrom(const std::string& file) {
  for (int i = 0; i < 1000; ++i) {
    Result<std::string> text = ReadFile(file);
    if (text.ok() && text->find('\n') != std::string::npos) return std::stoi(*text);
    usleep(10000);
  }
  return -1;
}

TEST(ProcessTest, ADeadlineKillsTheWholeGroup) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create();
  std::string pid_file = folder->path() + "/pid";
  Result<ProcessResult> result = Shell("sleep 1000 & echo $! > " + pid_file + "; wait", 300);
  EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(IsGone(PidFrom(pid_file)));
}

TEST(ProcessTest, ACancellationKillsTheWholeGroup) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create();
  std::string pid_file = folder->path() + "/pid";
  std::atomic<bool> cancelled{false};
  Status status;
  std::thread runner([&] {
    ProcessOptions options;
    options.arguments = {"/bin/sh", "-c", "sleep 1000 & echo $! > " + pid_file + "; wait"};
    options.environment = {"PATH=/usr/bin:/bin"};
    options.cancelled = &cancelled;
    status = RunProcess(options).status();
  });
  int child = PidFrom(pid_file);
  cancelled = true;
  runner.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  EXPECT_TRUE(IsGone(child));
}

TEST(ProcessTest, NothingIsLeftWhenThisProcessIsKilled) {
  Result<TemporaryFolder> outside = TemporaryFolder::Create();
  Result<TemporaryFolder> inside = TemporaryFolder::Create();
  std::string pid_file = outside->path() + "/pid";
  pid_t host = fork();
  if (host == 0) {
    ProcessOptions options;
    options.arguments = {"/bin/sh", "-c", "sleep 1000 & echo $! > " + pid_file + "; touch $0/left; wait",
                         inside->path()};
    options.environment = {"PATH=/usr/bin:/bin"};
    options.folder = inside->path();
    (void)RunProcess(options);
    _exit(0);
  }
  int child = PidFrom(pid_file);
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_TRUE(IsGone(child));
  for (int i = 0; i < 500 && access(inside->path().c_str(), F_OK) == 0; ++i) usleep(10000);
  EXPECT_NE(access(inside->path().c_str(), F_OK), 0) << "its temporary folder is left";
}

TEST(ProcessTest, AFileThatGrowsTooLargeEndsTheTool) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create();
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", "exec cat /dev/zero > $0/file", folder->path()};
  options.environment = {"PATH=/usr/bin:/bin"};
  options.max_file_bytes = 1 << 20;
  Result<ProcessResult> result = RunProcess(options);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->exit_code, 128 + SIGXFSZ);
}

TEST(ProcessTest, AMissingProgramIsNamed) {
  ProcessOptions options;
  options.arguments = {"no-such-program"};
  EXPECT_EQ(RunProcess(options).status().message(), "program 'no-such-program' was not found");
}

TEST(TemporaryFolderTest, GoesWithItsFiles) {
  std::string path;
  {
    Result<TemporaryFolder> folder = TemporaryFolder::Create();
    ASSERT_TRUE(folder.ok());
    path = folder->path();
    ASSERT_TRUE(folder->WriteFile("a", "text").ok());
    EXPECT_EQ(*ReadFile(path + "/a"), "text");
    ASSERT_EQ(mkdir((path + "/sub").c_str(), 0700), 0);
    ASSERT_TRUE(folder->WriteFile("sub/b", "text").ok());
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(TemporaryFolderTest, AFolderThatCannotBeMadeIsAnError) {
  Environment saved = Environment::Get();
  Environment changed = saved;
  changed.temporary_folder = "/no/such/folder";
  Environment::Set(changed);
  EXPECT_EQ(TemporaryFolder::Create().status().code(), StatusCode::kResourceExhausted);
  Environment::Set(saved);
}

}  // namespace
}  // namespace tuneonce
