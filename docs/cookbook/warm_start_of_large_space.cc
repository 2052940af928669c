// Searches 4,200 configs by few trials, and continues the search later. To build and run it:
//   g++ -std=c++17 warm_start_of_large_space.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/plugin/record_store.h>
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace to = tuneonce;

constexpr char kCudaSource[] = R"(
__global__ void twice(float* y, int n) {
  const int first = blockIdx.x * BLOCK * ITEMS;
#pragma unroll(UNROLL)
  for (int i = first + threadIdx.x; i < n && i < first + BLOCK * ITEMS; i += BLOCK) y[i] *= 2;
})";
constexpr char kCpuSource[] = R"(
static void twice(const tuneonce_block& block, float* y, int n) {
  for (int i = block.x * BLOCK * ITEMS; i < n && i < int(block.x + 1) * BLOCK * ITEMS; ++i) y[i] *= 2;
}
TUNEONCE_CPU_KERNEL(twice);)";

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  std::vector<std::int64_t> counts(100);
  std::iota(counts.begin(), counts.end(), 1);
  to::SearchSpace space;
  const to::IntAxis block = space.AddPowerOfTwoAxis("BLOCK", 32, 1024), items = space.AddAxis("ITEMS", counts);
  const to::IntAxis unroll = space.AddAxis("UNROLL", {1, 2, 3, 4, 5, 6, 8});
  space.SetBaseline({{block, 128}, {items, 1}, {unroll, 1}});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")}).Space(space);
  twice.Grid(to::Grid::OneD({"N", block * items}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(block)).AddVariant(to::CpuCpp(kCpuSource, "twice"));

  to::AutotunePolicy policy;
  policy.store = to::MakeMemoryStore();  // The default is a file, which later processes read.
  policy.search.budgets.trials = 4;      // A model of what was measured proposes the configs that are tried.
  for (int process = 0; process < 2; ++process) {
    TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice, policy));
    TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {{{"N", 100000}}}));
    TUNEONCE_RETURN_IF_ERROR(kernel.TunePending(stream.get()));  // Continues a search that was cut short.
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<to::TuningRecord> records, policy.store->List());
    if (records.size() != 1) return to::InternalError("the search left no record");
    std::printf("%s: {%s}\n", records[0].SearchedText().c_str(), records[0].best.config.ToString().c_str());
    if (process == 1 && records[0].successes().size() <= 4) return to::InternalError("the search was not continued");
  }
  return to::Status();
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
