#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "testing/expect_status.h"
#include "testing/in_child.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

using testing::InChild;

Result<ProcessResult> Shell(const std::string& script, int timeout_ms = 20000) {
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", script};
  options.environment = {"PATH=/usr/bin:/bin", "COLOR=blue"};
  options.timeout = std::chrono::milliseconds(timeout_ms);
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

constexpr int kMostPolls = 12000;  // Of 10 ms: a busy machine gets to it within two minutes.

/// Waits until the process is gone, or a zombie that nobody reaps.
bool IsGone(int pid) {
  for (int i = 0; i < kMostPolls; ++i) {
    Result<std::string> state = ReadFile("/proc/" + std::to_string(pid) + "/stat");
    if (!state.ok() || state->empty() || state->find(") Z ") != std::string::npos) return true;
    usleep(10000);
  }
  return false;
}

int PidFrom(const std::string& file) {
  for (int i = 0; i < kMostPolls; ++i) {
    Result<std::string> text = ReadFile(file);
    if (text.ok() && text->find('\n') != std::string::npos) return std::stoi(*text);
    usleep(10000);
  }
  return -1;
}

TEST(ProcessTest, ADeadlineKillsTheWholeGroup) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  std::string pid_file = folder->path() + "/pid";
  Result<ProcessResult> result = Shell("sleep 1000 & echo $! > " + pid_file + "; wait", 300);
  EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(IsGone(PidFrom(pid_file)));
}

TEST(ProcessTest, ACancellationKillsTheWholeGroup) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  std::string pid_file = folder->path() + "/pid";
  std::atomic<bool> cancelled{false};
  Status status;
  std::thread runner([&] {
    ProcessOptions options;
    options.arguments = {"/bin/sh", "-c", "sleep 1000 & echo $! > " + pid_file + "; wait"};
    options.environment = {"PATH=/usr/bin:/bin"};
    options.stop = &cancelled;
    status = RunProcess(options).status();
  });
  int child = PidFrom(pid_file);
  cancelled = true;
  runner.join();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  EXPECT_TRUE(IsGone(child));
}

TEST(ProcessTest, NothingIsLeftWhenThisProcessIsKilled) {
  Result<TemporaryFolder> outside = testing::MakeFolder();
  Result<TemporaryFolder> inside = testing::MakeFolder();
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
  for (int i = 0; i < kMostPolls && access(inside->path().c_str(), F_OK) == 0; ++i) usleep(10000);
  EXPECT_NE(access(inside->path().c_str(), F_OK), 0) << "its temporary folder is left";
}

TEST(ProcessTest, AFileThatGrowsTooLargeEndsTheTool) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ProcessOptions options;
  options.arguments = {"/bin/sh", "-c", "exec cat /dev/zero > $0/file", folder->path()};
  options.environment = {"PATH=/usr/bin:/bin"};
  options.max_file_bytes = 1 << 20;
  Result<ProcessResult> result = RunProcess(options);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->exit_code, 128 + SIGXFSZ);
}

void ExpectExitCodesAreTrue() {
  EXPECT_EQ(Shell("echo out; exit 3")->exit_code, 3);
  EXPECT_EQ(Shell("echo out; exit 3")->output, "out\n");
  EXPECT_EQ(Shell("exit 0")->exit_code, 0);
  EXPECT_EQ(Shell("kill -9 $$")->exit_code, 128 + 9);
  EXPECT_EQ(Shell("true & wait $!; exit $?")->exit_code, 0) << "the tool's own children";
}

TEST(ProcessTest, ExitCodesAreTrueWhereTheHostIgnoresItsChildren) {
  EXPECT_EQ(InChild([] {
              signal(SIGCHLD, SIG_IGN);
              ExpectExitCodesAreTrue();
            }),
            0);
  EXPECT_EQ(InChild([] {
              struct sigaction action {};
              action.sa_handler = SIG_DFL;
              action.sa_flags = SA_NOCLDWAIT;
              sigaction(SIGCHLD, &action, nullptr);
              ExpectExitCodesAreTrue();
            }),
            0);
}

TEST(ProcessTest, ExitCodesAreTrueWhereTheHostReapsAllChildren) {
  EXPECT_EQ(InChild([] {
              std::atomic<bool> is_over{false};
              std::thread reaper([&] {
                while (!is_over) waitpid(-1, nullptr, WNOHANG);
              });
              for (int i = 0; i < 20; ++i) ExpectExitCodesAreTrue();
              is_over = true;
              reaper.join();
            }),
            0);
}

TEST(ProcessTest, AHostWithoutStandardDescriptorsCanRunTools) {
  for (int closed : {1, 2, 4, 3, 6, 7}) {  // Which of 0 to 2 are closed, by bit.
    EXPECT_EQ(InChild([closed] {
                for (int fd = 0; fd < 3; ++fd) {
                  if ((closed >> fd & 1) != 0) close(fd);
                }
                ExpectExitCodesAreTrue();
                EXPECT_EQ(Shell("cat; echo err >&2")->output, "err\n");
              }),
              0)
        << closed;
  }
}

TEST(ProcessTest, AToolDoesNotInheritIgnoredSignals) {
  EXPECT_EQ(InChild([] {
              for (int ignored : {SIGPIPE, SIGXFSZ, SIGTERM}) signal(ignored, SIG_IGN);
              EXPECT_EQ(Shell("kill -TERM $$; exit 0")->exit_code, 128 + SIGTERM);
              EXPECT_EQ(Shell("kill -PIPE $$; exit 0")->exit_code, 128 + SIGPIPE);
            }),
            0);
}

TEST(ProcessTest, ASmallerLimitOfTheHostOnFilesHolds) {
  EXPECT_EQ(InChild([] {
              const rlimit limit{1 << 20, 1 << 20};
              ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
              // As root the limit could be raised again; others are told that it cannot be set.
              if (geteuid() == 0) {
                ASSERT_EQ(setuid(65534), 0);
              }
              Result<ProcessResult> result = Shell("echo version 1");
              EXPECT_TRUE(result.ok()) << result.status().ToString();
              EXPECT_EQ(result->output, "version 1\n");
            }),
            0);
}

TEST(ProcessTest, WhereTheSystemGivesNoProcessThereIsNoResult) {
  for (rlim_t processes : {1, 2, 3}) {  // The test's own, the shell, its watcher: the tool is one more.
    int result = InChild([processes] {
      testing::LimitThreads(processes);
      Result<ProcessResult> tool = Shell("exit 0");
      EXPECT_EQ(tool.status().code(), StatusCode::kUnavailable) << tool.status().ToString();
    });
    if (result == testing::kCannotBeTested) GTEST_SKIP() << "the number of processes cannot be limited here";
    EXPECT_EQ(result, 0) << processes;
  }
}

TEST(ProcessTest, AShellThatIsKilledIsNoResult) {
  Result<ProcessResult> result = Shell("kill -9 $PPID; sleep 1000");
  EXPECT_EQ(result.status().code(), StatusCode::kUnavailable) << result.status().ToString();
}

TEST(ProcessTest, AMissingProgramIsNamed) {
  ProcessOptions options;
  options.arguments = {"no-such-program"};
  EXPECT_EQ(RunProcess(options).status().message(), "program 'no-such-program' was not found");
}

TEST(TemporaryFolderTest, GoesWithItsFiles) {
  std::string path;
  {
    Result<TemporaryFolder> folder = testing::MakeFolder();
    ASSERT_TRUE(folder.ok());
    path = folder->path();
    ASSERT_TRUE(folder->WriteFile("a", "text").ok());
    EXPECT_EQ(*ReadFile(path + "/a"), "text");
    ASSERT_EQ(mkdir((path + "/sub").c_str(), 0700), 0);
    ASSERT_TRUE(folder->WriteFile("sub/b", "text").ok());
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(TemporaryFolderTest, WhatKilledProcessesLeftIsRemovedByTheNext) {
  std::string parent = "/tmp/tuneonce-test-XXXXXX";
  ASSERT_NE(mkdtemp(parent.data()), nullptr);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  pid_t host = fork();
  if (host == 0) {
    Result<TemporaryFolder> folder = TemporaryFolder::Create(parent);
    (void)folder->WriteFile("kernel.cc", "text");
    if (write(pipe_ends[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  // Not ours to remove: without a mark, of another name, a file, a link.
  ASSERT_EQ(mkdir((parent + "/tuneonce-unmarked").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((parent + "/other").c_str(), 0700), 0);
  ASSERT_EQ(symlink("other", (parent + "/tuneonce-link").c_str()), 0);
  ASSERT_EQ(NamesIn(parent).size(), 4u);
  auto names_after_a_new_process = [&] {
    pid_t next = fork();
    if (next == 0) _exit(TemporaryFolder::Create(parent).ok() ? 0 : 1);
    waitpid(next, nullptr, 0);
    std::vector<std::string> names = NamesIn(parent);
    names.erase(std::remove_if(names.begin(), names.end(),
                               [&](const std::string& name) {
                                 return access((parent + "/" + name + "/kernel.cc").c_str(), F_OK) != 0;
                               }),
                names.end());
    return names.size();
  };
  EXPECT_EQ(names_after_a_new_process(), 1u) << "its process lives";
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_EQ(names_after_a_new_process(), 0u) << "a killed process's folder is left";
  EXPECT_EQ(access((parent + "/tuneonce-unmarked").c_str(), F_OK), 0);
  EXPECT_EQ(access((parent + "/other").c_str(), F_OK), 0);
  EXPECT_EQ(system(("rm -rf " + parent).c_str()), 0);
}

TEST(TemporaryFolderTest, AnAbandonedOneIntoWhichACompilerStillWritesIsRemovedInTheEnd) {
  Result<TemporaryFolder> parent = testing::MakeFolder();
  ASSERT_TRUE(parent.ok());
  std::atomic<bool> is_over{false};
  for (int i = 0; i < 20; ++i) {
    const std::string path = parent->path() + "/tuneonce-abcdef";
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
    ASSERT_TRUE(parent->WriteFile("tuneonce-abcdef/.tuneonce-owner", "").ok());
    is_over = false;
    std::thread compiler([&] {
      for (int file = 0; !is_over && parent->WriteFile("tuneonce-abcdef/" + std::to_string(file), "").ok();) ++file;
    });
    RemoveAbandonedFolders(parent->path());
    is_over = true;
    compiler.join();
    RemoveAbandonedFolders(parent->path());
    ASSERT_NE(access(path.c_str(), F_OK), 0) << "it is left, and has no mark by which anyone could remove it";
  }
}

TEST(TemporaryFolderTest, WhoIsKilledWhileItRemovesOneLeavesWhatTheNextRemoves) {
  Result<TemporaryFolder> parent = testing::MakeFolder();
  ASSERT_TRUE(parent.ok());
  for (const char* name : {"/tuneonce-abcdef.gone", "/other.gone"}) {
    ASSERT_EQ(mkdir((parent->path() + name).c_str(), 0700), 0);
    ASSERT_TRUE(parent->WriteFile(std::string(name).substr(1) + "/kernel.cc", "text").ok());
  }
  ASSERT_TRUE(parent->WriteFile("tuneonce-file.gone", "text").ok());
  RemoveAbandonedFolders(parent->path());
  EXPECT_NE(access((parent->path() + "/tuneonce-abcdef.gone").c_str(), F_OK), 0);
  EXPECT_EQ(access((parent->path() + "/other.gone").c_str(), F_OK), 0);
  EXPECT_EQ(access((parent->path() + "/tuneonce-file.gone").c_str(), F_OK), 0);
}

TEST(TemporaryFolderTest, GoesAlsoWhereNoDescriptorIsLeft) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer takes descriptors to look at memory";
  std::string path;
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_EQ(InChild([&] {
              {
                Result<TemporaryFolder> folder = testing::MakeFolder();
                ASSERT_TRUE(folder.ok());
                ASSERT_TRUE(folder->WriteFile("a", "text").ok());
                path = folder->path();
                const rlimit limit{64, 64};
                ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
                while (dup(pipe_ends[0]) >= 0) {
                }
              }
              EXPECT_NE(access(path.c_str(), F_OK), 0);
              while (dup(pipe_ends[0]) >= 0) {
              }
              EXPECT_EQ(testing::MakeFolder().status().code(), StatusCode::kResourceExhausted) << "and nothing is left";
            }),
            0);
}

TEST(ProcessTest, ALimitOfDescriptorsIsNamed) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer takes descriptors to look at memory";
  EXPECT_EQ(InChild([] {
              const rlimit limit{9, 9};  // Below the first one that a tool may get.
              ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
              EXPECT_ERROR(Shell("true"), StatusCode::kResourceExhausted, "cannot make a pipe: Too many open files");
            }),
            0);
}

TEST(TemporaryFolderTest, AFolderThatCannotBeMadeIsAnError) {
  // Without a random name, so that equal errors of many configs are one line.
  EXPECT_ERROR(TemporaryFolder::Create("/no/such/folder"), StatusCode::kResourceExhausted,
               "cannot make a temporary folder in /no/such/folder: No such file or directory; set TMPDIR");
}

}  // namespace
}  // namespace tuneonce
