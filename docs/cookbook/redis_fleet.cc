// Lets all machines of a fleet run what one of them tuned, by a Redis server. Build it by CMake, and run it with the
// server's address and a file of signing keys with a line "NAME HEX" (32 random bytes), which only you may read:
//   ./redis_fleet redis://127.0.0.1:6379/prod fleet.keys
#include <tuneonce/redis_store.h>
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

to::Status Run(const char* address, const char* keys) {
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
  to::RedisStoreOptions options;
  TUNEONCE_ASSIGN_OR_RETURN(options.redis, to::RedisOptions::Parse(address));
  TUNEONCE_ASSIGN_OR_RETURN(options.keys, to::ReadSigningKeys(keys));
  for (int machine = 0; machine < 2; ++machine) {  // Each pass stands for a machine.
    to::AutotunePolicy policy;
    TUNEONCE_ASSIGN_OR_RETURN(const std::shared_ptr<to::RedisStore> fleet, to::RedisStore::Open(options));
    policy.store = to::MakeFleetStore(to::MakeMemoryStore(), fleet);  // The machine's own store is usually a file.
    TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice, policy));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), y));
    if (machine == 1 && kernel.counters().stored_hits != 1) return to::InternalError("the second machine tuned again");
  }
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 4.0f) ? to::Status() : to::InternalError("1 * 2 * 2 is not 4");
}

int main(int argc, char** argv) {
  if (argc != 3) return std::printf("usage: redis_fleet ADDRESS KEYS\n"), 77;
  const to::Status status = Run(argv[1], argv[2]);
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
