// Isolated searches on a real GPU: candidates that fault, trap, hang, want too much memory or turn wrong take their
// worker with them at most; the host's context computes on, and its data is as it was.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/driver_api.h"
#include "testing/kind_searches.h"

namespace tuneonce {
namespace {

using Clock = std::chrono::steady_clock;

class IsolationGpuTest : public testing::KindSearches<testing::GpuTest, 1 << 20>,
                         public ::testing::WithParamInterface<Isolation> {
 protected:
  IsolationGpuTest() : KindSearches(/*candidate_deadline_ms=*/3000) {}

  /// One kernel per value of KIND; 0 is the baseline, and slow. `body`: of one thread, which has `at`, its
  /// element, and `runs`, how often the kernel ran before.
  KernelDefinition Kinds(const std::string& body, std::vector<std::int64_t> kinds) {
    const std::string source = R"(
__device__ int launches = 0;
extern "C" __global__ void k(const float* cx, float* y, int n, float* work) {
  float* x = const_cast<float*>(cx);
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  int runs = launches;
  if (KIND >= 1000) work[0] = KIND;
  if (at >= n) return;
  long long begin = clock64();
  while (clock64() - begin < (KIND == 0 ? 400000 : KIND == 2 ? 20000 : KIND == 28 ? 0 : 100000)) {}
  {)" + body + R"(}
  if (at == 0) launches = runs + 1;
})";
    SearchSpace space;
    IntAxis kind = space.AddAxis("KIND", std::move(kinds));
    space.SetBaseline({{kind, 0}});
    KernelDefinition definition("k");
    definition
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N"),
                     Workspace("work",
                               [kind](const Config& c, const Problem&) {
                                 return static_cast<std::size_t>(c[kind] >= 1000 ? std::int64_t{1} << 50 : 64);
                               })})
        .Space(space)
        .Grid(Grid::OneD({"N", 256}))
        .AddVariant(CudaCpp(source, "k").Block(256));
    return definition;
  }
};

INSTANTIATE_TEST_SUITE_P(, IsolationGpuTest, ::testing::Values(Isolation::kOff, Isolation::kRequired),
                         [](const auto& where) { return where.param == Isolation::kOff ? "InProcess" : "Isolated"; });

TEST_P(IsolationGpuTest, WhatACandidateDoesWrongIsFoundAndNamed) {
  options_.isolation = GetParam();
  Result<TuningRecord> result = Search(Kinds(R"(
    y[at] = 2 * x[at];
    if (KIND == 1 && at == 5) y[at] += 1;
    if (KIND == 3 && at == n - 1) y[n] = 1;
    if (KIND == 4 && at == 7) x[7] = 1;
    if (KIND == 5 && at == 0 && runs > 8) y[0] = 0;
    if (KIND == 6 && at == 0) work[16] = 1;)",
                                             {0, 1, 2, 3, 4, 5, 6, 1000}));
  ASSERT_OK(result);
  EXPECT_EQ(result->is_isolated, GetParam() == Isolation::kRequired);
  EXPECT_EQ(result->best.config.ToString(), "KIND=2");
  std::map<std::string, std::string> failures = Failures(*result);
  auto expect = [&](const std::string& config, const std::string& how) {
    EXPECT_EQ(failures[config].substr(0, how.size()), how);
  };
  expect("KIND=1", "wrong result: ");
  expect("KIND=3", "out of bounds: it wrote behind 'y'");
  expect("KIND=4", "wrote an input: the kernel wrote to its input 'x'");
  expect("KIND=6", "out of bounds: it wrote behind workspace 1");
  expect("KIND=1000", "resources: ");
}

TEST_P(IsolationGpuTest, TimesAreTheSame) {
  options_.isolation = GetParam();
  options_.gpu_budget_ms = 100;
  Result<TuningRecord> result = Search(Kinds("y[at] = 2 * x[at];", {0, 1, 2}));
  ASSERT_OK(result);
  std::printf("%s, by %s:", result->is_isolated ? "isolated" : "in process", result->timer.c_str());
  for (const CandidateOutcome& success : result->successes()) {
    std::printf(" {%s} %.2f +- %.2f us;", success.config.ToString().c_str(), success.measurement.mean_us,
                success.measurement.error_margin_us.value_or(0));
  }
  std::printf("\n");
}

class CrashGpuTest : public IsolationGpuTest {};
INSTANTIATE_TEST_SUITE_P(, CrashGpuTest, ::testing::Values(Isolation::kRequired),
                         [](const auto&) { return "Isolated"; });

TEST_P(CrashGpuTest, ASpaceInWhichEveryThirdCandidateIsABadOne) {
  options_.isolation = GetParam();
  testing::HostAtWork host(api(), context_->view());
  const std::string bad = R"(
    float value = 2 * x[at];
    if (KIND == 1 && at == 0) value = *(volatile float*)(1ull << 60);
    if (KIND == 4 && at == 0) *(volatile float*)(1ull << 60) = 1;
    if (KIND == 7 && at == 0) __trap();
    if (KIND == 10) while (((volatile int*)&launches)[0] >= 0) {}
    if (KIND == 13 && at == 0) *(volatile int*)((char*)x + 1) = 1;
    if (KIND == 16 && at == 0) asm volatile("brkpt;");
    y[at] = value;
    if (KIND == 22 && at == 0) work[16] = 1;
    if (KIND == 25 && at == 7) x[7] = 1;
    /* The fastest, and wrong once it is timed: what wins is verified again. */
    if (KIND == 28 && at == 0 && runs > 3) y[0] = 0;)";
  auto timed_search = [&](const std::string& body, const std::vector<std::int64_t>& all) {
    const auto begin = Clock::now();
    Result<TuningRecord> of = Search(Kinds(body, all));
    return std::make_pair(std::move(of), std::chrono::duration<double>(Clock::now() - begin).count());
  };
  std::vector<std::int64_t> good_kinds = Thirty();
  good_kinds.back() = 29;
  const auto [healthy, healthy_seconds] = timed_search("y[at] = 2 * x[at];", good_kinds);
  const auto [result, seconds] = timed_search(bad, Thirty());
  host.Stop();
  ASSERT_OK(healthy);
  ASSERT_OK(result);
  EXPECT_EQ(host.failed(), 0) << "the host's context computes before, during and after";
  EXPECT_EQ(result->best.config.ToString(), "KIND=2");
  std::map<std::string, std::string> failures = Failures(*result);
  auto expect = [&](const std::string& config, const std::string& how) {
    EXPECT_EQ(failures[config].substr(0, how.size()), how);
  };
  expect("KIND=1", "crash: crashed with 700: ");
  expect("KIND=4", "crash: crashed with 700: ");
  expect("KIND=7", "crash: crashed with ");
  expect("KIND=10", "timeout: did not finish within 3000 ms");
  expect("KIND=13", "crash: crashed with 716: ");
  expect("KIND=22", "out of bounds: ");
  expect("KIND=25", "wrote an input: ");
  expect("KIND=28", "wrong result: ");
  expect("KIND=1000", "resources: ");
  EXPECT_EQ(result->cost.workers_replaced, 6) << "one for each candidate that crashes or does not end";
  std::printf("%.2f s, the healthy ones %.2f s; %d workers replaced; the host computed %d times\n", seconds,
              healthy_seconds, result->cost.workers_replaced, host.computed());
  for (const auto& [config, how] : failures) std::printf("  {%s} %s\n", config.c_str(), how.c_str());
}

TEST_P(CrashGpuTest, DeviceMemoryComesBackWithTheWorker) {
  options_.isolation = GetParam();
  ASSERT_OK(Search(Kinds("y[at] = 2 * x[at];", {0, 2})));  // What the host's context takes for its first search.
  options_.runtime = testing::RuntimeIn({});
  std::this_thread::sleep_for(std::chrono::seconds(1));
  auto free_bytes = [&] {
    EXPECT_OK(stream_->view().Synchronize());
    std::size_t free = 0, total = 0;
    EXPECT_EQ(UnguardedTable(api()).MemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  };
  const std::size_t before = free_bytes();
  ASSERT_OK(Search(Kinds("y[at] = 2 * x[at]; if (KIND == 1 && at == 0) __trap();", {0, 1, 2})));
  const std::size_t with_worker = free_bytes();
  options_.runtime = testing::RuntimeIn({});  // Ends the idle worker with its owner.
  std::size_t after = 0;
  for (int i = 0; i < 50 && after < before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    after = free_bytes();
  }
  EXPECT_GE(after + (std::size_t{2} << 20), before);
  std::printf("an idle worker takes %.0f MiB of device memory\n",
              static_cast<double>(before - with_worker) / (1 << 20));
}

TEST_P(CrashGpuTest, TwoWorkersOnTwoGpusAtOnce) {
  if (*Device::Count(api()) < 2) GTEST_SKIP() << "NO SECOND GPU";
  const KernelDefinition definition = Kinds("y[at] = 2 * x[at]; if (KIND == 1 && at == 0) __trap();", {0, 1, 2});
  options_.isolation = GetParam();
  auto search = [&](int index) {
    Context context = *Context::RetainPrimary(*Device::Get(api(), index));
    ScopedContext current(context.view());
    Stream stream = *Stream::Create(api());
    DeviceBuffer x = *DeviceBuffer::Allocate(stream.view(), kN * 4), y = *DeviceBuffer::Allocate(stream.view(), kN * 4);
    ASSERT_OK(x.Fill(0x40));
    const TensorView x_view = testing::View(x), y_view = testing::View(y);
    const auto begin = Clock::now();
    Result<TuningRecord> result = exhaustive_search(definition, stream.get(), {x_view, y_view}, options_);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    ASSERT_OK(result);
    EXPECT_TRUE(result->is_isolated);
    EXPECT_EQ(result->best.config.ToString(), "KIND=2");
    EXPECT_EQ(result->cost.workers_replaced, 1);
    EXPECT_EQ(Failures(*result)["KIND=1"].substr(0, 21), "crash: crashed with 7");
    std::printf("GPU %d: %.2f s, KIND=2 takes %.2f us\n", index, seconds, result->best.measurement.mean_us);
  };
  for (int index : {0, 1}) search(index);  // One after the other, for comparison.
  options_.runtime = testing::RuntimeIn({});
  std::thread first(search, 0), second(search, 1);
  first.join();
  second.join();
}

}  // namespace
}  // namespace tuneonce
