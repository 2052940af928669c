// Candidates that end the process in which they are tried, or never end: the search goes on, and its host does not
// notice.
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "compile/command_toolchain.h"
#include "compile/toolbox.h"
#include "cuda/driver_api.h"
#include "testing/kinds_test.h"
#include "testing/runtimes.h"
#include "testing/sampling.h"
#include "testing/scale_tactics.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int NumDescriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

/// Children of all threads of this process, zombies too.
std::vector<pid_t> Children() {
  std::vector<pid_t> all;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    std::ifstream children("/proc/self/task/" + std::string(task->d_name) + "/children");
    all.insert(all.end(), std::istream_iterator<pid_t>(children), std::istream_iterator<pid_t>());
  }
  closedir(tasks);
  return all;
}
int NumChildren() { return static_cast<int>(Children().size()); }
/// Children that run the worker's program by now: not compilers, and not what is just being started.
std::vector<pid_t> Workers() {
  std::vector<pid_t> workers = Children();
  auto is_another = [](pid_t child) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/comm"), name);
    return name != "tuneonce_worker";
  };
  workers.erase(std::remove_if(workers.begin(), workers.end(), is_another), workers.end());
  return workers;
}

/// True if it becomes so within two minutes, which a busy machine may need.
bool Eventually(const std::function<bool()>& condition) {
  for (auto start = Clock::now(); SecondsSince(start) < 120;
       std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    if (condition()) return true;
  }
  return condition();
}

/// The host's compiler, which makes a file when it is first asked.
class TellingToolchain final : public Toolchain {
 public:
  explicit TellingToolchain(std::string file) : file_(std::move(file)) {}
  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override { return host_.Version(); }
  std::string Description() const override { return "telling"; }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    std::ofstream(file_) << "compiling";
    return host_.Compile(source, hints, target, limits);
  }

  const std::string file_;
  const CommandToolchain host_{kHostCompiler, testing::Tools()};
};

class IsolationTest : public testing::KindsTest {
 protected:
  IsolationTest() { options_.isolation = Isolation::kRequired; }

  static constexpr char kBad[] = R"(
#if GOOD
    volatile int spin = KIND == 2 ? 50000 : 400000;
    for (volatile int i = 0; i < spin; i = i + 1) {}
    twice();
#else
    switch (KIND) {
      case 1: { volatile float read = *(volatile float*)8; y[0] = read; break; }
      case 4: *(volatile float*)16 = 1; break;
      case 7: __builtin_trap();
      case 10: for (;;) usleep(1000);
      case 13: exit(3);
      case 16: abort();
      case 19: kill(getpid(), 9); break;
      case 22: twice(); work[16] = 1; break;
      case 25: twice(); x[7] = 1; break;
      case 28: twice(); /* It leads the race. */ if (runs > 6) y[0] = 0; break;
      default: {
        volatile int spin = KIND == 2 ? 50000 : 400000;
        for (volatile int i = 0; i < spin; i = i + 1) {}
        twice();
      }
    }
#endif
)";
  static std::string Bad(bool good) { return std::string("\n#define GOOD ") + (good ? "1" : "0") + kBad; }
};

TEST_F(IsolationTest, ASpaceInWhichEveryThirdCandidateIsABadOne) {
  testing::HostAtWork host(api(), context_->view());
  Result<TuningRecord> healthy = Search(Kinds(Bad(/*good=*/true), [] {
    std::vector<std::int64_t> kinds = Thirty();
    kinds.back() = 29;
    return kinds;
  }()));
  ASSERT_OK(healthy);
  std::size_t free_before = 0, free_after = 0, total = 0;
  // A search frees its memory in the order of a stream of its own.
  ASSERT_EQ(UnguardedTable(api()).CtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(UnguardedTable(api()).MemGetInfo(&free_before, &total), CUDA_SUCCESS);
  const int computed_before = host.computed();

  Result<TuningRecord> result = Search(Kinds(Bad(/*good=*/false), Thirty()));

  ASSERT_EQ(UnguardedTable(api()).CtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(UnguardedTable(api()).MemGetInfo(&free_after, &total), CUDA_SUCCESS);
  host.Stop();
  ASSERT_OK(result);
  EXPECT_EQ(host.failed(), 0);
  EXPECT_GT(host.computed(), computed_before) << "the host's context computed meanwhile";
  EXPECT_EQ(free_before, free_after);
  EXPECT_EQ(result->best.config.ToString(), "KIND=2");
  EXPECT_TRUE(result->is_isolated);
  std::map<std::string, std::string> failures = Failures(*result);
  EXPECT_EQ(failures.size(), 11u);
  auto expect = [&](const std::string& config, const std::string& how) {
    EXPECT_EQ(failures[config].substr(0, how.size()), how);
  };
  expect("KIND=1", "crash: crashed with 700: ");
  expect("KIND=4", "crash: crashed with 700: ");
  expect("KIND=7", "crash: ");
  expect("KIND=10", "timeout: did not finish within 4000 ms");
  expect("KIND=13", "crash: ");  // Destructors run beside a thread that waits: it may end by a signal.
  expect("KIND=16", "crash: was ended by signal 6");
  expect("KIND=19", "crash: was ended by signal 9");
  expect("KIND=22", "out of bounds: ");
  expect("KIND=25", "wrote an input: ");
  expect("KIND=28", "wrong result: ");
  expect("KIND=1000", "resources: ");
  EXPECT_EQ(result->cost.workers_replaced, 8) << "who is killed by 9 has a second chance: others may have done it";
  auto measuring = [](const TuningRecord& r) { return r.cost.wall_seconds - r.cost.compile_wall_seconds; };
  const double allowed = 1.1 * measuring(*healthy) + 0.5 * result->cost.workers_replaced + 4.0;
  EXPECT_LE(measuring(*result), allowed) << "a healthy search took " << measuring(*healthy);
}

TEST_F(IsolationTest, NothingIsLeftBehind) {
  options_.runtime = testing::RuntimeIn({});
  const int descriptors = NumDescriptors();
  ASSERT_OK(Search(Kinds("if (KIND == 1) abort(); twice();", {0, 1, 2})));
  EXPECT_GE(NumChildren(), 1) << "the worker waits for the next search";
  options_.runtime = testing::RuntimeIn({});  // The last owner of the other.
  EXPECT_TRUE(Eventually([] { return NumChildren() == 0; })) << NumChildren();
  EXPECT_TRUE(Eventually([&] { return NumDescriptors() == descriptors; })) << NumDescriptors() << ", " << descriptors;
}

TEST_F(IsolationTest, ACandidateThatDiesInTheRaceIsFoundAndTheOthersRaceOn) {
  options_.max_rounds = 20;
  // Two runs are checked before the race.
  Result<TuningRecord> result = Search(Kinds("if (KIND == 1 && runs > 2) abort(); twice();", {0, 1, 2, 3}));
  ASSERT_OK(result);
  EXPECT_EQ(Failures(*result)["KIND=1"], "crash: was ended by signal 6 (SIGABRT)");
  EXPECT_EQ(result->successes().size() + result->duplicates().size(), 3u);
  EXPECT_NE(result->best.config.ToString(), "KIND=0");
}

TEST_F(IsolationTest, ATraceHasALineForEachWorkerWithWhatItWasAskedAndHowItWasLost) {
  const Runtime& runtime = *Runtime::OrDefault(options_.runtime);
  runtime.BeginTrace();
  Result<TuningRecord> result = Search(Kinds("if (KIND == 1) abort(); twice();", {0, 1, 2}));
  const std::string trace = runtime.EndTrace();
  ASSERT_OK(result);
  auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = trace.find(part); at != std::string::npos; at = trace.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\"name\":\"worker "), 2) << "the one that was lost, and its successor";
  EXPECT_EQ(count("\"name\":\"lost: it was ended by signal 6 (SIGABRT)\",\"cat\":\"worker\""), 1);
  EXPECT_EQ(count("\"name\":\"prepare {KIND=1}\",\"cat\":\"worker\""), 1);
  EXPECT_EQ(count("\"name\":\"prepare {KIND=0}\",\"cat\":\"worker\""), 2) << "the reference, in both";
  EXPECT_EQ(count("\"name\":\"start\",\"cat\":\"worker\"") + count("\"name\":\"end the search\""), 3);
  EXPECT_GE(count("\"name\":\"run a round\",\"cat\":\"worker\""), 1);
}

TEST_F(IsolationTest, ACandidateThatDiesAfterTheRaceDoesNotWin) {
  // The check after the race runs several launches in a row without a pause; the race is short.
  options_.max_rounds = 2;
  options_.final_rounds = 0;
  Result<TuningRecord> result = Search(Kinds("if (KIND == 1 && runs > 6) abort(); twice();", {0, 1}));
  ASSERT_OK(result);
  EXPECT_EQ(result->best.config.ToString(), "KIND=0");
  EXPECT_EQ(Failures(*result)["KIND=1"].substr(0, 7), "crash: ") << Failures(*result)["KIND=1"];
}

TEST_F(IsolationTest, AnExitIsNoAnswer) {
  Result<TuningRecord> result =
      Search(Kinds("if (KIND == 1) _exit(3); if (KIND == 2) _exit(0); twice();", {0, 1, 2, 3}));
  ASSERT_OK(result);
  EXPECT_EQ(Failures(*result)["KIND=1"], "crash: exited with 3");
  EXPECT_EQ(Failures(*result)["KIND=2"], "crash: exited with 0");
}

TEST_F(IsolationTest, ABaselineThatDiesLeavesNothingToCompareWith) {
  Result<TuningRecord> result = Search(Kinds("if (KIND == 0) abort(); twice();", {0, 1}));
  EXPECT_ERROR(result, StatusCode::kInternal, "crash: was ended by signal 6");
}

TEST_F(IsolationTest, ACancelledSearchEndsThoughItsCandidateHangs) {
  std::atomic<bool> cancelled{false};
  options_.stop = &cancelled;
  options_.budgets.candidate = Budgets::Milliseconds(60000);
  const auto start = Clock::now();
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    cancelled = true;
  });
  EXPECT_ERROR(Search(Kinds("if (KIND == 1) for (;;) usleep(1000); twice();", {0, 1})), StatusCode::kCancelled, "");
  user.join();
  EXPECT_LT(SecondsSince(start), 20);
}

TEST_F(IsolationTest, WhatGoesOverTheSocketFromACandidateIsNoAnswer) {
  Result<TuningRecord> result =
      Search(Kinds("if (KIND == 1) { char all[64] = {9}; write(3, all, 64); } twice();", {0, 1, 2}));
  ASSERT_OK(result);
  EXPECT_EQ(Failures(*result)["KIND=1"].substr(0, 9), "protocol:") << Failures(*result)["KIND=1"];
}

TEST_F(IsolationTest, AWorkerIsUsedAgainByTheNextSearch) {
  ASSERT_OK(Search(Kinds("twice();", {0, 1})));
  const auto start = Clock::now();
  Result<TuningRecord> again = Search(Kinds("twice();", {0, 1}));
  ASSERT_OK(again);
  EXPECT_TRUE(again->is_isolated);
  EXPECT_EQ(NumChildren(), 1) << "one worker for both, after " << SecondsSince(start) << " s";
}

TEST_F(IsolationTest, AWorkerThatOthersEndIsReplacedAndNoCandidateIsBlamed) {
  // The system ends what takes memory, and people what they do not know: at any point of a search.
  constexpr int kPoints = 25;
  const KernelDefinition definition = Kinds("twice();", {0, 1, 2});
  ASSERT_OK(Search(definition));
  int replaced = 0;
  const auto step = static_cast<int>(testing::StepUnlessWhole(3));
  for (int point = 0; point < kPoints; point += step) {
    std::thread killer([point] {
      std::this_thread::sleep_for(std::chrono::milliseconds(4 * point));
      for (pid_t worker : Workers()) kill(worker, SIGKILL);
    });
    Result<TuningRecord> result = Search(definition);
    killer.join();
    ASSERT_OK(result);
    EXPECT_TRUE(result->failures().empty()) << Failures(*result).begin()->second;
    replaced += result->cost.workers_replaced;
  }
  EXPECT_GT(replaced, 0) << "no kill met a search";
}

TEST_F(IsolationTest, AWarmUpHasOneWorkerForAllItsShapes) {
  AutotunePolicy policy;
  policy.search = options_;
  policy.store = MakeMemoryStore();
  Result<TunedKernel> kernel = TunedKernel::Create(Kinds("twice();", {0, 1}), policy);
  ASSERT_OK(kernel);
  ASSERT_OK(kernel->Warmup(stream_->get(), {{{"N", 100}}, {{"N", 2000}}, {{"N", 30000}}}));
  EXPECT_EQ(kernel->counters().tunes, 3);
  EXPECT_EQ(NumChildren(), 1);
}

TEST_F(IsolationTest, TwoWorkersOnTwoDevicesAtOnce) {
  Result<int> count = Device::Count(api());
  ASSERT_OK(count);
  if (*count < 2) GTEST_SKIP() << "ONE DEVICE: TUNEONCE_CPU_DEVICES=2 makes two";
  const KernelDefinition definition = Kinds("if (KIND == 1) abort(); twice();", {0, 1, 2});
  std::vector<std::thread> searches;
  for (int index = 0; index < 2; ++index) {
    searches.emplace_back([&, index] {
      Device device = *Device::Get(api(), index);
      Context context = *Context::RetainPrimary(device);
      ScopedContext current(context.view());
      Stream stream = *Stream::Create(api());
      DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), kN * 4),
                   y = *DeviceBuffer::Allocate(stream.view(), kN * 4);
      EXPECT_OK(x.Fill(0x40));
      const TensorView x_view = testing::View(x), y_view = testing::View(y);
      Result<TuningRecord> result = exhaustive_search(definition, stream.get(), {x_view, y_view}, options_);
      ASSERT_OK(result);
      EXPECT_TRUE(result->is_isolated);
      EXPECT_EQ(result->cost.workers_replaced, 1);
      EXPECT_EQ(result->failures().size(), 1u);
    });
  }
  for (std::thread& search : searches) search.join();
  // A thread that ends hands its children on, and they are on nobody's list meanwhile.
  EXPECT_TRUE(Eventually([] { return NumChildren() == 2; })) << NumChildren();
}

TEST_F(IsolationTest, WhatCannotBeIsolatedSaysWhy) {
  testing::WorkTimer timer;
  testing::ScaleTactics tactics(*device_);
  auto search = [&] {
    DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
    const TensorView x_view = testing::View(x), y_view = testing::View(y);
    const float factor = 2;
    return exhaustive_search(tactics.Definition(), stream_->get(), {x_view, y_view, factor}, options_);
  };
  EXPECT_ERROR(search(), StatusCode::kFailedPrecondition,
               "is launched by a function, which a worker process cannot call");
  options_.isolation = Isolation::kPreferred;
  Result<TuningRecord> here = search();
  ASSERT_OK(here);
  EXPECT_FALSE(here->is_isolated);
  ASSERT_FALSE(here->notes.empty());
  EXPECT_EQ(here->notes.back(),
            "candidates ran in this process: variant 'callable' is launched by a function, which a worker process "
            "cannot call");

  options_.isolation = Isolation::kRequired;
  options_.timer = &timer;
  EXPECT_ERROR(Search(Kinds("twice();", {0, 1})), StatusCode::kFailedPrecondition, "the given timer works only");
  options_.timer = nullptr;
  options_.memory_budget_bytes = 1000;
  EXPECT_ERROR(Search(Kinds("twice();", {0, 1})), StatusCode::kResourceExhausted, "the worker's copies of the inputs");
  options_.memory_budget_bytes = 0;
  options_.runtime = testing::RuntimeIn({{"TUNEONCE_WORKER", "/there/is/none"}});
  EXPECT_ERROR(Search(Kinds("twice();", {0, 1})), StatusCode::kUnavailable, "TUNEONCE_WORKER");
  options_.runtime = testing::RuntimeIn({{"TUNEONCE_WORKER", "/bin/true"}});
  EXPECT_ERROR(Search(Kinds("twice();", {0, 1})), StatusCode::kUnavailable, "the worker did not start");
}

TEST_F(IsolationTest, TheWorkerStartsWhileCandidatesCompile) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_OK(folder);
  Result<std::string> program = FindWorker(Environment::Read());
  ASSERT_OK(program);
  // This one is ready only when something compiles: whoever waits for it first, waits for ever.
  const std::string compiles = folder->path() + "/compiles", started = folder->path() + "/started";
  Result<std::string> script =
      folder->WriteFile("worker", "#!/bin/sh\ntouch " + started + "\nwhile [ ! -e " + compiles +
                                      " ]; do sleep 0.01; done\nexec " + *program + "\n");
  ASSERT_OK(script);
  ASSERT_EQ(chmod(script->c_str(), 0700), 0);
  RuntimeOptions options;
  options.environment = {{"TUNEONCE_WORKER", *script}};
  options.toolchains = std::make_shared<const ToolchainSet>(
      std::vector<std::shared_ptr<const Toolchain>>{std::make_shared<TellingToolchain>(compiles)});
  options_.runtime = testing::MakeRuntime(std::move(options));
  Result<TuningRecord> result = Search(Kinds("twice();", {0, 1}));
  ASSERT_OK(result);
  EXPECT_TRUE(result->is_isolated);
  EXPECT_EQ(result->cost.workers_replaced, 0);

  // Where nothing compiles it is not waited for, and left to the next search.
  EXPECT_ERROR(Search(Kinds("this does not compile", {0, 1})), StatusCode::kInternal, "invalid use of");
  EXPECT_EQ(NumChildren(), 1);
}

TEST_F(IsolationTest, ATunedKernelIsTunedInAWorkerAndRemembersWhatDied) {
  AutotunePolicy policy;
  policy.search = options_;
  policy.store = MakeMemoryStore();
  const KernelDefinition definition = Kinds("if (KIND == 1) abort(); twice();", {0, 1, 2});
  Result<TunedKernel> kernel = TunedKernel::Create(definition, policy);
  ASSERT_OK(kernel);
  DeviceBuffer x = Floats(std::vector<float>(kN, 3)), y = Floats(std::vector<float>(kN, 7));
  ASSERT_OK(kernel->Launch(stream_->get(), testing::View(x), testing::View(y)));
  EXPECT_TRUE(Read(y) == std::vector<float>(kN, 6));
  EXPECT_EQ(kernel->counters().workers_replaced, 1);
  Result<std::vector<TuningRecord>> records = policy.store->List();
  ASSERT_OK(records);
  ASSERT_EQ(records->size(), 1u);
  ASSERT_EQ(records->front().fatal.size(), 1u);
  EXPECT_EQ(records->front().fatal[0].config.ToString(), "KIND=1");
  EXPECT_EQ(records->front().fatal[0].reason, "was ended by signal 6 (SIGABRT)");

  // Another process, or this one, later: also one that does not isolate.
  policy.search.isolation = Isolation::kOff;
  Result<TunedKernel> later = TunedKernel::Create(definition, policy);
  ASSERT_OK(later);
  ASSERT_OK(later->Retune(stream_->get(), {testing::View(x), testing::View(y)}));
  records = policy.store->List();
  ASSERT_OK(records);
  ASSERT_EQ(records->front().fatal.size(), 1u) << "it stays known";
  EXPECT_EQ(records->front().fatal[0].reason, "was ended by signal 6 (SIGABRT)");
}

}  // namespace
}  // namespace tuneonce
