// docs_blocks: without arguments, the names of the blocks; with PAGE LINE, runs that block on the CPU device, in this
// folder. Exit code 0 if it returns OK. What blocks use without declaring it (names.h) is made here.
#include "block_runner.h"

#include <cudaTypedefs.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tuneonce/device.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace {

template <typename T>
T Must(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "docs_blocks: %s\n", result.status().ToString().c_str());
  std::exit(1);
}

constexpr std::size_t kBytes = std::size_t{1} << 20;

struct OfDevice {
  Device device = Must(OpenDevice("cpu"));
  Context context = Must(Context::RetainPrimary(device));
  ScopedContext current{context.view()};
  Stream stream = Must(Stream::Create(device.api()));
  std::vector<DeviceBuffer> buffers;

  void* Zeros() {
    buffers.push_back(Must(DeviceBuffer::Allocate(stream.view(), kBytes)));
    if (!buffers.back().Fill(0).ok()) std::abort();
    return buffers.back().data();
  }
};
OfDevice& Own() {
  static auto* const own = new OfDevice();
  return *own;
}

/// A vector of 4096 floats.
TensorView Floats() { return TensorView::Contiguous(Own().Zeros(), kFloat32, {4096}); }

constexpr char kAxpy[] = R"(
static void axpy(const tuneonce_block& block, float a, const float* x, float* y, int N) {
  for (int i = block.x * TILE; i < N && i < (block.x + 1) * TILE; ++i) y[i] += a * x[i];
}
TUNEONCE_CPU_KERNEL(axpy);)";
constexpr char kRmsNorm[] = R"(
static void rms_norm(const tuneonce_block& block, const _Float16* x, const _Float16* w, _Float16* y, float eps, int N) {
  float sum = 0;
  for (int i = 0; i < N; ++i) sum += float(x[block.x * N + i]) * float(x[block.x * N + i]);
  float scale = 1 / __builtin_sqrtf(sum / N + eps);
  for (int i = 0; i < N; ++i) y[block.x * N + i] = _Float16(float(x[block.x * N + i]) * scale * float(w[i]));
}
TUNEONCE_CPU_KERNEL(rms_norm);)";

KernelDefinition Axpy() {
  SearchSpace tiles;
  auto tile = tiles.AddAxis("TILE", {256, 4096});
  tiles.SetBaseline({{tile, 256}});
  return KernelDefinition("axpy")
      .Parameters({Scalar<float>("a").ForWarmup(1.0f), In("x", kFloat32, {"N"}), InOut("y", kFloat32, {"N"})})
      .Space(tiles)
      .Grid(Grid::OneD({"N", tile}))
      .AddVariant(CpuCpp(kAxpy, "axpy").KernelArgs({"a", "x", "y", "N"}));
}

/// A store that an application ships.
const std::string& ShippedBytes() {
  static const auto* const bytes = new std::string(Must(Must(SqliteStore::InMemory())->Bytes()));
  return *bytes;
}

}  // namespace

Device device = Own().device;
CUstream stream = Own().stream.get();
StreamView stream_view = Own().stream.view();
TensorView x = Floats(), y = Floats(), w = Floats();
KernelDefinition axpy = Axpy();
KernelDefinition definition("definition");
SearchSpace space;
AutotunePolicy policy;
TunedKernel kernel = Must(TunedKernel::Create(axpy));
const char* kSource = kAxpy;
const char* kCpuSource = kRmsNorm;
const char* kCudaSource = "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int N) {}";
std::string bytecode, ptx;
const char* store_bytes = ShippedBytes().data();
std::size_t store_size = ShippedBytes().size();
Status RunGemm(CUstream, std::int64_t, const void*, const void*, void*, float) { return Status(); }

// The program's own, of the CPU device: a block calls the driver as on a GPU.
CUresult CUDAAPI cuStreamBeginCapture(CUstream of, CUstreamCaptureMode mode) {
  void* address = Must(Own().device.DriverFunction("cuStreamBeginCapture", 10010));
  return reinterpret_cast<PFN_cuStreamBeginCapture_v10010>(address)(of, mode);
}
CUresult CUDAAPI cuStreamEndCapture(CUstream of, CUgraph* graph) {
  void* address = Must(Own().device.DriverFunction("cuStreamEndCapture", 10000));
  return reinterpret_cast<PFN_cuStreamEndCapture_v10000>(address)(of, graph);
}
// What docs/cuda.md uses of the CUDA runtime API, by the same device: these programs do not link cudart.
cudaError_t CUDARTAPI cudaSetDevice(int) { return cudaSuccess; }  // Its context is current.
cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* to) {
  *to = Own().stream.get();
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMalloc(void** to, std::size_t bytes) {
  *to = bytes <= kBytes ? Own().Zeros() : nullptr;
  return *to == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t of, cudaStreamCaptureMode mode) {
  return static_cast<cudaError_t>(cuStreamBeginCapture(of, static_cast<CUstreamCaptureMode>(mode)));
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t of, cudaGraph_t* graph) {
  return static_cast<cudaError_t>(cuStreamEndCapture(of, graph));
}

namespace {

/// What the text around the blocks of a page has: tensors of RMS norm, files of an application.
void Prepare(const std::string& page) {
  if (page == "README.md" || page == "docs/bundles.md") {
    x = TensorView::Contiguous(Own().Zeros(), kFloat16, {64, 4096});
    y = TensorView::Contiguous(Own().Zeros(), kFloat16, {64, 4096});
    w = TensorView::Contiguous(Own().Zeros(), kFloat16, {4096});
  }
  std::filesystem::create_directories("opt/engine/share");
  std::ofstream("opt/engine/share/tuned.db", std::ios::binary) << ShippedBytes();
}

Status Run(const DocsBlock& block) {
  Prepare(block.page);
  TUNEONCE_RETURN_IF_ERROR(block.run());
  TUNEONCE_RETURN_IF_ERROR(space.status());  // Kept until a kernel is created.
  return stream_view.Synchronize();
}

}  // namespace

int main(int argc, char** argv) {
  for (const DocsBlock& block : DocsBlocks()) {
    if (argc < 3) {
      std::printf("%s %d\n", block.page, block.line);
    } else if (std::strcmp(argv[1], block.page) == 0 && std::atoi(argv[2]) == block.line) {
      const Status status = Run(block);
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return status.ok() ? 0 : 1;
    }
  }
  return argc < 3 ? 0 : 2;
}
