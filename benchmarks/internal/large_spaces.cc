// CPU time and memory of large search spaces, as JSON: enumerating public ones, and spaces of 10^9 points with about
// 10^4 valid configs; planning a search of CLBlast's GEMM, which is all that precedes the first compile; and the first
// launch on the CPU device of a key whose config is in a store, for this space and for a space of one config. Each is
// done in a process of its own, whose peak of resident memory is shown.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "search/candidate.h"
#include "search/candidate_groups.h"
#include "testing/public_spaces.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/search_space.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// Nine axes of the values 1 to 10: 10^9 points.
testing::PublicSpace Billion(std::vector<std::string> conditions) {
  testing::PublicSpace space;
  for (int i = 0; i < 9; ++i) space.axes.emplace_back("x" + std::to_string(i), testing::Range(1, 10));
  space.conditions = std::move(conditions);
  return space;
}

struct Case {
  const char* name;
  testing::PublicSpace space;
  enum class Part { kEnumerate, kPlan, kLaunchStored } part = Part::kEnumerate;
};

std::vector<Case> Cases() {
  return {{"gemm", testing::Gemm()},
          {"whole_gemm", testing::WholeGemm()},
          {"whole_gemm_planned", testing::WholeGemm(), Case::Part::kPlan},
          {"whole_gemm_stored", testing::WholeGemm(), Case::Part::kLaunchStored},
          {"one_config_stored", {{{"MWG", {16}}}, {}}, Case::Part::kLaunchStored},
          {"hotspot", testing::Hotspot()},
          {"dedispersion", testing::Dedispersion()},
          {"billion_of_divisors", Billion({"x1 % x0 == 0", "x2 % x1 == 0", "x3 % x2 == 0", "x4 % x3 == 0",
                                           "x5 % x4 == 0", "x6 % x5 == 0", "x7 % x6 == 0", "x8 % x7 == 0"})},
          {"billion_of_one_product", Billion({"x0 * x1 * x2 * x3 * x4 * x5 * x6 * x7 * x8 == 5040"})},
          {"billion_of_far_axes", Billion({"x0 == x8", "x1 == x7", "x2 == x6 || x2 == 1 && x6 == 2", "x3 + x5 == x4",
                                           "x0 * x1 * x2 <= 100"})}};
}

double CpuSeconds(const rusage& usage) {
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Enumerates the space and prints its sizes. Returns false for an error, which it prints.
bool Enumerate(const testing::PublicSpace& space) {
  SearchSpace made = space.Make();
  Result<ConfigSet> set = made.Configs(*Target::Named("sm_90"));
  if (!set.ok()) {
    std::fprintf(stderr, "%s\n", set.status().message().c_str());
    return false;
  }
  // The first, the last and some in between are made, as a search would.
  for (std::int64_t i = 0; i < 1000 && !set->empty(); ++i) {
    const auto at = static_cast<std::int64_t>(static_cast<double>(set->size() - 1) * static_cast<double>(i) / 999);
    if (!made.Contains(set->At(at), *Target::Named("sm_90")).ok()) return false;
  }
  std::printf("\"points\": %lld, \"configs\": %lld", static_cast<long long>(made.NumPoints()),
              static_cast<long long>(set->size()));
  std::fflush(stdout);
  return true;
}

/// Plans every config of the space with a source of 24 kB, the size of CLBlast's GEMM, and makes the compile jobs.
bool Plan(const testing::PublicSpace& space) {
  const Target target = *Target::Named("sm_90");
  KernelDefinition kernel("gemm");
  kernel.Parameters({In("x", DType::kFloat32, {"N"}), Out("y", DType::kFloat32, {"N"})})
      .Space(space.Make().MaxConfigs(100'000));
  kernel.AddVariant(CudaCpp(std::string(24'000, '/') + "\nextern \"C\" __global__ void gemm(float*, float*) {}", "gemm")
                        .Grid(Grid::Fixed(1))
                        .Block(32));
  Status valid = kernel.Validate();
  const auto definition = std::make_shared<const KernelDefinition>(std::move(kernel));
  BoundCall call;
  call.problem.target = &target;
  call.problem.dims.Reset(1);
  call.problem.dims[Dim{0}] = 1;
  float element = 0;
  const TensorView tensor = TensorView::Contiguous(&element, DType::kFloat32, {1});
  for (std::size_t i = 0; i < 2; ++i) {
    call.ResetParameter(i);
    call.problem.values[i] = &tensor;
    call.problem.dtypes[i] = DType::kFloat32;
  }
  Result<std::vector<Config>> configs = definition->space().Enumerate(target, &call.problem);
  if (!valid.ok() || !configs.ok()) {
    std::fprintf(stderr, "%s\n", (valid.ok() ? configs.status() : valid).message().c_str());
    return false;
  }
  std::vector<PlannedConfig> planned;
  SourceTexts texts;
  for (const Config& config : *configs) {
    Result<PlannedConfig> each = PlanConfig(definition, config, call, /*enable_tile=*/true, {}, &texts);
    if (!each.ok()) {
      std::fprintf(stderr, "%s\n", each.status().message().c_str());
      return false;
    }
    planned.push_back(*std::move(each));
  }
  CandidateGroups groups("gemm", std::nullopt, *Runtime::Default());
  std::vector<std::size_t> all(planned.size());
  std::iota(all.begin(), all.end(), 0);
  groups.Begin(ConfigPlanner(std::move(planned)), {});
  std::vector<std::size_t> index_of;
  const std::vector<CompileJob> jobs =
      groups.JobsToCompile(all, std::chrono::steady_clock::time_point::max(), &index_of);
  std::printf("\"jobs\": %zu", jobs.size());
  std::fflush(stdout);
  return jobs.size() == configs->size();
}

double ProcessCpuMs() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// Tunes a kernel of the space for three seconds, then launches others that find its record. Prints the CPU time of the
/// creation and the first launch of one of five, the one with the shortest launch.
Status LaunchStored(const testing::PublicSpace& space) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice("cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  const ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  KernelDefinition kernel("gemm");
  kernel.Parameters({In("x", DType::kFloat32, {"N"}), Out("y", DType::kFloat32, {"N"})})
      .Space(space.Make().MaxConfigs(100'000))
      .Grid(Grid::Fixed(1))
      .AddVariant(CpuCpp("static void gemm(const tuneonce_block&, const float* x, float* y) { *y = *x + 0 * MWG; }\n"
                         "TUNEONCE_CPU_KERNEL(gemm);",
                         "gemm"));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer x, DeviceBuffer::Allocate(stream.view(), sizeof(float)));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer y, DeviceBuffer::Allocate(stream.view(), sizeof(float)));
  const TensorView in = TensorView::Contiguous(x.data(), DType::kFloat32, {1});
  const TensorView out = TensorView::Contiguous(y.data(), DType::kFloat32, {1});
  AutotunePolicy policy;
  policy.store = MakeMemoryStore();
  policy.search.budgets.wall = Budgets::Milliseconds(3000);
  policy.search.quiet = true;
  double create_ms = 0, launch_ms = 0;
  for (int i = 0; i < 6; ++i) {
    const double begin = ProcessCpuMs();
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel tuned, TunedKernel::Create(kernel, policy));
    const double created = ProcessCpuMs();
    TUNEONCE_RETURN_IF_ERROR(tuned.Launch(stream.get(), in, out));
    const double launched = ProcessCpuMs();
    if (i > 0 && tuned.counters().tunes > 0) return InternalError("the record was not found");
    if (i == 1 || (i > 1 && launched - created < launch_ms)) {
      create_ms = created - begin;
      launch_ms = launched - created;
    }
    TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  }
  std::printf("\"create_ms\": %.3f, \"first_launch_ms\": %.3f", create_ms, launch_ms);
  std::fflush(stdout);
  return Status();
}

bool Do(const Case& each) {
  if (each.part == Case::Part::kEnumerate) return Enumerate(each.space);
  if (each.part == Case::Part::kPlan) return Plan(each.space);
  const Status done = LaunchStored(each.space);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.message().c_str());
  return done.ok();
}

int Main() {
  std::printf("[\n");
  bool is_first = true;
  for (const Case& each : Cases()) {
    std::printf("%s  {\"space\": \"%s\", ", is_first ? "" : ",\n", each.name);
    is_first = false;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(Do(each) ? 0 : 1);
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return 1;
    std::printf(", \"cpu_s\": %.3f, \"peak_mb\": %.1f}", CpuSeconds(usage),
                static_cast<double>(usage.ru_maxrss) / 1024);
  }
  std::printf("\n]\n");
  return 0;
}

}  // namespace
}  // namespace tuneonce

int main() { return tuneonce::Main(); }
