// A worker and hosts of all kinds: that die, fork, close their descriptors, or have their own way with children.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "testing/expect_status.h"
#include "testing/in_child.h"
#include "worker/obedient_worker.h"
#include "worker/worker_process.h"

namespace tuneonce {
namespace {

using std::chrono::milliseconds;
using testing::AllAreReaped;
using testing::Ask;
using testing::InChild;
using testing::IsGone;
using testing::kEndOfProcess;
using testing::StartObedient;

/// What a worker has open, by number.
std::vector<std::string> DescriptorsOfAWorker() {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient(/*keeps_stderr=*/false);
  if (!worker.ok()) return {worker.status().ToString()};
  Result<std::string> text = Ask(**worker, "descriptors");
  if (!text.ok()) return {text.status().ToString()};
  std::vector<std::string> lines = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  std::sort(lines.begin(), lines.end());
  return lines;
}

void ExpectNothingIsInherited() {
  std::vector<std::string> lines = DescriptorsOfAWorker();
  ASSERT_EQ(lines.size(), 5u) << absl::StrJoin(lines, "\n");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(lines[i], absl::StrCat(i, "=/dev/null"));
  EXPECT_EQ(lines[3].rfind("3=socket:", 0), 0u) << lines[3];
  EXPECT_EQ(lines[4].substr(1), lines[3].substr(1)) << "the same socket, by which it watches the host";
}

TEST(WorkerHostTest, NoDescriptorOfTheHostIsInherited) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer has descriptors of its own";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // Without O_CLOEXEC.
  ASSERT_GE(fcntl(ends[0], F_DUPFD, 900), 900);
  ExpectNothingIsInherited();
}

TEST(WorkerHostTest, AHostWithoutStandardDescriptorsHasWorkers) {
  for (int closed = 1; closed < 8; ++closed) {  // Which of 0 to 2 are closed, by bit.
    int result = InChild([closed] {
      for (int fd = 0; fd < 3; ++fd) {
        if ((closed >> fd & 1) != 0) close(fd);
      }
      for (int fd : {0, 1, 2}) {  // And what of its own comes to lie there.
        if (fcntl(fd, F_GETFD) < 0 && closed > 3) open("/proc/self/status", O_RDONLY);
      }
      ExpectNothingIsInherited();
    });
    EXPECT_EQ(result, 0) << closed;
  }
}

/// Starts a worker in a host of its own, which tells it `words` and dies by SIGKILL; true if the worker process has
/// ended soon. `before_death`: what else the host does. `opens_late`: the worker opens its channel after that death.
bool EndsWithItsHost(
    const std::vector<std::string>& words, const std::function<void()>& before_death = [] {}, bool opens_late = false) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pid_t host = fork();
  if (host == 0) {
    std::vector<std::string> arguments;
    if (opens_late) arguments.push_back(absl::StrCat(getpid()));
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient(/*keeps_stderr=*/true, std::move(arguments));
    pid_t pid = worker.ok() ? (*worker)->pid() : -1;
    for (const std::string& word : words) (void)Ask(**worker, word, milliseconds(50));
    before_death();
    if (write(ends[1], &pid, sizeof(pid)) != sizeof(pid)) _exit(1);
    for (;;) pause();
  }
  pid_t worker = -1;
  bool is_told = read(ends[0], &worker, sizeof(worker)) == sizeof(worker) && worker > 0;
  bool lived = is_told && !IsGone(worker, milliseconds(0));
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  bool is_gone = IsGone(worker);
  if (!is_gone) kill(worker, SIGKILL);
  return lived && is_gone;
}

TEST(WorkerHostTest, ItIsGoneWhenItsHostIsKilled) {
  EXPECT_TRUE(EndsWithItsHost({"hello"}));
  EXPECT_TRUE(EndsWithItsHost({"hang"})) << "while its main thread loops";
  EXPECT_TRUE(EndsWithItsHost({"hang everywhere"}));
  EXPECT_TRUE(EndsWithItsHost({"stop"})) << "although it is stopped";
  EXPECT_TRUE(EndsWithItsHost({})) << "before it has said a word";
}

TEST(WorkerHostTest, ItIsGoneWhenItsHostIsKilledAlthoughAForkedChildHoldsTheSocket) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  auto fork_a_child = [&] {
    pid_t child = fork();
    if (child != 0) return;
    char byte = 0;
    close(ends[1]);
    _exit(static_cast<int>(read(ends[0], &byte, 1)));  // Until this test is over.
  };
  EXPECT_TRUE(EndsWithItsHost({"hang"}, fork_a_child));
  EXPECT_TRUE(EndsWithItsHost({}, fork_a_child, /*opens_late=*/true))
      << "that was killed before the worker's main began";
  close(ends[0]);
  close(ends[1]);
}

/// The processes whose environment has this line, but for zombies.
std::vector<pid_t> ProcessesWith(const std::string& variable) {
  std::vector<pid_t> found;
  for (const std::string& name : NamesIn("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    Result<std::string> environment = ReadFile(absl::StrCat("/proc/", name, "/environ"));
    if (environment.ok() && absl::StrContains(*environment, variable)) found.push_back(pid);
  }
  return found;
}

/// Starts workers, asks them and lets them end, for ever.
[[noreturn]] void KeepWorkersBusy(const std::string& variable, unsigned seed) {
  WorkerOptions options;
  options.program = TUNEONCE_OBEDIENT_WORKER;
  options.environment = Environment::Read().of_worker;
  options.environment.push_back(variable);
  for (std::minstd_rand random(seed);;) {
    Result<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
    if (!worker.ok()) _exit(1);
    // Not both: what a worker started stays if it crashes, and nobody is left to see it.
    const char* last = random() % 2 == 0 ? "fork" : "crash";
    for (const char* word : {"hello", "export", last, "hang"}) {
      if (random() % 2 == 0 && !Ask(**worker, word, milliseconds(2)).ok()) break;
    }
    if (random() % 2 == 0) (*worker)->Kill();
  }
}

TEST(WorkerHostTest, OneThatIsKilledAtAnyMomentLeavesNoProcess) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const std::string variable = absl::StrCat("TUNEONCE_TEST_HOST=", getpid(), ".", seed);
    pid_t host = fork();
    if (host == 0) KeepWorkersBusy(variable, seed);
    usleep(std::minstd_rand(seed)() % 30000);
    kill(host, SIGKILL);
    int status = 0;
    waitpid(host, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    std::vector<pid_t> left = ProcessesWith(variable);
    for (Deadline deadline = DeadlineIn(kEndOfProcess); !left.empty() && std::chrono::steady_clock::now() < deadline;
         left = ProcessesWith(variable)) {
      usleep(1000);
    }
    EXPECT_TRUE(left.empty()) << "after seed " << seed << ": " << absl::StrJoin(left, " ");
    for (pid_t pid : left) kill(pid, SIGKILL);
  }
}

TEST(WorkerHostTest, AWorkerThatIsKilledAtAnyMomentIsFoundToBeGone) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
    ASSERT_OK(worker);
    std::thread killer([&, pid = (*worker)->pid()] {
      usleep(std::minstd_rand(seed)() % 10000);
      kill(pid, SIGKILL);
    });
    Result<std::string> answer = std::string();
    while (answer.ok()) answer = Ask(**worker, seed % 2 == 0 ? std::string(100000, 'x') : "hello");
    killer.join();
    EXPECT_EQ(ChannelErrorOf(answer.status()), ChannelError::kClosed) << "seed " << seed;
    EXPECT_EQ((*worker)->Kill().ToString(), "was ended by signal 9 (SIGKILL)") << "seed " << seed;
  }
}

TEST(WorkerHostTest, TheThreadThatStartedItMayEnd) {
  Result<std::unique_ptr<WorkerProcess>> worker = UnavailableError("not yet");
  std::thread([&] { worker = StartObedient(); }).join();
  ASSERT_OK(worker);
  usleep(50000);
  EXPECT_EQ(*Ask(**worker, "hello"), "hello");
}

TEST(WorkerHostTest, AForkedChildOfTheHostDoesNotEndIt) {
  Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
  ASSERT_OK(worker);
  EXPECT_EQ(InChild([&] { worker->reset(); }), 0);
  EXPECT_EQ(*Ask(**worker, "hello"), "hello");
}

/// Workers in a host that has its own way with children.
void ExpectWorkersWork() {
  for (const char* word : {"crash", "exit"}) {
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
    ASSERT_OK(worker);
    EXPECT_EQ(*Ask(**worker, "hello"), "hello");
    EXPECT_EQ(ChannelErrorOf(Ask(**worker, word).status()), ChannelError::kClosed);
    EXPECT_NE((*worker)->Kill().kind, WorkerEnd::Kind::kNotYet);
    worker = StartObedient();
    EXPECT_EQ(ChannelErrorOf(Ask(**worker, "hang", milliseconds(20)).status()), ChannelError::kTimeout);
    EXPECT_EQ((*worker)->Kill().kind, WorkerEnd::Kind::kKilled);
    EXPECT_TRUE(IsGone((*worker)->pid(), milliseconds(0)));
  }
  EXPECT_TRUE(AllAreReaped());
}

TEST(WorkerHostTest, AHostThatIgnoresItsChildrenHasWorkers) {
  EXPECT_EQ(InChild([] {
              signal(SIGCHLD, SIG_IGN);
              ExpectWorkersWork();
              Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
              EXPECT_FALSE(Ask(**worker, "crash").ok());
              EXPECT_EQ((*worker)->Kill().ToString(), "ended") << "its status is lost";
            }),
            0);
}

TEST(WorkerHostTest, AHostThatReapsAllChildrenHasWorkers) {
  EXPECT_EQ(InChild([] {
              std::atomic<bool> is_over{false};
              std::thread reaper([&] {
                while (!is_over) waitpid(-1, nullptr, WNOHANG);
              });
              ExpectWorkersWork();
              is_over = true;
              reaper.join();
            }),
            0);
}

TEST(WorkerHostTest, SignalsOfTheHostAreNotTheWorkers) {
  EXPECT_EQ(InChild([] {
              sigset_t all;
              sigfillset(&all);
              sigprocmask(SIG_BLOCK, &all, nullptr);
              for (int ignored : {SIGPIPE, SIGTERM, SIGABRT}) signal(ignored, SIG_IGN);
              Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
              EXPECT_FALSE(Ask(**worker, "abort").ok());
              EXPECT_EQ((*worker)->Kill().ToString(), "was ended by signal 6 (SIGABRT)");
            }),
            0);
}

TEST(WorkerHostTest, WhereTheSystemGivesNoProcessThereIsNoWorker) {
  int result = InChild([] {
    testing::LimitThreads(1);
    EXPECT_ERROR(StartObedient(), StatusCode::kResourceExhausted, "cannot start a thread for a worker process");
  });
  if (result == testing::kCannotBeTested) GTEST_SKIP() << "the number of processes cannot be limited here";
  EXPECT_EQ(result, 0);
}

TEST(WorkerHostTest, AHostLeaksNoDescriptor) {
  std::size_t before = NamesIn("/proc/self/fd").size();
  for (const char* word : {"hello", "crash", "garbage"}) {
    Result<std::unique_ptr<WorkerProcess>> worker = StartObedient();
    (void)Ask(**worker, word);
  }
  EXPECT_EQ(NamesIn("/proc/self/fd").size(), before);
}

}  // namespace
}  // namespace tuneonce
