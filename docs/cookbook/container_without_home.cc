// Keeps results on a mounted volume, where a container has no home. To build and run it:
//   g++ -std=c++17 container_without_home.cc $(pkg-config --cflags --libs tuneonce) && ./a.out [FILE]
#include <tuneonce/plugin/sqlite_store.h>
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

to::Status Run(const char* file) {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  std::vector<float> values(1000, 1.0f);
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer buffer, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(values.data(), 4000));
  const to::TensorView y = to::TensorView::Contiguous(buffer.data(), to::kFloat32, {1000});
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 4096});
  space.SetBaseline({{tile, 256}});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  twice.Space(space).Grid(to::Grid::OneD({"N", tile}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "twice"));
  std::string warning;
  to::RuntimeOptions options;  // In such an environment the default store is in memory, which a warning states.
  options.environment = {{"HOME", ""}, {"XDG_CACHE_HOME", ""}, {"TUNEONCE_STORE", ""}};
  options.log = [&](to::LogLevel, const std::string& line) { warning = line; };
  TUNEONCE_ASSIGN_OR_RETURN(const std::shared_ptr<to::Runtime> homeless, to::Runtime::Create(options));
  if (homeless->store() != homeless->memory_store() || warning.empty()) return to::InternalError("no warning");
  std::printf("without a home: %s\n", warning.c_str());
  to::AutotunePolicy policy;
  TUNEONCE_ASSIGN_OR_RETURN(policy.store, to::SqliteStore::Open({file}));  // A missing folder is created.
  for (int start = 0; start < 2; ++start) {  // Each pass stands for a start of the container.
    TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice, policy));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), y));
    if (start == 1 && kernel.counters().stored_hits != 1) return to::InternalError("the second start tuned again");
  }
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 4.0f) ? to::Status() : to::InternalError("1 * 2 * 2 is not 4");
}

int main(int argc, char** argv) {
  const to::Status status = Run(argc > 1 ? argv[1] : "./volume/tuned.db");
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
