#ifndef TUNEONCE_TENSOR_VIEW_H_
#define TUNEONCE_TENSOR_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "tuneonce/api.h"
#include "tuneonce/status.h"

namespace tuneonce {
inline namespace v0 {

/// Element types. kAny means that no dtype is declared: a parameter that accepts every dtype, or raw memory.
enum class DType : std::uint8_t {
  kAny,
  kBool,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat8E4M3,
  kFloat8E5M2,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};

/// Short names of the dtypes: In("x", kFloat16, {"M", "N"}).
inline constexpr DType kBool = DType::kBool;
inline constexpr DType kInt8 = DType::kInt8;
inline constexpr DType kUInt8 = DType::kUInt8;
inline constexpr DType kInt16 = DType::kInt16;
inline constexpr DType kUInt16 = DType::kUInt16;
inline constexpr DType kInt32 = DType::kInt32;
inline constexpr DType kUInt32 = DType::kUInt32;
inline constexpr DType kInt64 = DType::kInt64;
inline constexpr DType kUInt64 = DType::kUInt64;
inline constexpr DType kFloat8E4M3 = DType::kFloat8E4M3;
inline constexpr DType kFloat8E5M2 = DType::kFloat8E5M2;
inline constexpr DType kFloat16 = DType::kFloat16;
inline constexpr DType kBFloat16 = DType::kBFloat16;
inline constexpr DType kFloat32 = DType::kFloat32;
inline constexpr DType kFloat64 = DType::kFloat64;

/// Returns the size of one element in bytes, which is 1 for kAny.
TUNEONCE_API std::size_t DTypeBytes(DType dtype);
/// Returns the name of a dtype: "float32", "bfloat16", ..., "any".
TUNEONCE_API std::string_view DTypeName(DType dtype);
/// Returns the dtype with this name (DTypeName), or nothing.
TUNEONCE_API std::optional<DType> DTypeNamed(std::string_view name);

/// Maximum number of dimensions of a tensor.
inline constexpr int kMaxRank = 8;

/// Device memory with a shape, passed for a tensor parameter. A view: it owns nothing, and is read only during the call
/// that it is passed to.
struct TUNEONCE_API TensorView {
  void* data = nullptr;
  DType dtype = DType::kAny;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};  ///< Extent of each dimension, outermost first.
  /// Stride of each dimension in elements, outermost first. A negative stride along more than one element is refused,
  /// except for raw memory, because `bytes` does not cover what lies before `data`.
  std::array<std::int64_t, kMaxRank> strides{};
  /// Size of the memory that the view spans from `data` on, in bytes. 0 means unknown, and such an output cannot be
  /// tuned.
  std::size_t bytes = 0;

  /// Makes a view of a row-major tensor. REQUIRES: at most kMaxRank extents.
  static TensorView Contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape);
  /// Makes a view of a row-major tensor with `rank` extents. REQUIRES: `rank` is at most kMaxRank.
  static TensorView Contiguous(void* data, DType dtype, const std::int64_t* shape, int rank);
  /// Makes a view of a tensor with strides in elements. `bytes` becomes what they span from `data` on, at most 2^63 -
  /// 1. REQUIRES: `rank` is at most kMaxRank.
  static TensorView Strided(void* data, DType dtype, const std::int64_t* shape, const std::int64_t* strides, int rank);
  /// Makes a view of memory without a shape, for a parameter that is declared without dims.
  static TensorView Raw(void* data, std::size_t bytes);

  /// Returns false if an extent is 0, and then `data` may be null. Memory without a shape has elements.
  bool HasElements() const;
  /// Prints dtype and shape: "float32[128, 64]".
  std::string ToString() const;
};

/// Tensors that a kernel reaches through a table of their addresses in device memory, one per group (grouped and
/// batched GEMM with pointer arrays). It is passed for a parameter that is declared ByPointers. The kernel receives the
/// table's address. A search copies, protects and compares the tensors, so that no candidate touches the caller's data.
/// Of() reads each tensor once. Keep the result while the table has the same tensors, so that a launch costs as much as
/// with a plain pointer. A view: it owns neither the table nor the tensors, and is read only during the call that it is
/// passed to.
struct TUNEONCE_API PointerTable {
  /// Describes a table. `table` is device memory with `count` addresses, of which the i-th is that of `tensors[i]`. A
  /// search checks the addresses, and a hit trusts them. The tensors must have one dtype and one rank. A tensor without
  /// elements may be null, and its entry may have any value. The call that the table is passed to returns errors in it.
  /// REQUIRES: `tensors` outlives the table.
  static PointerTable Of(void* table, const TensorView* tensors, std::size_t count);

  /// Returns OK, or InvalidArgument that names the first invalid tensor.
  Status Check() const;

  /// The tensors as slices of one tensor at the table's address: their dtype, the extents [count, ...] (the largest one
  /// where they differ), and their strides (-1 where they differ). `bytes` is the size of the table. `rank` is -1 if
  /// Check fails. This is the first member, so that a pointer to the table is also a pointer to its view.
  TensorView view;
  /// Bitwise OR of the addresses of all tensors with elements, which shows their common alignment.
  std::uint64_t addresses = 0;
  std::uint64_t num_gaps = 0;   ///< Number of tensors that are not row-major without gaps.
  std::uint64_t differing = 0;  ///< Bit d is set if the extents differ in dimension d of `view`.
  const TensorView* tensors = nullptr;
  std::size_t count = 0;
};

/// Calls `run(offset, count)` for each contiguous stretch of the tensor's memory in row-major order, until it returns
/// false. Both are in elements, and `offset` starts at `data`. REQUIRES: the tensor has elements.
template <typename Run>
void ForEachStretch(const TensorView& tensor, const Run& run) {
  std::int64_t count = 1;   // Elements of one stretch: the innermost dimensions that lie dense.
  int outer = tensor.rank;  // Number of dimensions around a stretch.
  for (; outer > 0; --outer) {
    auto d = static_cast<std::size_t>(outer - 1);
    if (tensor.strides[d] != count && tensor.shape[d] != 1) break;
    count *= tensor.shape[d];
  }
  std::array<std::int64_t, kMaxRank> index{};
  std::int64_t offset = 0;
  while (run(offset, count)) {
    int d = outer - 1;
    for (; d >= 0; --d) {
      auto u = static_cast<std::size_t>(d);
      offset += tensor.strides[u];
      if (++index[u] < tensor.shape[u]) break;
      offset -= tensor.strides[u] * tensor.shape[u];
      index[u] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TENSOR_VIEW_H_
