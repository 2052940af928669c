#ifndef TUNEONCE_PARAMETERS_H_
#define TUNEONCE_PARAMETERS_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/argument.h"
#include "tuneonce/config.h"
#include "tuneonce/dims.h"
#include "tuneonce/grid.h"
#include "tuneonce/problem.h"
#include "tuneonce/tensor_view.h"
#include "tuneonce/tolerance.h"

namespace tuneonce {
inline namespace v0 {

/// A number of a WarmupFill: a constant, or the value that a dim or a term over dims has in the shape that is warmed
/// up.
struct FillNumber {
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  FillNumber(T number) : value(static_cast<double>(number)) {}             // NOLINT(google-explicit-constructor)
  FillNumber(std::string dim_name) : dim(std::move(dim_name)) {}           // NOLINT(google-explicit-constructor)
  FillNumber(const char* dim_name) : FillNumber(std::string(dim_name)) {}  // NOLINT(google-explicit-constructor)

  FillNumber(Term dim_term) : term(std::move(dim_term)) {}  // NOLINT(google-explicit-constructor)

  double value = 0;          ///< The constant. Integers are exact up to 2^53.
  std::string dim;           ///< The name of a dim whose value is used, if not empty.
  std::optional<Term> term;  ///< A term over dims alone whose value is used, if set.
};

/// The values that a tensor or a scalar has in a warm-up by shape, which has no arguments of a caller. It is for
/// kernels whose speed or safety depends on values (lengths, indices, flags). A value.
struct TUNEONCE_API WarmupFill {
  enum class Kind { kConstant, kIota, kUniform, kFunction, kOffsets };
  /// Fills `host`, which is the tensor in row-major order in host memory. Called on the thread that warms up.
  using Function = std::function<void(const Dims& dims, const TensorView& host)>;

  /// A constant, which is the only fill for a scalar.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  WarmupFill(T value) : first(value) {}  // NOLINT(google-explicit-constructor)
  /// Every element is `value`.
  static WarmupFill Constant(FillNumber value);
  /// Element i in row-major order is start + i * step: offsets of equally long sequences, or a permutation.
  static WarmupFill Iota(FillNumber start = 0, FillNumber step = 1);
  /// Pseudo-random numbers from `low` (inclusive) to `high` (exclusive), integers for integer dtypes. They are the same
  /// in each process. A tensor of more than 4 MiB repeats them.
  static WarmupFill Uniform(FillNumber low, FillNumber high);
  /// The values that `function` writes.
  static WarmupFill Of(Function function);
  /// Offsets of groups: `end` rows are divided into n - 1 consecutive groups, and the n elements are where each group
  /// begins and where the last one ends, as for experts' tokens or sequences of different lengths. Element 0 is 0, the
  /// last element is `end`, and the elements never decrease. The size of group g, from 0, is proportional to 1 / (g +
  /// 1)^skew, rounded down to whole rows. A skew of 0 is balanced, and 1 is Zipf's law, the usual model of unequal
  /// popularity. `skew` is 0 to 16.
  static WarmupFill Offsets(FillNumber end, FillNumber skew = 0);

  Kind kind = Kind::kConstant;
  FillNumber first;       ///< The constant, kIota's start, kUniform's lower end, or kOffsets' end.
  FillNumber second = 0;  ///< kIota's step, kUniform's upper end, or kOffsets' skew.
  Function function;      ///< The function of kFunction.
};

/// How a kernel uses a tensor. A search runs outputs on scratch memory and starts each trial of a kInOut tensor from a
/// copy of the original bytes, so the caller's data does not change.
enum class Access { kIn, kOut, kInOut };

/// Where the value of a parameter comes from.
enum class ParameterKind {
  kTensor,   ///< Passed by the caller.
  kScalar,   ///< Passed by the caller.
  kDim,      ///< The value of a named dim.
  kStride,   ///< The stride of a tensor's dimension.
  kDerived,  ///< A scalar computed from config and dims.
  /// Scratch memory, allocated in stream order for each launch. Its size is computed from config and dims.
  kWorkspace,
  kDescriptor,  ///< Bytes passed by value (a tensor map, for example), computed from config, problem and tensors.
};

/// How a kernel copies boxes of a tensor by hardware (TMA, from compute capability 9.0 on, and on the CPU device). The
/// members are the parameters of cuTensorMapEncodeTiled other than the tensor, with the same limits. A value.
///
/// The tensor's address must be a multiple of 16 bytes, its innermost stride must be 1, and its other strides must be
/// multiples of 16 bytes. These are assumptions of the variant (Assumption), so arguments that violate them run by
/// another variant.
struct TUNEONCE_API TensorMap {
  enum class Interleave { kNone, k16Bytes, k32Bytes };
  enum class Swizzle { kNone, k32Bytes, k64Bytes, k128Bytes };
  enum class L2Promotion { kNone, k64Bytes, k128Bytes, k256Bytes };
  /// The value of elements outside of the tensor.
  enum class OutOfBounds { kZero, kNan };
  /// Maximum number of dimensions.
  static constexpr int kMaxRank = 5;

  /// Elements of a box in each of the tensor's dimensions, outermost first: constants and axes, 1 to 256.
  std::vector<Term> box;
  /// Element strides in each dimension, outermost first: constants and axes, 1 to 8. Empty: all are 1.
  std::vector<Term> element_strides = {};
  Swizzle swizzle = Swizzle::kNone;
  Interleave interleave = Interleave::kNone;
  L2Promotion l2_promotion = L2Promotion::kNone;
  OutOfBounds out_of_bounds = OutOfBounds::kZero;
};

/// Maximum number of bytes of one descriptor parameter, which is the size of a CUtensorMap.
inline constexpr std::size_t kMaxDescriptorBytes = 128;

/// One declared parameter of a kernel. The functions below make one.
struct Parameter {
  ParameterKind kind = ParameterKind::kTensor;
  std::string name;
  DType dtype = DType::kAny;
  Access access = Access::kIn;  ///< How the kernel uses a kTensor.
  /// Shape of a kTensor: one entry per dimension, which is a dim's name or a constant extent ("=4"). Empty: raw memory
  /// of any shape.
  std::vector<std::string> dims;
  bool by_pointers = false;          ///< Whether a kTensor is passed as a PointerTable; see ByPointers.
  std::vector<std::string> varying;  ///< For a tensor by pointers, the dims in which its slices may differ.
  std::string same_dtype_as;  ///< The tensor parameter that a kTensor shares its dtype with. Empty: `dtype` applies.
  std::string dim;            ///< The dim of a kDim.
  std::string tensor;         ///< The tensor of a kStride, or of a kDescriptor with a tensor map.
  int dimension = 0;          ///< The dimension of `tensor`, for kStride.
  /// Returns the value of a kDerived without `term`, in the low bytes of the word.
  std::function<std::uint64_t(const Config&, const Problem&)> derive;
  /// Returns the size in bytes of a kWorkspace without `term`. 0 passes a null pointer.
  std::function<std::size_t(const Config&, const Problem&)> workspace_bytes;
  /// The value of a kDerived, which must fit `dtype`, or the size in bytes of a kWorkspace.
  std::optional<Term> term;
  std::size_t descriptor_bytes = 0;  ///< Size of a kDescriptor.
  /// Fills the `bytes` of a kDescriptor. `tensors` has the tensor arguments in parameter order.
  std::function<Status(const Config&, const Problem&, const TensorView* const* tensors, void* bytes)> describe;
  std::optional<TensorMap> tensor_map;  ///< The tensor map of a kDescriptor, in place of `describe`.
  bool may_be_partial = false;  ///< Whether the kernel may leave elements of this output unwritten; see MayBePartial.
  std::optional<WarmupFill> warmup;    ///< The values of this input in warm-ups by shape; see ForWarmup.
  std::optional<Tolerance> tolerance;  ///< By how much this output may differ from the baseline's; see Within.

  /// Declares that the kernel leaves elements of this output unwritten on purpose (padding, variable lengths). Every
  /// candidate must write what the baseline writes, and the other elements are not compared. Without this declaration
  /// an unwritten element is a failure, for the baseline too.
  Parameter MayBePartial() && {
    may_be_partial = true;
    return std::move(*this);
  }
  /// Declares that the slices along the first dim are tensors at arbitrary addresses, which a launch passes as a
  /// PointerTable:
  ///
  ///   Out("c", kFloat16, {"GROUPS", "M", "N"}).ByPointers({"M"})
  ///
  /// The kernel receives the address of the table, an array of `GROUPS` addresses. `varying` names dims in which the
  /// slices may differ. Such a dim has the value of the largest slice, and the kernel must obtain each slice's own
  /// extent in another way. The slices are row-major without gaps. Access, dtype, tolerance and MayBePartial apply to
  /// the slices; the table itself is only read.
  Parameter ByPointers(std::vector<std::string> varying_dims = {}) && {
    by_pointers = true;
    varying = std::move(varying_dims);
    return std::move(*this);
  }
  /// Sets by how much this output may differ from the baseline's. Default: KernelDefinition::VerifyWithin.
  Parameter Within(Tolerance allowed) && {
    tolerance = allowed;
    return std::move(*this);
  }
  /// Sets the values of a scalar or an input tensor in warm-ups by shape: Scalar<float>("eps").ForWarmup(1e-5f).
  /// Scalars and tensors of integers or booleans have no default, and a warm-up by shape without a value for them is
  /// refused.
  Parameter ForWarmup(WarmupFill fill) && {
    warmup = std::move(fill);
    return std::move(*this);
  }
};

/// The dtype of a parameter that must equal the dtype of the tensor parameter `tensor`. Each launch checks it.
struct SameDTypeAs {
  explicit SameDTypeAs(std::string tensor_name) : tensor(std::move(tensor_name)) {}
  std::string tensor;
};

/// The dtype that a tensor parameter declares: one, any, or that of another tensor.
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
/// Each launch checks the dtype.
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
/// Declares a number that the caller passes with exactly this dtype.
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
/// Declares a parameter that receives the value of the dim `dim`, as int32 (checked to fit) or int64.
inline Parameter DimValue(std::string dim, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDim;
  parameter.name = dim;
  parameter.dim = std::move(dim);
  parameter.dtype = dtype;
  return parameter;
}
/// Declares a parameter that receives a stride of the tensor parameter `tensor` in elements, as int32 (checked to fit)
/// or int64. The stride is not negative. In the conventions kPlain and kTriton, a dimension whose stride the kernel
/// does not take must be dense, as CallingConvention explains. The parameter's name is made of both, "x_stride_0" for
/// example.
inline Parameter StrideValue(std::string tensor, int dimension, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kStride;
  parameter.name = tensor + "_stride_" + std::to_string(dimension);
  parameter.tensor = std::move(tensor);
  parameter.dimension = dimension;
  parameter.dtype = dtype;
  return parameter;
}
/// Declares a scalar whose value is `compute(config, problem)`. The C++ type of the result decides its dtype.
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
/// Declares a scalar whose value is a term, as int32 or int64. A value that does not fit is an error of the launch.
inline Parameter Derived(std::string name, Term value, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDerived;
  parameter.name = std::move(name);
  parameter.dtype = dtype;
  parameter.term = std::move(value);
  return parameter;
}
/// Declares scratch memory of `bytes(config, problem)` bytes, aligned to 256 bytes, with undefined contents.
inline Parameter Workspace(std::string name, std::function<std::size_t(const Config&, const Problem&)> bytes) {
  Parameter parameter;
  parameter.kind = ParameterKind::kWorkspace;
  parameter.name = std::move(name);
  parameter.workspace_bytes = std::move(bytes);
  return parameter;
}
/// Declares scratch memory whose size in bytes is a term: Workspace("partial", 4 * CeilDiv("K", split) * "M"). It is
/// aligned to 256 bytes, with undefined contents. A negative size is an error of the launch.
inline Parameter Workspace(std::string name, Term bytes) {
  Parameter parameter;
  parameter.kind = ParameterKind::kWorkspace;
  parameter.name = std::move(name);
  parameter.term = std::move(bytes);
  return parameter;
}
/// Declares a parameter of `bytes` bytes (at most kMaxDescriptorBytes) that is passed by value and filled by
/// `describe`.
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
