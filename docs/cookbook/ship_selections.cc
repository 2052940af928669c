// Tunes into a file, from which a machine without a compiler runs. To build and run it:
//   g++ -std=c++17 ship_selections.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/plugin/sqlite_store.h>
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <fstream>

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
  to::AutotunePolicy tune, serve;  // You tune on one machine of each kind, and your users are served.
  TUNEONCE_ASSIGN_OR_RETURN(const std::shared_ptr<to::SqliteStore> tuned, to::SqliteStore::InMemory());
  tune.store = tuned;
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel here, to::TunedKernel::Create(twice, tune));
  TUNEONCE_RETURN_IF_ERROR(here.Warmup(stream.get(), {{{"N", 1000}}}));
  TUNEONCE_ASSIGN_OR_RETURN(const std::string bytes, tuned->Bytes());
  std::ofstream("shipped.db") << bytes;
  TUNEONCE_ASSIGN_OR_RETURN(serve.store, to::SqliteStore::Open({"shipped.db", /*read_only=*/true}));
  serve.mode = to::AutotunePolicy::Mode::kStoredOnly;  // Nothing is compiled or measured.
  serve.min_match = to::RecordMatch::kOtherDriver;     // The users' drivers differ.
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel there, to::TunedKernel::Create(twice, serve));
  TUNEONCE_RETURN_IF_ERROR(there.Launch(stream.get(), y));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  const bool is_correct = values[999] == 2 && there.counters().stored_hits == 1;
  return is_correct ? to::Status() : to::InternalError("the shipped config did not run");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
