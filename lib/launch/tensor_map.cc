#include "launch/tensor_map.h"

#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// The limits of cuTensorMapEncodeTiled (CUDA driver API), which itself only reports "invalid value".
constexpr std::int64_t kAlignment = 16;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 32;
constexpr std::int64_t kEndOfStrides = std::int64_t{1} << 40;
constexpr std::int64_t kMostBox = 256;

CUtensorMapDataType DataTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt16:
    case DType::kUInt16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DType::kInt32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::kUInt32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case DType::kInt64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case DType::kUInt64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case DType::kFloat16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::kBFloat16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::kFloat32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::kFloat64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // A type of one byte, whatever its meaning.
  }
}

/// A tensor as the driver wants it: innermost dimension first, strides in bytes.
struct Described {
  std::array<cuuint64_t, TensorMap::kMaxRank> extents{};
  std::array<cuuint64_t, TensorMap::kMaxRank> strides{};  // Strides of all dimensions but the innermost.
  std::array<cuuint32_t, TensorMap::kMaxRank> box{};
  std::array<cuuint32_t, TensorMap::kMaxRank> steps{};
};

Result<Described> Describe(const TensorView& tensor, const TensorMap& map, const Config& config) {
  Described described;
  const auto rank = static_cast<std::size_t>(tensor.rank);
  const auto bytes = static_cast<std::int64_t>(DTypeBytes(tensor.dtype));
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % kAlignment != 0) {
    return InvalidArgumentError(absl::StrCat("the tensor is not aligned to ", kAlignment, " bytes"));
  }
  std::int64_t dense = bytes;  // A dimension of one element has the dense stride, because no step is taken along it.
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = rank - 1 - i;
    const std::int64_t extent = tensor.shape[d], stride = tensor.strides[d];
    auto refuse = [&](const std::string& why) {
      return InvalidArgumentError(absl::StrCat("dimension ", d, " of the tensor has ", why));
    };
    if (extent < 1 || extent > kMostExtent) return refuse(absl::StrCat("extent ", extent, "; 1 to 2^32 are possible"));
    if (i == 0 && stride != 1 && extent != 1) return refuse(absl::StrCat("stride ", stride, ", not 1"));
    std::int64_t step = 0;
    if (extent == 1 || i == 0) {
      step = dense;
    } else if (stride < 1 || __builtin_mul_overflow(stride, bytes, &step) || step % kAlignment != 0 ||
               step >= kEndOfStrides) {
      return refuse(absl::StrCat("stride ", stride, ": in bytes it must be a multiple of 16 below 2^40"));
    }
    described.extents[i] = static_cast<cuuint64_t>(extent);
    if (i > 0) described.strides[i - 1] = static_cast<cuuint64_t>(step);
    dense = std::min((step * extent + kAlignment - 1) / kAlignment * kAlignment, kEndOfStrides - kAlignment);
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t box, map.box[d].Evaluate(config, Problem()));
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t every, map.element_strides[d].Evaluate(config, Problem()));
    if (box < 1 || box > kMostBox)
      return InvalidArgumentError(
          absl::StrCat("the box has ", box, " elements in dimension ", d, "; 1 to 256 are possible"));
    if (every < 1 || every > 8)
      return InvalidArgumentError(
          absl::StrCat("the element stride of dimension ", d, " is ", every, "; 1 to 8 are possible"));
    bool is_inner = i == 0 && map.interleave == TensorMap::Interleave::kNone;
    if (is_inner && box * bytes % kAlignment != 0) {
      return InvalidArgumentError(absl::StrCat("the innermost ", box, " elements of a box are ", box * bytes,
                                               " bytes, which 16 does not divide"));
    }
    const std::int64_t span = std::int64_t{16} << static_cast<int>(map.swizzle);
    if (is_inner && map.swizzle != TensorMap::Swizzle::kNone && box * bytes > span) {
      return InvalidArgumentError(absl::StrCat("the innermost ", box, " elements of a box are ", box * bytes,
                                               " bytes, more than a swizzle of ", span));
    }
    described.box[i] = static_cast<cuuint32_t>(box);
    described.steps[i] = static_cast<cuuint32_t>(every);
  }
  return described;
}

}  // namespace

Status EncodeTensorMap(const DriverApi& api, const TensorView& tensor, const TensorMap& map, const Config& config,
                       CUtensorMap* encoded) {
  RelaxedDriver driver(api);
  if (driver->TensorMapEncodeTiled == nullptr) {
    return UnimplementedError("this driver has no tensor maps (cuTensorMapEncodeTiled, from CUDA 12.0 on)");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Described described, Describe(tensor, map, config));
  // The names are in the order of CUDA's own values.
  CUresult result = driver->TensorMapEncodeTiled(
      encoded, DataTypeOf(tensor.dtype), static_cast<cuuint32_t>(tensor.rank), tensor.data, described.extents.data(),
      described.strides.data(), described.box.data(), described.steps.data(),
      static_cast<CUtensorMapInterleave>(map.interleave), static_cast<CUtensorMapSwizzle>(map.swizzle),
      static_cast<CUtensorMapL2promotion>(map.l2_promotion),
      map.out_of_bounds == TensorMap::OutOfBounds::kNan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                                        : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_ERROR_INVALID_VALUE) return CudaStatus(api, result, "cuTensorMapEncodeTiled");
  return InvalidArgumentError(absl::StrCat("the driver refuses a tensor map of ", tensor.ToString(),
                                           " with this box, swizzle and interleave (cuTensorMapEncodeTiled)"));
}

}  // namespace v0
}  // namespace tuneonce
