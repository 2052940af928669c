#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

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

TEST(ProcessTest, ADeadlineKillsTheWholeGroup) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create();
  std::string pid_file = folder->path() + "/pid";
  Result<ProcessResult> result = Shell("sleep 1000 & echo $! > " + pid_file + "; wait", 300);
  EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded);
  int child = std::stoi(*ReadFile(pid_file));
  // The orphan is killed too; init (or the container's first process) reaps it.
  for (int i = 0; i < 500 && kill(child, 0) == 0; ++i) {
    Result<std::string> state = ReadFile("/proc/" + std::to_string(child) + "/stat");
    if (!state.ok() || state->find(") Z ") != std::string::npos) break;
    usleep(10000);
  }
  Result<std::string> state = ReadFile("/proc/" + std::to_string(child) + "/stat");
  EXPECT_TRUE(!state.ok() || state->find(") Z ") != std::string::npos) << *state;
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
