#include <limits>

#include "testing/device_test.h"
#include "tuneonce/arguments.h"

namespace tuneonce {
namespace {

TEST(TensorViewTest, WhatNoMemorySpansIsTheLargestSize) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kAll = static_cast<std::size_t>(kMost);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kFloat32, {1024, 3}).bytes, 1024u * 3 * 4);
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kInt8, {kMost}).bytes, static_cast<std::size_t>(kMost));
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kFloat32, {std::int64_t{1} << 32, std::int64_t{1} << 32, 3}).bytes,
            kAll);
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kFloat64, {kMost, kMost}).bytes, kAll);
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kFloat64, {std::int64_t{1} << 61}).bytes, kAll) << "2^64 bytes";
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kFloat64, {kLeast, 4}).bytes, 0u);
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kFloat64, {0, kMost, kMost}).bytes, 0u);
  const std::int64_t shape[] = {4, 2}, backwards[] = {-8, 1}, huge[] = {kLeast, kMost};
  EXPECT_EQ(TensorView::Strided(nullptr, DType::kFloat32, shape, backwards, 2).bytes, 8u) << "from its address on";
  EXPECT_EQ(TensorView::Strided(nullptr, DType::kFloat32, shape, huge, 2).bytes, kAll);
  EXPECT_EQ(TensorView::Contiguous(nullptr, DType::kFloat32, {5, 0, 3}).strides[0], 0);
}

}  // namespace
}  // namespace tuneonce
