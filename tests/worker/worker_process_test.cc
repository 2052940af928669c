#include "worker/worker_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "testing/expect_status.h"
#include "testing/in_child.h"
#include "testing/tools.h"
#include "worker/obedient_worker.h"

namespace tuneonce {
namespace {

using std::chrono::milliseconds;
using testing::AllAreReaped;
using testing::Ask;
using testing::InChild;
using testing::IsGone;
using testing::IsReaped;
using testing::kPatience;
using testing::StartObedient;

TEST(WorkerProcessTest, ItAnswersAndIsReused) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*Ask(**worker, std::to_string(i)), std::to_string(i));
  EXPECT_EQ((*worker)->Wait(DeadlineIn(milliseconds(0))).kind, WorkerEnd::Kind::kNotYet);
  EXPECT_EQ((*worker)->Kill().ToString(), "was killed");
  EXPECT_TRUE(IsReaped((*worker)->pid()));
}

TEST(WorkerProcessTest, HowItEndedIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"crash", "was ended by signal 11 (SIGSEGV)"},
      {"abort", "was ended by signal 6 (SIGABRT)"},
      {"exit", "exited with 3"},
      {"kill", "was ended by signal 9 (SIGKILL)"},
  };
  for (const auto& [word, how] : cases) {
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
    ASSERT_OK(worker);
    EXPECT_EQ(ChannelErrorOf(Ask(**worker, word).status()), ChannelError::kClosed) << word;
    EXPECT_EQ((*worker)->Kill().ToString(), how);
    EXPECT_EQ((*worker)->Kill().ToString(), how) << "it stays known";
    EXPECT_TRUE(IsReaped((*worker)->pid())) << word;
  }
}

TEST(WorkerProcessTest, OneThatEndsByItselfMayTakeItsTime) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  ASSERT_OK((*worker)->channel().Send(1, "end slowly", DeadlineIn(kPatience)));
  EXPECT_EQ((*worker)->Wait(DeadlineIn(kPatience)).ToString(), "exited with 5");
}

TEST(WorkerProcessTest, ATrapIsASignalOfItsOwn) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  EXPECT_FALSE(Ask(**worker, "trap").ok());
  EXPECT_EQ((*worker)->Kill().kind, WorkerEnd::Kind::kSignaled);  // SIGILL or SIGTRAP: the processor's selection.
}

TEST(WorkerProcessTest, OneThatHangsIsATimeoutAndIsKilled) {
  for (const char* word : {"hang", "hang everywhere", "stop"}) {
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
    ASSERT_OK(worker);
    EXPECT_EQ(ChannelErrorOf(Ask(**worker, word, milliseconds(50)).status()), ChannelError::kTimeout) << word;
    EXPECT_EQ((*worker)->Kill().kind, WorkerEnd::Kind::kKilled) << word;
    EXPECT_TRUE(IsGone((*worker)->pid(), milliseconds(0))) << word;
  }
}

TEST(WorkerProcessTest, GarbageIsAProtocolErrorAndItIsKilled) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  EXPECT_EQ(ChannelErrorOf(Ask(**worker, "garbage").status()), ChannelError::kProtocol);
  EXPECT_EQ((*worker)->Kill().kind, WorkerEnd::Kind::kKilled);
}

TEST(WorkerProcessTest, OneThatClosesItsSocketAndStaysIsKilled) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  EXPECT_EQ(ChannelErrorOf(Ask(**worker, "close").status()), ChannelError::kClosed);
  (*worker)->Kill();
  EXPECT_TRUE(IsGone((*worker)->pid(), milliseconds(0)));
}

TEST(WorkerProcessTest, ItEndsWithItsObjectAndLeavesNoZombie) {
  pid_t pid = 0;
  {
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
    ASSERT_OK(worker);
    pid = (*worker)->pid();
    ASSERT_OK((*worker)->channel().Send(1, "hang", DeadlineIn(kPatience)));
  }
  EXPECT_TRUE(IsGone(pid));
  EXPECT_TRUE(AllAreReaped());
}

TEST(WorkerProcessTest, AChildOfItThatEndsDoesNotEndIt) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  EXPECT_EQ(*Ask(**worker, "fork and exit"), "6");
  EXPECT_EQ(*Ask(**worker, "hello"), "hello");
}

TEST(WorkerProcessTest, WhatItStartedEndsWithIt) {
  for (const char* word : {"crash", "hang"}) {
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
    ASSERT_OK(worker);
    pid_t sleeper = std::stoi(*Ask(**worker, "fork"));
    EXPECT_FALSE(IsGone(sleeper, milliseconds(0)));
    EXPECT_FALSE(Ask(**worker, word, milliseconds(50)).ok());
    (*worker)->Kill();
    EXPECT_TRUE(IsGone(sleeper)) << word;
  }
}

TEST(WorkerProcessTest, ItHasASessionOfItsOwnAndTheHostForAParent) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  EXPECT_EQ(*Ask(**worker, "session"), std::to_string((*worker)->pid()) + " " + std::to_string(getpid()));
  EXPECT_EQ(*Ask(**worker, "oom score"), "1000\n");
}

TEST(WorkerProcessTest, ItsEnvironmentIsTheListAndNothingElse) {
  setenv("TUNEONCE_LEAK", "1", 1);
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  setenv("CUDA_INJECTION64_PATH", "/nsys.so", 1);
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  std::string text = *Ask(**worker, "variables");
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines, Environment::Read().of_worker);
  EXPECT_NE(text.find("CUDA_DEVICE_ORDER=PCI_BUS_ID\n"), std::string::npos);
  EXPECT_EQ(text.find("LEAK"), std::string::npos);
  EXPECT_EQ(text.find("INJECTION"), std::string::npos);
}

TEST(WorkerProcessTest, NoFileIsLeftByOneThatCrashes) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  EXPECT_EQ(InChild([&] {
              const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
              if (setrlimit(RLIMIT_CORE, &unlimited) != 0) _exit(testing::kCannotBeTested);
              ASSERT_EQ(chdir(folder->path().c_str()), 0);
              for (const char* word : {"crash", "abort", "kill"}) {
                Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
                EXPECT_FALSE(Ask(**worker, word).ok());
                (*worker)->Kill();
              }
              // The folder's own lock is there.
              std::vector<std::string> left = NamesIn(folder->path());
              left.erase(std::remove_if(left.begin(), left.end(),
                                        [](const std::string& name) { return name.rfind("core", 0) != 0; }),
                         left.end());
              EXPECT_EQ(left, std::vector<std::string>());
            }),
            0);
}

TEST(WorkerProcessTest, WhatCannotBeStartedIsNamed) {
  WorkerOptions options;
  options.program = "/no/such/worker";
  EXPECT_ERROR(WorkerProcess::Start(options), StatusCode::kUnavailable, "/no/such/worker: No such file");
  options.program = "/etc/passwd";
  EXPECT_ERROR(WorkerProcess::Start(options), StatusCode::kUnavailable, "/etc/passwd: Permission denied");
  EXPECT_TRUE(AllAreReaped());
}

TEST(WorkerProcessTest, AProgramThatIsNoWorkerIsFoundClosed) {
  WorkerOptions options;
  options.program = "/bin/true";
  Result<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
  ASSERT_OK(worker);
  EXPECT_EQ(ChannelErrorOf((*worker)->channel().Receive(DeadlineIn(kPatience)).status()), ChannelError::kClosed);
  EXPECT_EQ((*worker)->Kill().ToString(), "exited with 0");
}

TEST(WorkerProcessTest, StartedByHandItSaysThatItHasNoUse) {
  ProcessOptions options;
  options.arguments = {TUNEONCE_OBEDIENT_WORKER};
  Result<ProcessResult> result = RunProcess(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->exit_code, 1);
  EXPECT_EQ(result->output, "this program is only started by tuneonce, to isolate searches: do not run it directly\n");
}

}  // namespace
}  // namespace tuneonce
