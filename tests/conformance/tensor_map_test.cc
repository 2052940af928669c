// Tensor maps: what every driver must encode, and what it must refuse.
#include <functional>

#include "driver_under_test.h"

namespace tuneonce::conformance {
namespace {

struct Format {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  cuuint32_t rank = 2;
  std::uint64_t offset = 0;  // Of the address, in bytes.
  cuuint64_t extents[5] = {16, 8, 2, 2, 2};
  cuuint64_t strides[4] = {64, 512, 1024, 2048};
  cuuint32_t box[5] = {16, 4, 1, 1, 1};
  cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

class TensorMapTest : public DriverTest {
 protected:
  CUresult Encode(const Format& f) {
    CUtensorMap map;
    return driver_.TensorMapEncodeTiled(&map, f.type, f.rank, reinterpret_cast<void*>(memory_ + f.offset), f.extents,
                                        f.strides, f.box, f.steps, f.interleave, f.swizzle, f.promotion, f.fill);
  }
};

TEST_F(TensorMapTest, WhatIsWithinTheLimitsIsEncoded) {
  if (driver_.TensorMapEncodeTiled == nullptr) GTEST_SKIP() << "a driver before CUDA 12.0";
  const std::function<void(Format&)> changes[] = {
      [](Format&) {},
      [](Format& f) { f.rank = 1; },
      [](Format& f) { f.rank = 5; },
      [](Format& f) { f.box[1] = 256; },
      [](Format& f) { f.steps[1] = 8; },
      [](Format& f) { f.type = CU_TENSOR_MAP_DATA_TYPE_UINT8; },
      [](Format& f) { f.swizzle = CU_TENSOR_MAP_SWIZZLE_128B; },
      [](Format& f) { f.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B; },
      [](Format& f) { f.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; },
  };
  for (const auto& change : changes) {
    Format format;
    change(format);
    EXPECT_CUDA(CUDA_SUCCESS, Encode(format)) << "case " << &change - changes;
  }
}

TEST_F(TensorMapTest, WhatIsBeyondTheLimitsIsRefused) {
  if (driver_.TensorMapEncodeTiled == nullptr) GTEST_SKIP() << "a driver before CUDA 12.0";
  const std::function<void(Format&)> changes[] = {
      [](Format& f) { f.rank = 0; },
      [](Format& f) { f.rank = 6; },
      [](Format& f) { f.offset = 8; },
      [](Format& f) { f.extents[1] = 0; },
      [](Format& f) { f.extents[1] = (cuuint64_t{1} << 32) + 1; },
      [](Format& f) { f.strides[0] = 72; },
      [](Format& f) { f.strides[0] = cuuint64_t{1} << 40; },
      [](Format& f) { f.box[1] = 257; },
      [](Format& f) { f.box[1] = 0; },
      [](Format& f) { f.box[0] = 3; },
      [](Format& f) { f.steps[1] = 9; },
      [](Format& f) { f.steps[1] = 0; },
      [](Format& f) { f.swizzle = CU_TENSOR_MAP_SWIZZLE_32B; },
      [](Format& f) { f.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; },
      [](Format& f) {
        f.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
        f.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
      },
  };
  for (const auto& change : changes) {
    Format format;
    change(format);
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, Encode(format)) << "case " << &change - changes;
  }
}

}  // namespace
}  // namespace tuneonce::conformance
