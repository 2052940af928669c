// A Python module with a function that launches a tuned kernel on an array: of torch, cupy or any other library with
// __cuda_array_interface__ on a GPU, or of numpy on the CPU device. CMake builds it, and test.py runs it.
#include <pybind11/pybind11.h>
#include <tuneonce/tuned_kernel.h>

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

to::KernelDefinition Twice() {
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 4096});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  twice.Space(space).Grid(to::Grid::OneD({"N", tile}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "twice"));
  return twice;
}

to::Status DoubleOnGpu(void* data, std::int64_t count) {  // The array's library made the context current.
  static auto* const kernel = new to::Result<to::TunedKernel>(to::TunedKernel::Create(Twice()));  // It lives on.
  TUNEONCE_RETURN_IF_ERROR(kernel->status());
  return (*kernel)->Launch(nullptr, to::TensorView::Contiguous(data, to::kFloat32, {count}));
}

to::Status DoubleOnCpu(float* data, std::int64_t count) {  // The CPU device has memory of its own, as a GPU has.
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice("cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  const to::StreamView stream(device.api(), nullptr);
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer buffer, to::DeviceBuffer::Allocate(stream, 4 * count));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(data, 4 * count));
  TUNEONCE_RETURN_IF_ERROR(DoubleOnGpu(buffer.data(), count));
  TUNEONCE_RETURN_IF_ERROR(buffer.CopyToHost(data, 4 * count));
  return stream.Synchronize();
}

void Double(const pybind11::object& y) {
  const bool is_on_gpu = pybind11::hasattr(y, "__cuda_array_interface__");
  const pybind11::dict info = y.attr(is_on_gpu ? "__cuda_array_interface__" : "__array_interface__");
  const pybind11::tuple shape = info["shape"], data = info["data"];
  const auto type = info["typestr"].cast<std::string>();
  const bool is_vector = type == "<f4" && shape.size() == 1 && info["strides"].is_none();
  if (!is_vector) throw pybind11::type_error("expected a contiguous vector of float32");
  auto* const address = reinterpret_cast<float*>(data[0].cast<std::uintptr_t>());
  const auto count = shape[0].cast<std::int64_t>();
  const pybind11::gil_scoped_release released;  // The first call of a size tunes.
  const to::Status status = is_on_gpu ? DoubleOnGpu(address, count) : DoubleOnCpu(address, count);
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

PYBIND11_MODULE(twice, module) { module.def("double", &Double, "Doubles the elements of an array in place."); }
