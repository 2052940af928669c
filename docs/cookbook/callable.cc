// Lets algorithms of a library compete that launch by themselves, as those of cuBLASLt do. To build and run it:
//   g++ -std=c++17 callable.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <cudaTypedefs.h>
#include <tuneonce/tuned_kernel.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace to = tuneonce;

/// Stands for a library's function, which launches by itself: copies `bytes` bytes in `parts` parts, at most 8.
to::Status LibraryCopy(PFN_cuMemcpyDtoDAsync_v3020 copy, CUstream stream, CUdeviceptr target, CUdeviceptr source,
                       std::int64_t bytes, std::int64_t parts) {
  if (parts > 8) return to::UnimplementedError("the library has no such algorithm");
  for (std::int64_t i = 0, size = bytes / parts; i < parts; ++i) {
    const CUresult result = copy(target + i * size, source + i * size, size, stream);
    if (result != CUDA_SUCCESS) return to::InternalError("the copy failed");
  }
  return to::Status();
}

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  std::vector<float> values(1000, 1.0f);
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer in, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer out, to::DeviceBuffer::Allocate(stream.view(), 4000));
  TUNEONCE_RETURN_IF_ERROR(in.CopyFromHost(values.data(), 4000));
  const to::TensorView x = to::TensorView::Contiguous(in.data(), to::kFloat32, {1000});
  const to::TensorView y = to::TensorView::Contiguous(out.data(), to::kFloat32, {1000});
  TUNEONCE_ASSIGN_OR_RETURN(void* const function, device.DriverFunction("cuMemcpyDtoDAsync", 3020));
  to::SearchSpace space;
  const to::IntAxis parts = space.AddAxis("PARTS", {1, 2, 8, 16});  // A library's algorithms may have numbers.
  space.SetBaseline({{parts, 1}});
  to::KernelDefinition definition("library_copy");
  definition.Version("1.2");  // This is the library's, because the code of a function cannot be hashed.
  definition.Parameters({to::In("x", to::kFloat32, {"N"}), to::Out("y", to::kFloat32, {"N"})}).Space(space);
  definition.AddVariant(to::Callable([=](CUstream into, const to::Config& config, const to::CallArguments& arguments) {
    const to::TensorView &source = arguments.tensor("x"), &target = arguments.tensor("y");
    return LibraryCopy(reinterpret_cast<PFN_cuMemcpyDtoDAsync_v3020>(function), into,
                       reinterpret_cast<CUdeviceptr>(target.data), reinterpret_cast<CUdeviceptr>(source.data),
                       4 * arguments.dim("N"), config[parts]);
  }));

  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(definition));
  TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream.get(), x, y));
  std::fill(values.begin(), values.end(), 0.0f);
  TUNEONCE_RETURN_IF_ERROR(out.CopyToHost(values.data(), 4000));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  return values == std::vector<float>(1000, 1.0f) ? to::Status() : to::InternalError("y is not a copy of x");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
