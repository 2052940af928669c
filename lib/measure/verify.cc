#include "tuneonce/measure/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "measure/compare_element.h"
#include "measure/device_kernels.h"
#include "tuneonce/cuda/cuda_status.h"
#include "tuneonce/cuda/device_buffer.h"
#include "tuneonce/kernel/launch.h"

namespace tuneonce {
namespace {

ElementFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat8E4M3:
      return {1, 4, 3, false};
    case DType::kFloat8E5M2:
      return {1, 5, 2, true};
    case DType::kFloat16:
      return {2, 5, 10, true};
    case DType::kBFloat16:
      return {2, 8, 7, true};
    case DType::kFloat32:
      return {4, 8, 23, true};
    case DType::kFloat64:
      return {8, 11, 52, true};
    default:
      return {static_cast<int>(DTypeBytes(dtype)), 0, 0, false};
  }
}

std::uint64_t PoisonBits(int bytes) {
  std::uint64_t bits = 0;
  std::memset(&bits, ArrayComparer::kPoison, static_cast<std::size_t>(bytes));
  return bits;
}

/// Enough blocks to fill any GPU; each strides over the array.
Geometry CompareGeometry(std::uint64_t count) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kMostBlocks = 2048;
  Geometry geometry;
  geometry.block.x = kThreads;
  geometry.grid.x = std::clamp<std::int64_t>(static_cast<std::int64_t>(count) / kThreads, 1, kMostBlocks);
  return geometry;
}

}  // namespace

struct ArrayComparer::Kernels {
  DeviceKernels code;
  DeviceBuffer words;  // Three: what a kernel finds.

  /// Launches with `words` set to `initial`, and returns what they are afterwards.
  Result<std::vector<std::uint64_t>> Run(StreamView stream, const KernelHandle& kernel, std::uint64_t count,
                                         std::vector<std::uint64_t> initial, void** parameters) {
    std::size_t bytes = initial.size() * sizeof(std::uint64_t);
    TUNEONCE_RETURN_IF_ERROR(words.CopyFromHost(initial.data(), bytes));
    CUresult launched =
        LaunchKernel(stream.api().launch_path(), kernel.get(), CompareGeometry(count), stream.get(), parameters);
    TUNEONCE_RETURN_IF_ERROR(CudaStatus(stream.api(), launched, "cuLaunchKernelEx"));
    // Waits also for the copy from `initial` above.
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> found, ReadDeviceMemory(stream, words.get(), bytes));
    std::memcpy(initial.data(), found.data(), bytes);
    return initial;
  }
};

ArrayComparer::ArrayComparer(StreamView stream) : stream_(stream) {}
ArrayComparer::~ArrayComparer() = default;
ArrayComparer::ArrayComparer(ArrayComparer&&) noexcept = default;

bool ArrayComparer::OnDevice() {
  if (!tried_ && !stream_.api().is_cpu_device()) {
    Result<DeviceKernels> code = DeviceKernels::Load(stream_.api());
    Result<DeviceBuffer> words = DeviceBuffer::Allocate(stream_, 3 * sizeof(std::uint64_t));
    if (code.ok() && words.ok()) kernels_.reset(new Kernels{*std::move(code), *std::move(words)});
  }
  tried_ = true;
  return kernels_ != nullptr;
}

Result<double> ArrayComparer::Largest(CUdeviceptr data, std::uint64_t count, DType dtype, bool is_poisoned) {
  ElementFormat format = FormatOf(dtype);
  if (format.exponent_bits == 0 || count == 0) return 0.0;
  std::uint64_t poison = PoisonBits(format.bytes);
  double largest = 0;
  if (OnDevice()) {
    CUdeviceptr words = kernels_->words.get();
    void* parameters[] = {&data, &count, &format, &is_poisoned, &poison, &words};
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> found,
                              kernels_->Run(stream_, kernels_->code.largest, count, {0}, parameters));
    std::memcpy(&largest, found.data(), sizeof(largest));
    return largest;
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> host, ReadDeviceMemory(stream_, data, count * DTypeBytes(dtype)));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t bits = ElementBits(host.data(), i, format.bytes);
    double magnitude = std::abs(ElementValue(bits, format));
    if (!(is_poisoned && bits == poison) && std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

Result<Comparison> ArrayComparer::Compare(CUdeviceptr reference, CUdeviceptr candidate, std::uint64_t count,
                                          DType dtype, double absolute, double relative, bool is_poisoned) {
  Comparison comparison;
  if (count == 0) return comparison;
  ElementFormat format = FormatOf(dtype);
  std::uint64_t poison = PoisonBits(format.bytes);
  if (OnDevice()) {
    CUdeviceptr words = kernels_->words.get();
    void* parameters[] = {&reference, &candidate, &count, &format, &absolute, &relative, &is_poisoned, &poison, &words};
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> found,
                              kernels_->Run(stream_, kernels_->code.compare, count, {0, 0, ~0ull}, parameters));
    return Comparison{found[0], found[1], found[0] + found[1] > 0 ? found[2] : 0};
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> a, ReadDeviceMemory(stream_, reference, count * DTypeBytes(dtype)));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> b, ReadDeviceMemory(stream_, candidate, count * DTypeBytes(dtype)));
  for (std::uint64_t i = 0; i < count; ++i) {
    ElementVerdict verdict =
        CompareElement(ElementBits(a.data(), i, format.bytes), ElementBits(b.data(), i, format.bytes), format, absolute,
                       relative, is_poisoned, poison);
    if (verdict == kSame) continue;
    if (comparison.num_wrong + comparison.num_missing == 0) comparison.first = i;
    ++(verdict == kWrong ? comparison.num_wrong : comparison.num_missing);
  }
  return comparison;
}

}  // namespace tuneonce
