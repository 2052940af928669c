#ifndef TUNEONCE_PARAMETERS_H_
#define TUNEONCE_PARAMETERS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/geometry.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// How much a candidate's output may differ from the reference: by absolute * scale + relative * |reference| + ulps *
/// (distance between the dtype's neighbouring values at the reference element).
///
/// The scale of an element is the largest finite |reference| in its block. A block has 256 consecutive elements in
/// row-major order. The last block of an output also has the remaining ones, up to 511 in all. Elements that a partial
/// output leaves unwritten do not count.
///
/// `absolute` is for sums whose terms cancel: the error of a sum is proportional to the sum of its terms' magnitudes
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1), not to the sum itself, and
/// neighbouring elements show how large these magnitudes are. A scale for the whole output would be too large, because
/// rows of another magnitude, or one outlier, would hide every error. If `absolute` is not 0, the tolerance allows at
/// least what number formats cannot represent: the smallest normal number for dtypes with 8 exponent bits or more (code
/// may flush smaller ones to 0), else `absolute` times it. `ulps` is for results that are rounded to a dtype of low
/// precision.
struct Tolerance {
  /// Allowed difference as a fraction of the element's scale, which the comment of Tolerance defines.
  double absolute = 0;
  /// Allowed difference as a fraction of |reference element|.
  double relative = 0;
  /// Allowed difference in units of the distance between neighbouring values of the dtype at the reference element.
  double ulps = 0;

  /// Returns the default tolerance of a dtype. `absolute` and `relative` are 1.1e-13 and 4.5e-13 for float64, 1.5e-5
  /// and 6.1e-5 for float32, 2.0e-3 and 7.8e-3 for float16, 1.6e-2 and 6.3e-2 for bfloat16, which allows for another
  /// order of summation. float8 allows one ulp, by which the rounding of nearly equal sums can differ (E4M3 has 3
  /// mantissa bits, E5M2 has 2: OCP 8-bit floating point specification 1.0), and 4.9e-4 for sums in the 14 bits that
  /// Hopper's FP8 tensor cores accumulate in (DeepSeek-V3 technical report, arXiv:2412.19437, section 3.3.2). All other
  /// types must be equal.
  TUNEONCE_API static Tolerance Of(DType dtype);
};

/// One part of the key that decides which config a launch gets: a dim (exact or by bucket), a tensor's dtype, or a
/// scalar's value. KeyOf, DTypeOf and ValueOf make one. A dim can have one bucket: NextPow2, Buckets or Nearest.
/// KernelDefinition::Validate returns the errors of Check.
struct TUNEONCE_API KeyPart {
  enum class Kind : std::uint8_t { kDim, kDType, kValue };
  enum class Bucket : std::uint8_t { kExact, kNextPow2, kBounds, kNearest };

  Kind kind = Kind::kDim;
  std::string name;  ///< Name of the dim, tensor or scalar.
  Bucket bucket = Bucket::kExact;
  std::vector<std::int64_t> values = {};  ///< Values of kBounds and kNearest, increasing.
  bool has_two_buckets = false;           ///< Set by a second bucket, which is a mistake.

  /// Makes all values from one power of two (exclusive) to the next (inclusive) share one config, which is tuned at
  /// that upper bound.
  KeyPart NextPow2() && { return std::move(*this).In(Bucket::kNextPow2, {}); }
  /// Makes all values above one bound and up to the next one share one config, which is tuned at that upper bound. The
  /// bounds could be the batch sizes that an engine captures: {1, 2, 4, 8, 16, 24, 32}. Values above the last bound are
  /// rounded up to a power of two, so that a long prompt does not need a tune for each length.
  KeyPart Buckets(std::vector<std::int64_t> upper_bounds) && {
    return std::move(*this).In(Bucket::kBounds, std::move(upper_bounds));
  }
  /// Makes all values that are nearest to the same entry of `tuned` share one config, which is tuned at that entry.
  /// Between two equally near entries the smaller one is taken. A launch may be larger than the entry, and is then
  /// tuned on the beginning of its tensors. If an integer in its tensors could be an index beyond that beginning, it is
  /// tuned on the declared fills (ForWarmup), or else at the launch's own shape.
  KeyPart Nearest(std::vector<std::int64_t> tuned) && {
    return std::move(*this).In(Bucket::kNearest, std::move(tuned));
  }

  /// Returns what the key contains for a dim's `value`: the bucket's upper bound, the nearest entry, or `value` itself
  /// without a bucket.
  TUNEONCE_LOCAL std::int64_t Round(std::int64_t value) const;
  /// Returns the next power of two, or `value` itself if it is below 1 or 64 bits cannot hold the power.
  static std::int64_t NextPow2Of(std::int64_t value) {
    if (value <= 1) return value;
    std::uint64_t power = std::uint64_t{1} << (64 - __builtin_clzll(static_cast<std::uint64_t>(value - 1)));
    return power > (std::uint64_t{1} << 62) ? value : static_cast<std::int64_t>(power);
  }
  /// Returns the part with `value` as text: "M<=4096" for a bucket's upper bound, "M~4096" for an entry of a Nearest
  /// list, "M=4095" for an exact value, "x:float32" for a dtype, "eps=0.1" for a scalar of `scalar_dtype` with these
  /// bits. NaN, infinities and integers that do not fit 64 signed bits print their bits: "eps=0x7fc00000".
  /// Different values have different texts.
  TUNEONCE_LOCAL std::string ToString(std::int64_t value, DType scalar_dtype = DType::kAny) const;
  /// Checks the part. Errors: InvalidArgument, naming the part, if it has two buckets, if it is not a dim but has a
  /// bucket, or if its list is empty, is not increasing, is longer than kMostValues or has a value below 1.
  TUNEONCE_LOCAL Status Check() const;
  static constexpr std::size_t kMostValues = 1024;

 private:
  KeyPart In(Bucket new_bucket, std::vector<std::int64_t> bucket_values) && {
    has_two_buckets = bucket != Bucket::kExact;
    bucket = new_bucket;
    values = std::move(bucket_values);
    return std::move(*this);
  }
};

/// Makes a part that puts the value of the dim `name` into the key, exactly unless a bucket is added:
/// KeyOf("M").NextPow2().
inline KeyPart KeyOf(std::string name) { return KeyPart{KeyPart::Kind::kDim, std::move(name)}; }
/// Makes a part that puts the dtype of the tensor parameter `name` into the key. Every dtype is part of the key in any
/// case.
inline KeyPart DTypeOf(std::string name) { return KeyPart{KeyPart::Kind::kDType, std::move(name)}; }
/// Makes a part that puts the value of the scalar parameter `name` (a flag, for example) into the key. Values are
/// compared bit by bit.
inline KeyPart ValueOf(std::string name) { return KeyPart{KeyPart::Kind::kValue, std::move(name)}; }

/// A number in a WarmupFill: a constant, or the value of a dim or of a term over dims for the shape that is warmed up.
struct FillNumber {
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  FillNumber(T number) : value(static_cast<double>(number)) {}             // NOLINT(google-explicit-constructor)
  FillNumber(std::string dim_name) : dim(std::move(dim_name)) {}           // NOLINT(google-explicit-constructor)
  FillNumber(const char* dim_name) : FillNumber(std::string(dim_name)) {}  // NOLINT(google-explicit-constructor)

  FillNumber(Term dim_term) : term(std::move(dim_term)) {}  // NOLINT(google-explicit-constructor)

  double value = 0;          ///< The constant. Integers are exact up to 2^53.
  std::string dim;           ///< If not empty, the number is the value of the dim of this name.
  std::optional<Term> term;  ///< If set, the number is the value of this term, which contains dims alone.
};

/// The values of a tensor or a scalar in a warm-up by shape, for which no caller passes arguments. It is for kernels
/// whose speed or safety depends on values (lengths, indices, flags). It has value semantics. A value that the dtype
/// cannot hold is an InvalidArgument error, of Validate if the value is a constant, else of the warm-up.
struct TUNEONCE_API WarmupFill {
  enum class Kind { kConstant, kIota, kUniform, kFunction, kOffsets };
  /// Writes the elements of `host`, the tensor in row-major order in host memory. `dims` are those of the shape. It is
  /// called on the thread that warms up.
  using Function = std::function<void(const Dims& dims, const TensorView& host)>;

  /// Makes the fill Constant(value). Scalars can have no other kind of fill.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  WarmupFill(T value) : first(value) {}  // NOLINT(google-explicit-constructor)
  /// Makes a fill in which every element is `value`.
  static WarmupFill Constant(FillNumber value) { return WarmupFill(Kind::kConstant, std::move(value), 0); }
  /// Makes a fill in which element i in row-major order is start + i * step: offsets of equally long sequences, or a
  /// permutation.
  static WarmupFill Iota(FillNumber start = 0, FillNumber step = 1) {
    return WarmupFill(Kind::kIota, std::move(start), std::move(step));
  }
  /// Makes a fill of uniformly distributed pseudo-random numbers from `low` (inclusive) to `high` (exclusive), integers
  /// for integer dtypes. They are the same in each process. A tensor of more than 4 MiB repeats them. `low` must be
  /// less than `high`.
  static WarmupFill Uniform(FillNumber low, FillNumber high) {
    return WarmupFill(Kind::kUniform, std::move(low), std::move(high));
  }
  /// Makes a fill of the values that `function` writes. An exception from it is an error of the warm-up.
  static WarmupFill Of(Function function) {
    WarmupFill fill(Kind::kFunction, 0, 0);
    fill.function = std::move(function);
    return fill;
  }
  /// Makes a fill of n offsets that divide `end` rows into n - 1 consecutive groups (experts' tokens, or sequences of
  /// different lengths). Element 0 is 0, element g is where group g begins, and the last element is `end`. The size of
  /// group g is proportional to 1 / (g + 1)^skew, rounded to whole rows. A skew of 0 makes equal groups, and 1 is
  /// Zipf's law, the usual model of unequal popularity. `skew` is 0 to 16.
  static WarmupFill Offsets(FillNumber end, FillNumber skew = 0) {
    return WarmupFill(Kind::kOffsets, std::move(end), std::move(skew));
  }

  Kind kind = Kind::kConstant;
  FillNumber first;       ///< The constant, kIota's start, kUniform's lower end, or kOffsets' end.
  FillNumber second = 0;  ///< kIota's step, kUniform's upper end, or kOffsets' skew.
  Function function;      ///< The function of kFunction.

 private:
  WarmupFill(Kind new_kind, FillNumber new_first, FillNumber new_second)
      : kind(new_kind), first(std::move(new_first)), second(std::move(new_second)) {}
};

/// How a kernel uses a tensor: it reads it (kIn), writes it (kOut), or both (kInOut). A search runs outputs on scratch
/// memory and starts each trial of a kInOut tensor from a copy of the original bytes, so the caller's data does not
/// change.
enum class Access { kIn, kOut, kInOut };

/// Where the value of a parameter comes from.
enum class ParameterKind {
  kTensor,   ///< Passed by the caller.
  kScalar,   ///< Passed by the caller.
  kDim,      ///< The value of a named dim.
  kStride,   ///< The stride of a tensor's dimension.
  kDerived,  ///< A scalar computed from config and problem.
  /// Scratch memory, allocated in stream order for each launch. Its size is computed from config and problem.
  kWorkspace,
  kDescriptor,  ///< Bytes passed by value (a tensor map, for example), computed from config, problem and tensors.
};

/// How a kernel copies boxes of a tensor by hardware (TMA, from compute capability 9.0 on, and on the CPU device). The
/// members are the parameters of cuTensorMapEncodeTiled other than the tensor, with the same limits. It has value
/// semantics.
///
/// The tensor's address must be a multiple of 16 bytes, its innermost stride must be 1, and its other strides must be
/// multiples of 16 bytes. These are assumptions of the variant (Assumption), so a launch whose arguments violate them
/// skips the variant.
struct TUNEONCE_API TensorMap {
  enum class Interleave { kNone, k16Bytes, k32Bytes };
  enum class Swizzle { kNone, k32Bytes, k64Bytes, k128Bytes };
  enum class L2Promotion { kNone, k64Bytes, k128Bytes, k256Bytes };
  /// The value that the kernel reads for elements of a box outside of the tensor.
  enum class OutOfBounds { kZero, kNan };
  /// Maximum number of dimensions of the tensor. KernelDefinition::Validate returns InvalidArgument for more.
  TUNEONCE_LOCAL static constexpr int kMaxRank = 5;

  /// Size of a box in elements (boxDim of cuTensorMapEncodeTiled): one entry for each dimension of the tensor,
  /// outermost first. Each value must be 1 to 256. An entry may consist of constants and axes of the search space, but
  /// not of dims or scalars. KernelDefinition::Validate rejects other entries and a wrong number of them. A config that
  /// gives a value out of range cannot be launched (InvalidArgument).
  std::vector<Term> box;
  /// Step between the elements that a box reads (elementStrides of cuTensorMapEncodeTiled), for each dimension of the
  /// tensor, outermost first. Each value must be 1 to 8. Entries are made as those of `box`. Empty: all are 1.
  std::vector<Term> element_strides = {};
  Swizzle swizzle = Swizzle::kNone;
  Interleave interleave = Interleave::kNone;
  L2Promotion l2_promotion = L2Promotion::kNone;
  OutOfBounds out_of_bounds = OutOfBounds::kZero;
};

/// Maximum number of bytes of one descriptor parameter, which is the size of a CUtensorMap.
inline constexpr std::size_t kMaxDescriptorBytes = 128;

/// One declared parameter of a kernel. In, Out, InOut, Scalar, DimValue, StrideValue, Derived, Workspace and Descriptor
/// make one.
struct Parameter {
  ParameterKind kind = ParameterKind::kTensor;
  std::string name;
  DType dtype = DType::kAny;
  Access access = Access::kIn;  ///< How the kernel uses a kTensor.
  /// Shape of a kTensor: one entry per dimension, which is a dim's name or a constant extent ("=4"). Empty: raw memory
  /// of any shape.
  std::vector<std::string> dims;
  bool by_pointers = false;          ///< Whether a kTensor is passed as a PointerTable; see ByPointers.
  std::vector<std::string> varying;  ///< For `by_pointers`, the dims in which the slices may differ.
  std::string same_dtype_as;  ///< The tensor parameter that a kTensor shares its dtype with. Empty: `dtype` applies.
  std::string dim;            ///< The dim of a kDim.
  std::string tensor;         ///< The tensor of a kStride, or of a kDescriptor with a tensor map.
  int dimension = 0;          ///< The dimension of `tensor`, for kStride.
  /// Computes the value of a kDerived that has no `term`. The result holds the bytes of a value of type `dtype`,
  /// starting at the lowest byte.
  std::function<std::uint64_t(const Config&, const Problem&)> derive;
  /// Computes the size in bytes of a kWorkspace that has no `term`. For a size of 0 the kernel receives a null pointer.
  std::function<std::size_t(const Config&, const Problem&)> workspace_bytes;
  /// The value of a kDerived, which must fit `dtype`, or the size in bytes of a kWorkspace.
  std::optional<Term> term;
  std::size_t descriptor_bytes = 0;  ///< Size of a kDescriptor in bytes, 1 to kMaxDescriptorBytes.
  /// Writes the `descriptor_bytes` bytes of a kDescriptor to `bytes`. `tensors` has the tensor arguments in parameter
  /// order. An error that it returns fails the launch.
  std::function<Status(const Config&, const Problem&, const TensorView* const* tensors, void* bytes)> describe;
  std::optional<TensorMap> tensor_map;  ///< The tensor map of a kDescriptor, in place of `describe`.
  bool may_be_partial = false;  ///< Whether the kernel may leave elements of this output unwritten; see MayBePartial.
  std::optional<WarmupFill> warmup;    ///< The values of this input in warm-ups by shape; see ForWarmup.
  std::optional<Tolerance> tolerance;  ///< By how much this output may differ from the baseline's; see Within.

  /// Declares that the kernel leaves elements of this output unwritten on purpose (padding, variable lengths). Every
  /// candidate must write what the baseline writes, and the other elements are not compared. Without this declaration a
  /// config that leaves an element unwritten fails, even the baseline.
  Parameter MayBePartial() && {
    may_be_partial = true;
    return std::move(*this);
  }
  /// Declares that this tensor is an array of tensors ("slices", one for each index of the first dim) at arbitrary
  /// addresses. A launch passes them as a PointerTable:
  ///
  ///   Out("c", kFloat16, {"GROUPS", "M", "N"}).ByPointers({"M"})
  ///
  /// The kernel receives the address of the table, an array of `GROUPS` addresses. `varying` names dims in which the
  /// slices may differ. Such a dim has the value of the largest slice, and the kernel must obtain each slice's own
  /// extent in another way. The slices are row-major without gaps. Access, dtype, tolerance and MayBePartial apply to
  /// the slices. The kernel only reads the table.
  Parameter ByPointers(std::vector<std::string> varying_dims = {}) && {
    by_pointers = true;
    varying = std::move(varying_dims);
    return std::move(*this);
  }
  /// Sets by how much this output of a candidate may differ from the baseline's. Default:
  /// KernelDefinition::VerifyWithin. KernelDefinition::Validate returns InvalidArgument if the parameter is not an
  /// output.
  Parameter Within(Tolerance allowed) && {
    tolerance = allowed;
    return std::move(*this);
  }
  /// Sets the values of a scalar or an input tensor in warm-ups by shape: Scalar<float>("eps").ForWarmup(1e-5f).
  /// Floating-point tensors have uniform numbers from -1 to 1 by default. Scalars and tensors of integers or booleans
  /// have no default, and a warm-up by shape without a value for one of them returns InvalidArgument.
  Parameter ForWarmup(WarmupFill fill) && {
    warmup = std::move(fill);
    return std::move(*this);
  }
};

/// Declares that a tensor parameter must have the same dtype as the tensor parameter `tensor`. Launching with another
/// dtype returns InvalidArgument.
struct SameDTypeAs {
  explicit SameDTypeAs(std::string tensor_name) : tensor(std::move(tensor_name)) {}
  std::string tensor;
};

/// The dtype that a tensor parameter declares: one dtype, any dtype (kAny), or the dtype of another tensor
/// (SameDTypeAs).
struct DeclaredDType {
  DeclaredDType(DType exact) : dtype(exact) {}                            // NOLINT(google-explicit-constructor)
  DeclaredDType(SameDTypeAs other) : same_as(std::move(other.tensor)) {}  // NOLINT(google-explicit-constructor)
  DType dtype = DType::kAny;
  std::string same_as;
};

/// The extent that a tensor parameter declares for one dimension: the name of a dim, or a constant.
struct DeclaredExtent {
  DeclaredExtent(std::string name) : text(std::move(name)) {}              // NOLINT(google-explicit-constructor)
  DeclaredExtent(const char* name) : DeclaredExtent(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  template <typename T,
            typename = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>>>
  DeclaredExtent(T constant) : text("=" + std::to_string(constant)) {}  // NOLINT(google-explicit-constructor)
  std::string text;                                                     ///< The extent in the form of Parameter::dims.
};

/// The shape that a tensor parameter declares: {"M", 4}.
struct DeclaredShape {
  DeclaredShape(std::initializer_list<DeclaredExtent> extents) {
    for (const DeclaredExtent& extent : extents) dims.push_back(extent.text);
  }
  DeclaredShape(std::vector<std::string> names)  // NOLINT(google-explicit-constructor)
      : dims(std::move(names)) {}
  std::vector<std::string> dims;  ///< The shape in the form of Parameter::dims.
};

/// Declares a tensor that the kernel only reads: In("x", kFloat16, {"M", "N"}). `shape` has one extent per dimension,
/// outermost first, or is empty for raw memory. A name that occurs several times, in any parameters, must have the same
/// extent each time. A number, as in {"N", 4}, is an extent that every launch must have, and is not part of the key.
/// Launching with another dtype or shape returns InvalidArgument.
inline Parameter In(std::string name, DeclaredDType dtype, DeclaredShape shape) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.dims = std::move(shape.dims);
  parameter.dtype = dtype.dtype;
  parameter.same_dtype_as = std::move(dtype.same_as);
  return parameter;
}
/// Declares a tensor that the kernel writes and does not read. The other arguments are those of In.
inline Parameter Out(std::string name, DeclaredDType dtype, DeclaredShape shape) {
  Parameter parameter = In(std::move(name), std::move(dtype), std::move(shape));
  parameter.access = Access::kOut;
  return parameter;
}
/// Declares a tensor that the kernel reads and writes. The other arguments are those of In.
inline Parameter InOut(std::string name, DeclaredDType dtype, DeclaredShape shape) {
  Parameter parameter = In(std::move(name), std::move(dtype), std::move(shape));
  parameter.access = Access::kInOut;
  return parameter;
}
/// Declares an input of any dtype: In("x", {"M", "N"}). The dtype is part of the key.
inline Parameter In(std::string name, DeclaredShape shape) {
  return In(std::move(name), DType::kAny, std::move(shape));
}
/// Declares an output of any dtype: Out("y", {"M", "N"}). The dtype is part of the key.
inline Parameter Out(std::string name, DeclaredShape shape) {
  return Out(std::move(name), DType::kAny, std::move(shape));
}
/// Declares a tensor of any dtype that the kernel reads and writes. The dtype is part of the key.
inline Parameter InOut(std::string name, DeclaredShape shape) {
  return InOut(std::move(name), DType::kAny, std::move(shape));
}
/// Declares a number that the caller passes. The argument must have exactly this dtype, else the launch returns
/// InvalidArgument.
inline Parameter Scalar(std::string name, DType dtype) {
  Parameter parameter;
  parameter.kind = ParameterKind::kScalar;
  parameter.name = std::move(name);
  parameter.dtype = dtype;
  return parameter;
}
/// Declares a number that the caller passes, with the dtype of a C++ type: Scalar<float>("eps").
template <typename T>
Parameter Scalar(std::string name) {
  return Scalar(std::move(name), ScalarDType<T>());
}
/// Declares a parameter that receives the value of the dim `dim`, as int32 or int64. The caller does not pass it. A
/// launch whose value does not fit int32 skips the variants that take it as int32.
inline Parameter DimValue(std::string dim, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDim;
  parameter.name = dim;
  parameter.dim = std::move(dim);
  parameter.dtype = dtype;
  return parameter;
}
/// Declares a parameter that receives the stride of the dimension (outermost: 0) of the tensor parameter `tensor` in
/// elements, as int32 or int64. A launch whose stride is negative or does not fit skips the variant. In the conventions
/// kPlain and kTriton, a dimension whose stride the kernel does not take must be dense, as CallingConvention explains.
/// The parameter's name consists of the tensor's name and the dimension: "x_stride_0".
inline Parameter StrideValue(std::string tensor, int dimension, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kStride;
  parameter.name = tensor + "_stride_" + std::to_string(dimension);
  parameter.tensor = std::move(tensor);
  parameter.dimension = dimension;
  parameter.dtype = dtype;
  return parameter;
}
/// Declares a scalar whose value is `compute(config, problem)`. The C++ type of the result decides its dtype. The
/// caller does not pass it.
template <typename Function, typename = std::enable_if_t<std::is_invocable_v<Function, const Config&, const Problem&>>>
Parameter Derived(std::string name, Function compute) {
  using Value = std::invoke_result_t<Function, const Config&, const Problem&>;
  Parameter parameter;
  parameter.kind = ParameterKind::kDerived;
  parameter.name = std::move(name);
  parameter.dtype = ScalarDType<Value>();
  parameter.derive = [compute = std::move(compute)](const Config& config, const Problem& problem) {
    Value value = compute(config, problem);
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(value));
    return word;
  };
  return parameter;
}
/// Declares a scalar whose value is the value of a Term, as int32 or int64. The caller does not pass it. Launching with
/// a value that does not fit returns InvalidArgument.
inline Parameter Derived(std::string name, Term value, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDerived;
  parameter.name = std::move(name);
  parameter.dtype = dtype;
  parameter.term = std::move(value);
  return parameter;
}
/// Declares device memory of `bytes(config, problem)` bytes that the library allocates for each launch, aligned to 256
/// bytes, with undefined contents. The kernel receives its address, which is null for 0 bytes.
inline Parameter Workspace(std::string name, std::function<std::size_t(const Config&, const Problem&)> bytes) {
  Parameter parameter;
  parameter.kind = ParameterKind::kWorkspace;
  parameter.name = std::move(name);
  parameter.workspace_bytes = std::move(bytes);
  return parameter;
}
/// Declares device memory that the library allocates for each launch. Its size in bytes is the value of a Term:
/// Workspace("partial", 4 * CeilDiv("K", split) * "M"). It is aligned to 256 bytes, with undefined contents. Launching
/// with a negative size returns InvalidArgument.
inline Parameter Workspace(std::string name, Term bytes) {
  Parameter parameter;
  parameter.kind = ParameterKind::kWorkspace;
  parameter.name = std::move(name);
  parameter.term = std::move(bytes);
  return parameter;
}
/// Declares a parameter of `bytes` bytes (1 to kMaxDescriptorBytes) that the kernel receives by value.
/// `describe(config, problem, tensors, to)` writes the bytes to `to`. `tensors` has the tensor arguments in parameter
/// order. An error that it returns fails the launch.
inline Parameter Descriptor(
    std::string name, std::size_t bytes,
    std::function<Status(const Config&, const Problem&, const TensorView* const*, void*)> describe) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDescriptor;
  parameter.name = std::move(name);
  parameter.descriptor_bytes = bytes;
  parameter.describe = std::move(describe);
  return parameter;
}

/// Declares the tensor parameter `tensor` as a CUtensorMap that is passed by value (`const __grid_constant__
/// CUtensorMap`; `tuneonce_tensor_map` on the CPU device). It is encoded once for each address and shape and then
/// reused:
///
///   Descriptor("a_map", "a", TensorMap{{tile_m, tile_k}})
///
/// The caller passes the tensor itself. A variant whose kernel takes the map lists it in Variant::KernelArgs.
inline Parameter Descriptor(std::string name, std::string tensor, TensorMap map) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDescriptor;
  parameter.name = std::move(name);
  parameter.tensor = std::move(tensor);
  parameter.descriptor_bytes = kMaxDescriptorBytes;
  parameter.tensor_map = std::move(map);
  return parameter;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PARAMETERS_H_
