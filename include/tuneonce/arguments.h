#ifndef TUNEONCE_ARGUMENTS_H_
#define TUNEONCE_ARGUMENTS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/result.h"

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
/// Writes `value` as an element of `dtype` to the DTypeBytes(dtype) bytes at `to`, for scalars whose dtype is known at
/// run time only (Argument::Scalar). Floating-point types round to the nearest. Returns false and writes nothing if the
/// type cannot hold the value: it has a fraction, or exceeds the type's largest number. An infinity and NaN need a
/// dtype that has them.
TUNEONCE_API bool EncodeScalar(DType dtype, double value, void* to);
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
  static TensorView Contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape) {
    return Contiguous(data, dtype, shape.begin(), static_cast<int>(shape.size()));
  }
  /// Makes a view of a row-major tensor with `rank` extents. REQUIRES: `rank` is at most kMaxRank.
  static TensorView Contiguous(void* data, DType dtype, const std::int64_t* shape, int rank);
  /// Makes a view of a tensor with strides in elements. `bytes` becomes the number of bytes from `data` to the end of
  /// the last element, at most 2^63 - 1. REQUIRES: `rank` is at most kMaxRank.
  static TensorView Strided(void* data, DType dtype, const std::int64_t* shape, const std::int64_t* strides, int rank);
  /// Makes a view of memory without a shape, for a parameter that is declared without dims.
  static TensorView Raw(void* data, std::size_t bytes) {
    TensorView view;
    view.data = data;
    view.bytes = bytes;
    return view;
  }

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

/// Returns the dtype with which a scalar of the C++ type `T` is passed to a kernel.
template <typename T>
constexpr DType ScalarDType() {
  static_assert(std::is_arithmetic_v<T>, "a kernel's scalar is an int, float or bool");
  static_assert(sizeof(T) <= 8, "a kernel's scalar has at most 8 bytes");
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  constexpr bool kSigned = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return kSigned ? DType::kInt8 : DType::kUInt8;
  if constexpr (sizeof(T) == 2) return kSigned ? DType::kInt16 : DType::kUInt16;
  if constexpr (sizeof(T) == 4) return kSigned ? DType::kInt32 : DType::kUInt32;
  return kSigned ? DType::kInt64 : DType::kUInt64;
}

/// A reference to one argument that the caller passes to Launch: a TensorView, a PointerTable or a scalar.
/// TunedKernel::Launch makes it on the stack. A launch compares kind() with the declared kind, and returns
/// InvalidArgument for an argument of another type. REQUIRES: the referenced value outlives the call.
class Argument {
 public:
  /// The value of kind() for a TensorView. For a scalar, kind() is its DType as a number.
  static constexpr std::uint32_t kTensor = 0x100;
  static constexpr std::uint32_t kTable = kTensor | 0x200;

  Argument(const TensorView& tensor) : kind_(kTensor), value_(&tensor) {}  // NOLINT(google-explicit-constructor)
  Argument(const PointerTable& table) : kind_(kTable), value_(&table) {}   // NOLINT(google-explicit-constructor)
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Argument(const T& scalar)  // NOLINT(google-explicit-constructor)
      : kind_(static_cast<std::uint32_t>(ScalarDType<T>())), value_(&scalar) {}

  /// Makes a reference to a scalar whose dtype is known at run time only. `value` points to DTypeBytes(dtype) bytes.
  static Argument Scalar(DType dtype, const void* value) { return Argument(static_cast<std::uint32_t>(dtype), value); }

  std::uint32_t kind() const { return kind_; }
  bool is_tensor() const { return (kind_ & kTensor) != 0; }
  bool is_table() const { return kind_ == kTable; }
  /// Returns the TensorView, or the member `view` of a PointerTable. REQUIRES: is_tensor().
  const TensorView& tensor() const { return *static_cast<const TensorView*>(value_); }
  /// Returns the pointer table. REQUIRES: is_table().
  const PointerTable& table() const { return *static_cast<const PointerTable*>(value_); }
  /// Returns the address of the TensorView, of the PointerTable, or of the scalar's DTypeBytes(dtype()) bytes.
  const void* value() const { return value_; }
  DType dtype() const { return is_tensor() ? tensor().dtype : static_cast<DType>(kind_); }

 private:
  Argument(std::uint32_t kind, const void* value) : kind_(kind), value_(value) {}

  std::uint32_t kind_;
  const void* value_;
};

/// The arguments of a launch in the order of the definition's tensors and scalars: a view of an array, which outlives
/// the call that the view is passed to. A list in braces makes one: `kernel.IsReady({x, y, 2.0f})`.
class ArgumentSpan {
 public:
  ArgumentSpan(const Argument* data, std::size_t size) : data_(data), size_(size) {}
  ArgumentSpan(std::initializer_list<Argument> list) : ArgumentSpan(list.begin(), list.size()) {}
  ArgumentSpan(const std::vector<Argument>& list)  // NOLINT(google-explicit-constructor)
      : data_(list.data()), size_(list.size()) {}
  template <std::size_t N>
  ArgumentSpan(const std::array<Argument, N>& list)  // NOLINT(google-explicit-constructor)
      : data_(list.data()), size_(N) {}

  const Argument* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const Argument* data_;
  std::size_t size_;
};

/// Maximum number of named dims of a kernel. KernelDefinition::Validate returns InvalidArgument for more.
inline constexpr int kMaxDims = 12;

/// A typed handle of one named dim: `dims[M]` is an array index. The n-th name that appears in the shapes of the
/// kernel's parameters (or in KernelDefinition::DimsInOrder) is Dim{n}: `constexpr Dim M{0}, N{1};`.
struct Dim {
  int index = 0;
};

/// The values of a kernel's named dims in one launch, in the order of KernelDefinition::dims. It allocates no memory,
/// because each launch makes one. REQUIRES: a Dim that is used as an index is less than count().
class Dims {
 public:
  Dims() = default;
  explicit Dims(int count) { Reset(count); }

  /// Sets the number of dims and leaves their values uninitialized, because the hot path assigns each of them.
  void SetCount(int count) { count_ = count; }
  /// Sets the number of dims and all values to 0.
  void Reset(int count) {
    count_ = count;
    for (int i = 0; i < count; ++i) values_[static_cast<std::size_t>(i)] = 0;
  }

  int count() const { return count_; }
  const std::int64_t& operator[](Dim dim) const { return values_[static_cast<std::size_t>(dim.index)]; }
  std::int64_t& operator[](Dim dim) { return values_[static_cast<std::size_t>(dim.index)]; }

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.count_ == b.count_ && std::equal(a.values_.begin(), a.values_.begin() + a.count_, b.values_.begin());
  }

 private:
  int count_ = 0;
  std::array<std::int64_t, kMaxDims> values_;  // The first count_ are set.
};

/// Maximum number of parameters of a kernel. KernelDefinition::Validate returns InvalidArgument for more.
inline constexpr int kMaxParameters = 128;

/// What the functions of a definition receive together with the config: values of dims and scalars, the arguments'
/// dtypes, and the target. It points into the caller's arguments, so it is valid during the call that it is passed to.
struct TUNEONCE_API Problem {
  Dims dims;
  /// The device that the call is for. It outlives the problem. By default, a target whose limits are unknown.
  const Target* target = &kUnknownTarget;
  /// The dtype of each parameter, in the order of KernelDefinition::Parameters. It is kAny for a parameter that is not
  /// a tensor or scalar. Only as many entries are set as the kernel has parameters.
  std::array<DType, kMaxParameters> dtypes;
  /// A pointer to the TensorView or the scalar's bytes of each parameter. It is null for a parameter that the caller
  /// does not pass, and for a scalar that must not be read. If a function's result serves all launches of a key, these
  /// are the scalars that the key does not contain, and the tensors are those of one of the launches: what depends on
  /// addresses or strides is for Variant::Requires.
  std::array<const void*, kMaxParameters> values;

  /// Returns the value of a dim.
  std::int64_t operator[](Dim dim) const { return dims[dim]; }
  /// Returns the dtype of a parameter by its index.
  DType dtype(int parameter) const { return dtypes[static_cast<std::size_t>(parameter)]; }
  /// Returns a scalar that the caller passed. `parameter` is its index in KernelDefinition::Parameters, and `T` must be
  /// exactly its C++ type. A function that asks for another type, for a parameter that is not a scalar, or for a scalar
  /// that must not be read here, ends with an exception that becomes an error naming the function. A source function
  /// may read only scalars that are part of the key (ValueOf).
  template <typename T>
  T scalar(int parameter) const {
    T value;
    std::memcpy(&value, FindScalar(parameter, ScalarDType<T>()), sizeof(value));
    return value;
  }

 private:
  const void* FindScalar(int parameter, DType dtype) const;
};

/// A property of a launch's arguments that the code was compiled for. A launch whose arguments lack it skips the
/// variant (Variant::assumptions). The functions below make assumptions, which can be parts of a Condition.
struct Assumption {
  enum class Kind : std::uint8_t {
    kAligned,
    kStrideIs,
    kStrideDivisibleBy,
    kExtentIs,
    kExtentDivisibleBy,
    kNoOverlap,
    kContiguous,
    kScalarIs,
    kScalarDivisibleBy,
    kDTypeIn,
    // The kinds from here on are implied by how the kernel takes its parameters and need not be declared:
    kStrideFitsInt32,    ///< The stride is not negative and fits int32, the type in which the kernel takes it.
    kStrideNotNegative,  ///< The stride is not negative. The kernel takes it as int64.
    kExtentFitsInt32,
    // Declared kinds. A kernel's identity contains these numbers, so new kinds are added at the end.
    kExtentAtLeast,
    kScalarAtLeast,
    kCondition,  ///< Not declared: a part of a requirement (Variant::Requires) that is not a single assumption.
  };

  Kind kind = Kind::kAligned;
  /// Name of the tensor, or of the scalar for kScalarIs, kScalarDivisibleBy and kScalarAtLeast.
  std::string tensor;
  /// Index of the dimension of `tensor`, outermost first. Unused for kAligned, kNoOverlap, kContiguous, kDTypeIn and
  /// scalars.
  int dimension = 0;
  /// The assumed value, depending on `kind`: an alignment in bytes; a stride or an extent in elements, or its divisor
  /// or minimum; or a scalar's value, divisor or minimum. Unused for kNoOverlap, kContiguous and kDTypeIn, and where
  /// `real` is set.
  std::int64_t value = 1;
  std::string other;  ///< Name of the other tensor, for kNoOverlap.
  /// The assumed value of kScalarIs if it was given as a floating-point number. Otherwise empty, and `value` applies.
  std::optional<double> real = std::nullopt;
  std::vector<DType> dtypes = {};  ///< The dtypes that the tensor may have, for kDTypeIn.
};
/// Assumes that the address of the tensor `tensor` is a multiple of `bytes`. For a tensor ByPointers, that is each of
/// its tensors.
inline Assumption Aligned(std::string tensor, std::int64_t bytes) {
  return Assumption{Assumption::Kind::kAligned, std::move(tensor), 0, bytes, ""};
}
/// Assumes that the stride of the dimension (outermost: 0) of `tensor` is `elements`, or that its extent is 1.
inline Assumption StrideIs(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kStrideIs, std::move(tensor), dimension, elements, ""};
}
/// Assumes that the stride of the dimension (outermost: 0) of `tensor` is a multiple of `divisor` elements, even if the
/// dimension's extent is 1.
inline Assumption StrideDivisibleBy(std::string tensor, int dimension, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kStrideDivisibleBy, std::move(tensor), dimension, divisor, ""};
}
/// Assumes that the extent of the dimension (outermost: 0) of `tensor` is `elements`, which the code contains as a
/// constant. Other variants may be compiled for other extents.
inline Assumption ExtentIs(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kExtentIs, std::move(tensor), dimension, elements, ""};
}
/// Assumes that the extent of the dimension (outermost: 0) of `tensor` is a multiple of `divisor`.
inline Assumption ExtentDivisibleBy(std::string tensor, int dimension, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kExtentDivisibleBy, std::move(tensor), dimension, divisor, ""};
}
/// Assumes that the extent of the dimension (outermost: 0) of `tensor` is at least `elements`. Declare 1 for code whose
/// behaviour is undefined for an extent of 0.
inline Assumption ExtentAtLeast(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kExtentAtLeast, std::move(tensor), dimension, elements, ""};
}
/// Assumes that the tensor is row-major without gaps. The stride of a dimension of extent 1 may be any. The assumption
/// need not be declared where the kernel takes a bare pointer (CallingConvention).
inline Assumption Contiguous(std::string tensor) {
  return Assumption{Assumption::Kind::kContiguous, std::move(tensor), 0, 1, ""};
}
/// Assumes that the tensor has one of these dtypes. It is for code whose parameter declares no dtype (In("x", {"M",
/// "N"})), so that a definition can have variants for several dtypes. Every key contains the dtype, so the check costs
/// a launch with a ready key nothing. A TunedKernel::Shape that does not set the tensor's dtype uses the first dtype of
/// the first variant that assumes one.
inline Assumption DTypeIn(std::string tensor, std::vector<DType> dtypes) {
  Assumption assumption{Assumption::Kind::kDTypeIn, std::move(tensor), 0, 1, ""};
  assumption.dtypes = std::move(dtypes);
  return assumption;
}
/// Assumes that the tensor has this dtype. DTypeIn explains the use.
inline Assumption DTypeIs(std::string tensor, DType dtype) { return DTypeIn(std::move(tensor), {dtype}); }
/// Assumes that the memory of the two tensors does not overlap.
inline Assumption NoOverlap(std::string tensor, std::string other) {
  return Assumption{Assumption::Kind::kNoOverlap, std::move(tensor), 0, 1, std::move(other)};
}

/// Assumes that the scalar has this value: a boolean, an integer, or for a floating-point scalar a number. The values
/// are compared bit by bit in the scalar's dtype, so 0.0 differs from -0.0. Where the key contains the scalar (ValueOf)
/// the comparison costs a launch nothing.
template <typename T>
Assumption ScalarIs(std::string scalar, T value) {
  static_assert(std::is_arithmetic_v<T>, "a scalar is an int, float or bool");
  Assumption assumption{Assumption::Kind::kScalarIs, std::move(scalar), 0, 0, ""};
  if constexpr (std::is_integral_v<T>) assumption.value = static_cast<std::int64_t>(value);
  if constexpr (std::is_floating_point_v<T>) assumption.real = static_cast<double>(value);
  return assumption;
}
/// Assumes that the integer scalar is a multiple of `divisor`.
inline Assumption ScalarDivisibleBy(std::string scalar, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kScalarDivisibleBy, std::move(scalar), 0, divisor, ""};
}
/// Assumes that the integer scalar is at least `value`.
inline Assumption ScalarAtLeast(std::string scalar, std::int64_t value) {
  return Assumption{Assumption::Kind::kScalarAtLeast, std::move(scalar), 0, value, ""};
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_ARGUMENTS_H_
