// Explains which config a launch runs, and why. To build and run it:
//   g++ -std=c++17 explain_config.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/plugin/record_store.h>
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <vector>

namespace to = tuneonce;

constexpr char kCudaSource[] = R"(
__global__ void twice(float* y, int n) {
  for (int i = blockIdx.x * TILE + threadIdx.x; i < n && i < (blockIdx.x + 1) * TILE; i += 128) y[i] *= 2;
})";
constexpr char kCpuSource[] = R"(
static void twice(const tuneonce_block& block, float* y, int n) {
  for (int i = block.x * TILE; i < n && i < int(block.x + 1) * TILE; ++i) y[i] *= 2;
}
TUNEONCE_CPU_KERNEL(twice);)";

void Print(const to::LaunchPlan& plan) {
  const std::string action(to::LaunchPlanName(plan.action)), reason(to::LaunchPlanName(plan.reason));
  const std::string config = plan.config ? plan.config->ToString() : "not known yet";
  std::printf("%s: %s, because of '%s': {%s}\n", plan.key.c_str(), action.c_str(), reason.c_str(), config.c_str());
  if (plan.record != nullptr) std::printf("  %.2f us\n", plan.record->best.measurement.mean_us);
}

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 4096});
  space.SetBaseline({{tile, 256}});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  twice.Space(space).Grid(to::Grid::OneD({"N", tile}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "twice"));

  to::AutotunePolicy policy;
  policy.store = to::MakeMemoryStore();  // The default store has records of earlier runs.
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice, policy));
  const to::TunedKernel::Shape shape = {{"N", 1000}};  // The arguments of a launch can take its place.
  TUNEONCE_ASSIGN_OR_RETURN(to::LaunchPlan before, kernel.Explain(stream.get(), shape));
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {shape}));
  TUNEONCE_ASSIGN_OR_RETURN(to::LaunchPlan after, kernel.Explain(stream.get(), shape));
  Print(before);  // It prints "search", because of "no_record".
  Print(after);   // It prints "selected", because of "ready".
  const bool is_tuned = after.reason == to::LaunchPlan::Reason::kReady && before.reason != after.reason;
  return is_tuned ? to::Status() : to::InternalError("it was not tuned");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
