#include "measure/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver_api.h"
#include "cuda/library.h"
#include "definition/scalar_value.h"
#include "launch/launch.h"
#include "measure/compare_element.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

ElementFormat FormatOf(DType dtype) {
  const FloatFormat format = FloatFormatOf(dtype).value_or(FloatFormat{0, 0, false});
  return {static_cast<int>(DTypeBytes(dtype)), format.exponent_bits, format.mantissa_bits, format.has_infinity};
}

bool IsSignedInteger(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
}

/// An element each of whose bytes is `poison`.
std::uint64_t PoisonBits(unsigned char poison, int bytes) {
  std::uint64_t bits = 0;
  std::memset(&bits, poison, static_cast<std::size_t>(bytes));
  return bits;
}

ElementLayout LayoutOf(const ArrayLayout& layout) {
  static_assert(kMaxRank == 8, "as ElementLayout has it");
  ElementLayout result{};
  result.rank = layout.rank;
  std::copy(layout.shape.begin(), layout.shape.end(), result.extents);
  std::copy(layout.strides.begin(), layout.strides.end(), result.strides);
  return result;
}

/// Returns the lower limit of a tolerance's absolute part. Below the smallest normal number the distance of
/// neighbouring values does not shrink any more, so a smaller scale would require more bits than the format has. Some
/// code (-use_fast_math, ftz) flushes such numbers to 0 in formats with float32's exponents, and all of them differ by
/// less than that limit.
double LeastAbsolute(double absolute, const ElementFormat& format) {
  constexpr int kExponentBitsOfFloat32 = 8;
  if (format.exponent_bits == 0 || absolute <= 0) return 0;
  const double smallest_normal = std::ldexp(1.0, 2 - (1 << (format.exponent_bits - 1)));
  return format.exponent_bits >= kExponentBitsOfFloat32 ? smallest_normal : absolute * smallest_normal;
}

ElementRule RuleOf(const ElementCheck& check, const ElementFormat& format) {
  const int bytes = format.bytes;
  ElementRule rule{};
  rule.absolute = check.tolerance.absolute;
  rule.least_absolute = LeastAbsolute(rule.absolute, format);
  rule.relative = check.tolerance.relative;
  rule.ulps = check.tolerance.ulps;
  rule.is_poisoned = check.poison.has_value();
  rule.poison = PoisonBits(check.poison.value_or(0), bytes);
  rule.reference_is_partial = check.reference_poison.has_value();
  rule.reference_poison = PoisonBits(check.reference_poison.value_or(0), bytes);
  return rule;
}

/// Bytes from an array's beginning to the end of its last element.
std::size_t BytesSpanned(const ArrayLayout& layout) {
  if (layout.count == 0) return 0;
  return (ElementPlace(layout.count - 1, LayoutOf(layout)) + 1) * DTypeBytes(layout.dtype);
}

/// True if a tensor's elements are as many as the places from its first to its last, each at another one.
bool HasNoGaps(const ArrayLayout& layout, std::uint64_t room) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // Stride and extent.
  for (std::size_t d = 0; d < static_cast<std::size_t>(layout.rank); ++d) {
    if (layout.shape[d] > 1) dims.emplace_back(layout.strides[d], layout.shape[d]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t dense = 1;
  for (const auto& [stride, extent] : dims) {
    if (stride != dense) return false;
    dense *= extent;
  }
  return layout.count == room;
}

/// Words of 8 bytes that a range touches: the parts of its checksum.
std::uint64_t ChecksumParts(const MemoryRange& range) { return (range.address % 8 + range.bytes + 7) / 8; }

/// Returns a geometry with enough blocks to fill any GPU; each block strides over the array.
Geometry CompareGeometry(std::uint64_t count) {
  constexpr std::int64_t kThreads = kScaleElements;  // As tuneonce_compare requires.
  constexpr std::int64_t kMostBlocks = 2048;
  Geometry geometry;
  geometry.block.x = kThreads;
  geometry.grid.x = std::clamp<std::int64_t>(static_cast<std::int64_t>(count) / kThreads, 1, kMostBlocks);
  return geometry;
}

double DoubleOf(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// On the host, through a window: the range may be as large as the device's memory.
Result<std::uint64_t> ChecksumOnHost(StreamView stream, const MemoryRange& range) {
  constexpr std::size_t kWindow = std::size_t{1} << 20;
  std::uint64_t sum = 0;
  std::uint64_t part = 0;
  std::size_t misaligned = range.address % 8;
  for (std::size_t done = 0; done < range.bytes;) {
    std::size_t bytes = std::min(kWindow - misaligned, range.bytes - done);
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> window, ReadDeviceMemory(stream, range.address + done, bytes));
    std::uint64_t parts = (misaligned + bytes + 7) / 8;
    for (std::uint64_t k = 0; k < parts; ++k) sum += ChecksumPart(window.data(), bytes, misaligned, k, part);
    part += parts;
    done += bytes;
    misaligned = 0;  // Windows end where words do.
  }
  return sum;
}

/// Returns the layout with an extent of 1 along strides of 0, where all elements are the same one.
ArrayLayout WithoutRepetitions(ArrayLayout layout) {
  if (layout.rank == 0 || layout.count == 0) return layout;
  layout.count = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(layout.rank); ++d) {
    if (layout.strides[d] == 0) layout.shape[d] = 1;
    layout.count *= static_cast<std::uint64_t>(layout.shape[d]);
  }
  return layout;
}

}  // namespace

ArrayLayout ArrayLayout::Dense(DType dtype, std::uint64_t count) {
  ArrayLayout layout;
  layout.dtype = dtype;
  layout.count = count;
  return layout;
}

Result<ArrayLayout> ArrayLayout::Of(const TensorView& tensor) {
  std::uint64_t room = tensor.bytes / DTypeBytes(tensor.dtype);
  if (tensor.rank == 0) return Dense(tensor.dtype, room);
  ArrayLayout layout;
  layout.dtype = tensor.dtype;
  layout.count = 1;
  layout.rank = tensor.rank;
  layout.shape = tensor.shape;
  layout.strides = tensor.strides;
  bool is_inside = true;
  for (int i = 0; i < tensor.rank; ++i) {
    auto d = static_cast<std::size_t>(i);
    if (tensor.shape[d] <= 0) return Dense(tensor.dtype, 0);
    layout.count *= static_cast<std::uint64_t>(tensor.shape[d]);
    is_inside &= tensor.strides[d] >= 0;
  }
  if (!is_inside || BytesSpanned(layout) > tensor.bytes) {
    return InvalidArgumentError("the tensor's strides reach beyond its " + std::to_string(tensor.bytes) + " bytes");
  }
  return HasNoGaps(layout, room) ? Dense(tensor.dtype, room) : Result<ArrayLayout>(layout);
}

struct ArrayComparer::Kernels {
  DeviceKernels code;
  DeviceBuffer words;  // The results of the kernels.

  /// Sets `words` to `initial`, runs what `launch` enqueues, waits, and returns the words.
  Result<std::vector<std::uint64_t>> Run(StreamView stream, std::vector<std::uint64_t> initial,
                                         const std::function<Status(CUdeviceptr words)>& launch) {
    std::size_t bytes = initial.size() * sizeof(std::uint64_t);
    if (bytes > words.bytes()) {
      TUNEONCE_ASSIGN_OR_RETURN(words, DeviceBuffer::Allocate(stream, bytes));
    }
    TUNEONCE_RETURN_IF_ERROR(words.CopyFromHost(initial.data(), bytes));
    TUNEONCE_RETURN_IF_ERROR(launch(words.get()));
    // Waits also for the copy from `initial` above.
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> found, ReadDeviceMemory(stream, words.get(), bytes));
    std::memcpy(initial.data(), found.data(), bytes);
    return initial;
  }

  static Status Launch(StreamView stream, const KernelHandle& kernel, std::uint64_t count, void** parameters) {
    CUresult launched =
        LaunchKernel(stream.api().launch_path(), kernel.get(), CompareGeometry(count), stream.get(), parameters);
    return CudaStatus(stream.api(), launched, "cuLaunchKernelEx");
  }
};

ArrayComparer::ArrayComparer(StreamView stream) : stream_(stream) {}
ArrayComparer::~ArrayComparer() = default;
ArrayComparer::ArrayComparer(ArrayComparer&&) noexcept = default;

bool ArrayComparer::OnDevice() {
  if (!tried_ && !stream_.api().is_cpu_device()) {
    constexpr std::size_t kManyWords = 64;
    Result<DeviceKernels> code = DeviceKernels::Load(stream_.api());
    Result<DeviceBuffer> words = DeviceBuffer::Allocate(stream_, kManyWords * sizeof(std::uint64_t));
    if (code.ok() && words.ok()) kernels_.reset(new Kernels{*std::move(code), *std::move(words)});
  }
  tried_ = true;
  return kernels_ != nullptr;
}

Result<Comparison> ArrayComparer::Compare(CUdeviceptr reference, CUdeviceptr candidate, const ArrayLayout& layout,
                                          const ElementCheck& check) {
  Comparison comparison;
  std::uint64_t count = layout.count;
  if (count == 0) return comparison;
  ElementFormat format = FormatOf(layout.dtype);
  ElementLayout places = LayoutOf(layout);
  ElementRule rule = RuleOf(check, format);
  if (OnDevice()) {
    auto launch = [&](CUdeviceptr words) {
      void* parameters[] = {&reference, &candidate, &count, &format, &places, &rule, &words};
      return Kernels::Launch(stream_, kernels_->code.compare, count, parameters);
    };
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> found, kernels_->Run(stream_, {0, 0, ~0ull, 0, 0}, launch));
    return Comparison{found[0], found[1], found[0] + found[1] > 0 ? found[2] : 0, DoubleOf(found[3]),
                      DoubleOf(found[4])};
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> a, ReadDeviceMemory(stream_, reference, BytesSpanned(layout)));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> b, ReadDeviceMemory(stream_, candidate, BytesSpanned(layout)));
  for (std::uint64_t block = 0; block < NumScaleBlocks(count); ++block) {
    const std::uint64_t begin = block * kScaleElements, end = ScaleBlockEnd(block, count);
    double scale = 0;
    for (std::uint64_t i = begin; NeedsScales(format, rule) && i < end; ++i) {
      std::uint64_t bits = ElementBits(a.data(), ElementPlace(i, places), format.bytes);
      scale = std::max(scale, ScaleOfElement(bits, format, rule));
    }
    for (std::uint64_t i = begin; i < end; ++i) {
      std::uint64_t place = ElementPlace(i, places);
      ElementComparison element = CompareElement(ElementBits(a.data(), place, format.bytes),
                                                 ElementBits(b.data(), place, format.bytes), format, rule, scale);
      comparison.largest_difference = std::max(comparison.largest_difference, element.difference);
      comparison.largest_share = std::max(comparison.largest_share, element.share);
      if (element.verdict == kSame) continue;
      if (comparison.num_wrong + comparison.num_missing == 0) comparison.first = i;
      ++(element.verdict == kWrong ? comparison.num_wrong : comparison.num_missing);
    }
  }
  return comparison;
}

Result<ArrayFacts> ArrayComparer::Describe(CUdeviceptr data, const ArrayLayout& whole) {
  const ArrayLayout layout = WithoutRepetitions(whole);
  std::uint64_t count = layout.count;
  if (count == 0) return ArrayFacts();
  ElementFormat format = FormatOf(layout.dtype);
  ElementLayout places = LayoutOf(layout);
  bool is_signed = IsSignedInteger(layout.dtype);
  std::vector<std::uint64_t> found(5, 0);  // By ElementClass, and the number of elements that differ from the first.
  if (OnDevice()) {
    auto launch = [&](CUdeviceptr words) {
      void* parameters[] = {&data, &count, &format, &places, &is_signed, &words};
      return Kernels::Launch(stream_, kernels_->code.describe, count, parameters);
    };
    TUNEONCE_ASSIGN_OR_RETURN(found, kernels_->Run(stream_, std::move(found), launch));
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> host, ReadDeviceMemory(stream_, data, BytesSpanned(layout)));
    const std::uint64_t first = ElementBits(host.data(), ElementPlace(0, places), format.bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t bits = ElementBits(host.data(), ElementPlace(i, places), format.bytes);
      ++found[ClassifyElement(bits, format, is_signed)];
      found[4] += bits != first ? 1 : 0;
    }
  }
  return ArrayFacts{
      count,        found[kZeroElement], found[kNotFiniteElement], found[kNegativeElement], found[kPositiveElement],
      found[4] == 0};
}

Result<ChangedMemory> ArrayComparer::FindChanges(const MaskedMemory& memory, CUdeviceptr original, unsigned char fill) {
  if (memory.count == 0) return ChangedMemory();
  MaskedGranules granules{memory.granule, memory.count, PoisonBits(fill, memory.granule)};
  const auto bytes = static_cast<std::uint64_t>(memory.granule);
  std::uint64_t changed = 0;
  std::uint64_t first = 0;
  if (OnDevice()) {
    auto launch = [&](CUdeviceptr words) {
      CUdeviceptr data = memory.address, mask = memory.mask;
      void* parameters[] = {&data, &original, &mask, &granules, &words};
      return Kernels::Launch(stream_, kernels_->code.find_changes, granules.count, parameters);
    };
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> found, kernels_->Run(stream_, {0, ~0ull}, launch));
    changed = found[0];
    first = found[1];
  } else {
    const std::size_t size = memory.count * bytes, mask_size = (memory.count + 31) / 32 * sizeof(std::uint32_t);
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> data, ReadDeviceMemory(stream_, memory.address, size));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<char> read, ReadDeviceMemory(stream_, memory.mask, mask_size));
    std::vector<char> expected;
    if (original != 0) {
      TUNEONCE_ASSIGN_OR_RETURN(expected, ReadDeviceMemory(stream_, original, size));
    }
    std::vector<std::uint32_t> mask(mask_size / sizeof(std::uint32_t));
    std::memcpy(mask.data(), read.data(), mask_size);
    for (std::uint64_t k = 0; k < memory.count; ++k) {
      if (!IsChanged(data.data(), original == 0 ? nullptr : expected.data(), mask.data(), k, granules)) continue;
      if (changed++ == 0) first = k;
    }
  }
  return changed == 0 ? ChangedMemory() : ChangedMemory{changed * bytes, first * bytes};
}

Result<std::vector<std::uint64_t>> ArrayComparer::Checksums(const std::vector<MemoryRange>& ranges) {
  std::vector<std::uint64_t> sums(ranges.size(), 0);
  if (ranges.empty()) return sums;
  if (!OnDevice()) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      TUNEONCE_ASSIGN_OR_RETURN(sums[i], ChecksumOnHost(stream_, ranges[i]));
    }
    return sums;
  }
  return kernels_->Run(stream_, sums, [&](CUdeviceptr words) {
    for (const MemoryRange& range : ranges) {
      CUdeviceptr address = range.address;
      std::uint64_t bytes = range.bytes, misaligned = range.address % 8, parts = ChecksumParts(range);
      void* parameters[] = {&address, &bytes, &misaligned, &parts, &words};
      if (bytes > 0) TUNEONCE_RETURN_IF_ERROR(Kernels::Launch(stream_, kernels_->code.checksum, parts, parameters));
      words += sizeof(std::uint64_t);
    }
    return Status();
  });
}

}  // namespace v0
}  // namespace tuneonce
