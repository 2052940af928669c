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

/// Element types. kAny stands for "not declared": a parameter that takes every type, or raw memory.
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

/// The same by their short names: In("x", kFloat16, {"M", "N"}).
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

/// Bytes of one element; 1 for kAny.
TUNEONCE_API std::size_t DTypeBytes(DType dtype);
/// "float32", "bfloat16", ..., "any".
TUNEONCE_API std::string_view DTypeName(DType dtype);
/// The dtype that DTypeName calls so; empty if there is none.
TUNEONCE_API std::optional<DType> DTypeNamed(std::string_view name);

/// Most dimensions a tensor can have.
inline constexpr int kMaxRank = 8;

/// Device memory with a shape: what is passed for a tensor parameter. A view: it owns nothing, and is read only during
/// the call it is passed to.
struct TUNEONCE_API TensorView {
  void* data = nullptr;
  DType dtype = DType::kAny;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};  ///< Extents, outermost first.
  /// In elements, outermost first. A negative one, along more than one element, is refused by all but raw memory: what
  /// lies before `data` is not in `bytes`.
  std::array<std::int64_t, kMaxRank> strides{};
  /// Size of the memory that the view spans, from `data` on. 0: unknown; an output then cannot be tuned.
  std::size_t bytes = 0;

  /// A row-major tensor. REQUIRES: at most kMaxRank extents.
  static TensorView Contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape);
  static TensorView Contiguous(void* data, DType dtype, const std::int64_t* shape, int rank);
  /// A tensor with given strides (in elements); `bytes` is what they span from `data` on; 2^63 - 1 if that is more.
  static TensorView Strided(void* data, DType dtype, const std::int64_t* shape, const std::int64_t* strides, int rank);
  /// Memory without a shape: {pointer, bytes}, for a parameter declared without dims.
  static TensorView Raw(void* data, std::size_t bytes);

  /// False if an extent is 0: then `data` may be null. Memory without a shape counts as having some.
  bool HasElements() const;
  /// "float32[128, 64]".
  std::string ToString() const;
};

/// Tensors that a kernel reaches through a table of their addresses in device memory, one per group (grouped and
/// batched GEMM by pointers): what is passed for a parameter that is declared ByPointers. The kernel gets the table's
/// address; the tensors are what a search copies, protects and compares, so that no candidate touches the caller's.
///
/// Made by Of, which looks at each tensor once: keep it for as long as the table has the same tensors, and a launch
/// costs what one with a plain pointer costs. A view: it owns neither table nor tensors, and is read only during the
/// call.
struct TUNEONCE_API PointerTable {
  /// `table`: device memory with `count` addresses, the i-th that of `tensors[i]`: checked where something is tuned on
  /// it, trusted by a hit. Of one dtype and one rank; a tensor without elements may be null, and its entry anything.
  /// What is wrong with them is the error of the call that they are passed to. REQUIRES: `tensors` outlives the table.
  static PointerTable Of(void* table, const TensorView* tensors, std::size_t count);

  /// OK, or what is wrong with the tensors: InvalidArgument, naming the first.
  Status Check() const;

  /// The tensors as if they were slices of one: at the table's address, of their dtype, the extents [count, ...] (of
  /// those that differ the largest), and the strides that all have (where they differ, -1). `bytes` are the table's.
  /// Its rank is -1 if Check fails. First, so that a pointer to the table is one to it.
  TensorView view;
  std::uint64_t addresses = 0;  ///< Of all tensors with elements, or-ed: how they are aligned.
  std::uint64_t num_gaps = 0;   ///< Tensors that are not row-major without gaps.
  std::uint64_t differing = 0;  ///< Bit d: the extents differ in dimension d of `view`.
  const TensorView* tensors = nullptr;
  std::size_t count = 0;
};

/// Calls `run(offset, count)`, in elements from `data` on, for each stretch of the tensor's memory that has no gaps, in
/// row-major order; until one returns false. REQUIRES: it has elements.
template <typename Run>
void ForEachStretch(const TensorView& tensor, const Run& run) {
  std::int64_t count = 1;   // Of one stretch: the innermost dimensions that lie dense.
  int outer = tensor.rank;  // Dimensions around it.
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
