// Tensor maps: what a GPU's hardware copies boxes by, here a description that kernels read (kernel.h).
#include <cstdint>
#include <cstring>

#include "base/cpu_kernel.h"
#include "driver_functions.h"

namespace tuneonce::cpu_device::driver {
namespace {

static_assert(sizeof(tuneonce_tensor_map) == sizeof(CUtensorMap));

constexpr std::uint64_t kEndOfStrides = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 32;

/// Bytes of an element; 0 for a type that this device does not have.
unsigned ElementBytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

bool IsFloatingPoint(CUtensorMapDataType type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ||
         type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
}

bool FormatIsGood(CUtensorMapDataType type, cuuint32_t rank, CUtensorMapInterleave interleave,
                  CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill) {
  if (ElementBytes(type) == 0 || rank < 1 || rank > 5) return false;
  if (interleave > CU_TENSOR_MAP_INTERLEAVE_32B || swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
      l2_promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
      oob_fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) {
    return false;
  }
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && rank < 3) return false;
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B && swizzle != CU_TENSOR_MAP_SWIZZLE_32B) return false;
  return oob_fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || IsFloatingPoint(type);
}

}  // namespace

CUresult TensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                              const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                              const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                              CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                              CUtensorMapFloatOOBfill oob_fill) {
  if (map == nullptr || address == nullptr || extents == nullptr || box == nullptr || element_strides == nullptr ||
      reinterpret_cast<std::uintptr_t>(map) % 64 != 0 ||
      !FormatIsGood(type, rank, interleave, swizzle, l2_promotion, oob_fill) || (rank > 1 && strides == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t alignment = interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : 16;
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t inner_bytes = std::uint64_t{box[0]} * ElementBytes(type);
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE) {
    const std::uint64_t span = std::uint64_t{16} << swizzle;  // 32, 64, 128 bytes.
    if (inner_bytes % 16 != 0 || (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && inner_bytes > span)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  tuneonce_tensor_map made{};
  made.address = address;
  for (cuuint32_t d = 0; d < rank; ++d) {
    bool is_good = extents[d] >= 1 && extents[d] <= kMostExtent && box[d] >= 1 && box[d] <= 256 &&
                   element_strides[d] >= 1 && element_strides[d] <= 8;
    if (d > 0) is_good = is_good && strides[d - 1] % alignment == 0 && strides[d - 1] < kEndOfStrides;
    if (!is_good) return CUDA_ERROR_INVALID_VALUE;
    made.extent[d] = extents[d];
    if (d > 0) made.stride_bytes[d - 1] = strides[d - 1];
    made.box[d] = static_cast<unsigned short>(box[d]);
    made.element_stride[d] = static_cast<unsigned char>(element_strides[d]);
  }
  made.rank = static_cast<unsigned char>(rank);
  made.dtype = static_cast<unsigned char>(type);
  made.interleave = static_cast<unsigned char>(interleave);
  made.swizzle = static_cast<unsigned char>(swizzle);
  made.l2_promotion = static_cast<unsigned char>(l2_promotion);
  made.oob_fill = static_cast<unsigned char>(oob_fill);
  std::memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}

}  // namespace tuneonce::cpu_device::driver
