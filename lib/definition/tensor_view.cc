#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tuneonce/arguments.h"

namespace tuneonce {
inline namespace v0 {
namespace {

struct DTypeInfo {
  std::string_view name;
  std::size_t bytes;
};

/// In the order of DType.
constexpr DTypeInfo kDTypes[] = {
    {"any", 1},     {"bool", 1},     {"int8", 1},    {"uint8", 1},   {"int16", 2},       {"uint16", 2},
    {"int32", 4},   {"uint32", 4},   {"int64", 8},   {"uint64", 8},  {"float8_e4m3", 1}, {"float8_e5m2", 1},
    {"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"float64", 8},
};

}  // namespace

std::size_t DTypeBytes(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].bytes; }

std::string_view DTypeName(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> DTypeNamed(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kDTypes); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

TensorView TensorView::Contiguous(void* data, DType dtype, const std::int64_t* shape, int rank) {
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int i = rank; i-- > 0;) {
    strides[static_cast<std::size_t>(i)] = stride;
    if (__builtin_mul_overflow(stride, shape[i], &stride)) stride = std::numeric_limits<std::int64_t>::max();
  }
  return Strided(data, dtype, shape, strides.data(), rank);
}

TensorView TensorView::Strided(void* data, DType dtype, const std::int64_t* shape, const std::int64_t* strides,
                               int rank) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.rank = rank;
  std::int64_t last = 0;  // Index of the last element.
  bool empty = false;
  bool fits = true;
  for (int i = 0; i < rank; ++i) {
    auto u = static_cast<std::size_t>(i);
    view.shape[u] = shape[i];
    view.strides[u] = strides[i];
    empty |= shape[i] <= 0;
    std::int64_t past_first = 0;
    if (empty) continue;
    fits &= !__builtin_mul_overflow(shape[i] - 1, std::max<std::int64_t>(strides[i], 0), &past_first);
    fits &= !__builtin_add_overflow(last, past_first, &last);
  }
  std::int64_t bytes = 0;
  fits &= !__builtin_add_overflow(last, 1, &last);
  fits &= !__builtin_mul_overflow(last, static_cast<std::int64_t>(DTypeBytes(dtype)), &bytes);
  if (!fits) bytes = std::numeric_limits<std::int64_t>::max();  // No memory is as large: allocating it fails.
  view.bytes = empty ? 0 : static_cast<std::size_t>(bytes);
  return view;
}

bool TensorView::HasElements() const {
  auto end = shape.begin() + std::clamp(rank, 0, kMaxRank);
  return std::find(shape.begin(), end, 0) == end;
}

std::string TensorView::ToString() const {
  std::string text = absl::StrCat(std::string(DTypeName(dtype)), "[");
  for (int i = 0; i < rank; ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", shape[static_cast<std::size_t>(i)]);
  return text + "]";
}

}  // namespace v0
}  // namespace tuneonce
