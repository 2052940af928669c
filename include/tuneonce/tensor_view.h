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

/// The type of a tensor's elements or of a scalar. kAny stands for every dtype in a declaration, and for raw memory in
/// a TensorView.
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
/// Returns the dtype for which DTypeName returns `name`, or nothing. "any" is not a name here.
TUNEONCE_API std::optional<DType> DTypeNamed(std::string_view name);

/// Maximum number of dimensions of a tensor.
inline constexpr int kMaxRank = 8;

/// Device memory with a shape, passed for a tensor parameter. It is a view: it does not own the memory, and the library
/// reads it only during the call that it is passed to.
struct TUNEONCE_API TensorView {
  void* data = nullptr;
  DType dtype = DType::kAny;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};  ///< Extent of each dimension, outermost first.
  /// Stride of each dimension in elements, outermost first. Launching with a negative stride in a dimension of extent 2
  /// or more returns InvalidArgument, except for raw memory, because `bytes` does not cover memory before `data`.
  std::array<std::int64_t, kMaxRank> strides{};
  /// Size of the memory that the view spans from `data` on, in bytes. 0 means unknown. A kernel with an output of
  /// unknown size cannot be tuned.
  std::size_t bytes = 0;

  /// Makes a view of a row-major tensor. REQUIRES: at most kMaxRank extents.
  static TensorView Contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape);
  /// Makes a view of a row-major tensor with `rank` extents. REQUIRES: `rank` is at most kMaxRank.
  static TensorView Contiguous(void* data, DType dtype, const std::int64_t* shape, int rank);
  /// Makes a view of a tensor with strides in elements. `bytes` becomes the number of bytes from `data` to the end of
  /// the last element, at most 2^63 - 1. REQUIRES: `rank` is at most kMaxRank.
  static TensorView Strided(void* data, DType dtype, const std::int64_t* shape, const std::int64_t* strides, int rank);
  /// Makes a view of memory without a shape, for a parameter that is declared without dims.
  static TensorView Raw(void* data, std::size_t bytes);

  /// Returns false if an extent is 0, so that `data` may be null. It returns true for memory without a shape.
  bool HasElements() const;
  /// Prints dtype and shape: "float32[128, 64]".
  std::string ToString() const;
};

/// Tensors that a kernel reaches through a table of their addresses in device memory, one per group (grouped and
/// batched GEMM with pointer arrays). It is passed for a parameter that is declared ByPointers. The kernel receives the
/// table's address. A search copies, protects and compares the tensors, so that no candidate touches the caller's data.
/// Of() reads each TensorView once. Reuse its result while the table has the same tensors, so that a launch costs as
/// much as with a plain pointer. It is a view: it owns neither the table nor the tensors, and the library reads it only
/// during the call that it is passed to.
struct TUNEONCE_API PointerTable {
  /// Describes a table. `table` is device memory with `count` addresses, of which the i-th is that of `tensors[i]`. A
  /// search checks that the table has these addresses, and later launches do not. The tensors must have one dtype and
  /// one rank. A tensor without elements may be null, and its entry may have any value. For an invalid table the call
  /// that the result is passed to returns the error of Check. REQUIRES: `tensors` outlives the result.
  static PointerTable Of(void* table, const TensorView* tensors, std::size_t count);

  /// Returns OK, or InvalidArgument that names the first invalid tensor.
  Status Check() const;

  /// A view of one tensor that has the tensors of the table as slices: `data` is the address of the table, and `bytes`
  /// its size. The extents are [count, ...], the largest one where the tensors differ. A stride is -1 where they
  /// differ. `rank` is -1 if Check fails. This is the first member, so that a pointer to the table is also a pointer to
  /// its view.
  TensorView view;
  /// Bitwise OR of the addresses of all tensors that have elements. Its trailing zero bits are those that all addresses
  /// have.
  std::uint64_t addresses = 0;
  std::uint64_t num_gaps = 0;   ///< Number of tensors that are not row-major without gaps.
  std::uint64_t differing = 0;  ///< Bit d is set if the extents differ in dimension d of `view`.
  const TensorView* tensors = nullptr;
  std::size_t count = 0;
};

/// Calls `run(offset, count)` for each contiguous stretch of the tensor's memory in row-major order, until `run`
/// returns false. `count` is the number of elements of the stretch, and `offset` is the distance of its first one from
/// `data` in elements. REQUIRES: the tensor has elements.
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
