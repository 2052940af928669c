// Lets all ranks of an MPI job run the same config: one of them tunes. Build it by CMake, and run it so:
//   mpirun -n 2 ./mpi_ranks
#include <mpi.h>
#include <tuneonce/mpi_rank_group.h>
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

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(const std::shared_ptr<to::RankGroup> group, to::MakeMpiRank());
  TUNEONCE_ASSIGN_OR_RETURN(const to::Device first, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(const int devices, to::Device::Count(first.api()));
  TUNEONCE_ASSIGN_OR_RETURN(const to::Device device, to::Device::Get(first.api(), group->rank() % devices));
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
  policy.store = to::MakeMemoryStore();  // Each rank has its own, as on hosts that share no file.
  policy.ranks.group = group;
  policy.ranks.exchange_code = true;  // A config is compiled by one rank.
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice, policy));
  const to::TunedKernel::Shape shape = {{"N", 1000}};
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {shape}));  // All ranks call it, in the same order.
  TUNEONCE_ASSIGN_OR_RETURN(const to::LaunchPlan plan, kernel.Explain(stream.get(), shape));
  if (!plan.config) return to::InternalError("no config was agreed on");
  std::printf("rank %d runs {%s}\n", group->rank(), plan.config->ToString().c_str());
  const std::int64_t selected = (*plan.config)[tile];
  std::int64_t least = 0;
  MPI_Allreduce(&selected, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  return least == selected ? to::Status() : to::InternalError("the ranks run different configs");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  if (!status.ok()) MPI_Abort(MPI_COMM_WORLD, 1);  // The other ranks would wait.
  MPI_Finalize();
}
