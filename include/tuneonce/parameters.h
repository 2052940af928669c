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

/// A number of a WarmupFill: given, or the value that a dim, or a term over dims, has in the shape which is warmed.
struct FillNumber {
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  FillNumber(T number) : value(static_cast<double>(number)) {}           // NOLINT(google-explicit-constructor)
  FillNumber(std::string its_dim) : dim(std::move(its_dim)) {}           // NOLINT(google-explicit-constructor)
  FillNumber(const char* its_dim) : FillNumber(std::string(its_dim)) {}  // NOLINT(google-explicit-constructor)

  FillNumber(Term its_term) : term(std::move(its_term)) {}  // NOLINT(google-explicit-constructor)

  double value = 0;          ///< Whole numbers are exact up to 2^53.
  std::string dim;           ///< If not empty, this dim's value counts.
  std::optional<Term> term;  ///< If there, its value counts. Over dims alone.
};

/// What a tensor or a scalar holds in a warm-up by shape, where there is no caller whose data it could be: for a kernel
/// whose speed, or whose safety, depends on values (lengths, indices, flags). A value.
struct TUNEONCE_API WarmupFill {
  enum class Kind { kConstant, kIota, kUniform, kFunction, kOffsets };
  /// Fills `host`: the tensor, row-major, in host memory. Called on the thread that warms.
  using Function = std::function<void(const Dims& dims, const TensorView& host)>;

  /// A constant, the only fill that a scalar can have.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  WarmupFill(T value) : first(value) {}  // NOLINT(google-explicit-constructor)
  static WarmupFill Constant(FillNumber value);
  /// Element i, in row-major order, is start + i * step: offsets of equally long sequences, a permutation.
  static WarmupFill Iota(FillNumber start = 0, FillNumber step = 1);
  /// Pseudo-random numbers from `low` up to, but not, `high`; whole ones for integers. The same in each process. A
  /// tensor of more than 4 MiB repeats them.
  static WarmupFill Uniform(FillNumber low, FillNumber high);
  static WarmupFill Of(Function function);
  /// Of n elements: where n - 1 groups begin that follow each other in `end` rows, and where the last one ends:
  /// experts' tokens, sequences of different lengths. Element 0 is 0, the last is `end`, none is less than that before.
  /// Group g, from 0, has a share of 1 / (g + 1)^skew, rounded down to whole rows: 0 is balanced, 1 is Zipf's law, the
  /// usual model of what some are asked for more often than others. `skew` is 0 to 16.
  static WarmupFill Offsets(FillNumber end, FillNumber skew = 0);

  Kind kind = Kind::kConstant;
  FillNumber first;       ///< The constant, kIota's start, kUniform's low end, kOffsets' end.
  FillNumber second = 0;  ///< kIota's step, kUniform's high end, kOffsets' skew.
  Function function;      ///< kFunction.
};

/// How a kernel uses a tensor. A search runs outputs on scratch memory, and starts each trial of an kInOut from the
/// original bytes, so the caller's data stays untouched.
enum class Access { kIn, kOut, kInOut };

enum class ParameterKind {
  kTensor,      ///< Passed by the caller.
  kScalar,      ///< Passed by the caller.
  kDim,         ///< The value of a named dim.
  kStride,      ///< The stride of a tensor's dimension.
  kDerived,     ///< A scalar computed from config and dims.
  kWorkspace,   ///< Scratch memory, its size computed from config and dims; allocated in stream order per launch.
  kDescriptor,  ///< Bytes passed by value (a tensor map, say), computed from config, problem and the tensors.
};

/// How a kernel copies boxes of a tensor by hardware (TMA; from compute capability 9.0 on, and on the CPU device): what
/// cuTensorMapEncodeTiled takes beside the tensor, whose limits hold. A value.
///
/// The tensor lies at a multiple of 16 bytes, its innermost stride is 1, the others are multiples of 16 bytes: assumed
/// of the arguments like what a variant declares (Assumption), so that others run by another variant.
struct TUNEONCE_API TensorMap {
  enum class Interleave { kNone, k16Bytes, k32Bytes };
  enum class Swizzle { kNone, k32Bytes, k64Bytes, k128Bytes };
  enum class L2Promotion { kNone, k64Bytes, k128Bytes, k256Bytes };
  /// What elements outside of the tensor read as.
  enum class OutOfBounds { kZero, kNan };
  /// Most dimensions.
  static constexpr int kMaxRank = 5;

  /// Elements of a box in each of the tensor's dimensions, outermost first: constants and axes, 1 to 256.
  std::vector<Term> box;
  /// Steps in each dimension, likewise, 1 to 8. Empty: 1.
  std::vector<Term> element_strides = {};
  Swizzle swizzle = Swizzle::kNone;
  Interleave interleave = Interleave::kNone;
  L2Promotion l2_promotion = L2Promotion::kNone;
  OutOfBounds out_of_bounds = OutOfBounds::kZero;
};

/// Most bytes of one descriptor parameter; that of a CUtensorMap.
inline constexpr std::size_t kMaxDescriptorBytes = 128;

/// One logical parameter of a kernel. Made by the functions below.
struct Parameter {
  ParameterKind kind = ParameterKind::kTensor;
  std::string name;
  DType dtype = DType::kAny;
  Access access = Access::kIn;  ///< kTensor
  /// kTensor: one entry per dimension, the name of a dim or a constant extent ("=4"); empty: raw memory of any shape.
  std::vector<std::string> dims;
  bool by_pointers = false;          ///< kTensor: see ByPointers.
  std::vector<std::string> varying;  ///< Of a tensor by pointers: dims in which its slices may differ.
  std::string same_dtype_as;         ///< kTensor: the other tensor that has the same dtype; empty: `dtype` says.
  std::string dim;                   ///< kDim
  std::string tensor;                ///< kStride; kDescriptor of a tensor map.
  int dimension = 0;                 ///< kStride: of `tensor`.
  /// kDerived: the value's bytes, in the low bytes of the word; if it is no `term`.
  std::function<std::uint64_t(const Config&, const Problem&)> derive;
  /// kWorkspace: size in bytes; 0 passes a null pointer. If it is no `term`.
  std::function<std::size_t(const Config&, const Problem&)> workspace_bytes;
  /// kDerived: the value, which must fit `dtype`. kWorkspace: the size in bytes.
  std::optional<Term> term;
  std::size_t descriptor_bytes = 0;  ///< kDescriptor
  /// kDescriptor: fills `bytes`. `tensors` are the tensor arguments, in parameter order.
  std::function<Status(const Config&, const Problem&, const TensorView* const* tensors, void* bytes)> describe;
  std::optional<TensorMap> tensor_map;  ///< kDescriptor, in place of `describe`.
  bool may_be_partial = false;          ///< An output: see MayBePartial.
  std::optional<WarmupFill> warmup;     ///< An input: see ForWarmup.
  std::optional<Tolerance> tolerance;   ///< An output: see Within.

  /// The kernel leaves elements of this output unwritten on purpose (padding, variable lengths). What the baseline
  /// writes must then be written by all; what it leaves is not compared. Without this an element that is left unwritten
  /// is a failure, the baseline's too.
  Parameter MayBePartial() && {
    may_be_partial = true;
    return std::move(*this);
  }
  /// The slices along the first dim are tensors that lie anywhere, and what a launch passes is a PointerTable of them:
  ///
  ///   Out("c", kFloat16, {"GROUPS", "M", "N"}).ByPointers({"M"})
  ///
  /// The kernel gets the address of the table, an array of `GROUPS` addresses. `varying` names dims of the slices that
  /// need not be equal in all of them: such a dim is that of the largest, and how much of each slice there is the
  /// kernel must know from elsewhere. The slices are row-major without gaps. Access, dtype, tolerance and MayBePartial
  /// are theirs; the table itself is only read.
  Parameter ByPointers(std::vector<std::string> its_varying = {}) && {
    by_pointers = true;
    varying = std::move(its_varying);
    return std::move(*this);
  }
  /// By how much this output may differ from the baseline's. Default: KernelDefinition::VerifyWithin.
  Parameter Within(Tolerance its_tolerance) && {
    tolerance = its_tolerance;
    return std::move(*this);
  }
  /// A scalar, or a tensor that is read: with values for warm-ups by shape: Scalar<float>("eps").ForWarmup(1e-5f).
  /// Without them there are none for scalars, and for tensors of integers or truth values, and such a warm-up is
  /// refused.
  Parameter ForWarmup(WarmupFill fill) && {
    warmup = std::move(fill);
    return std::move(*this);
  }
};

/// For a tensor whose dtype must be that of the tensor parameter `tensor`, which says its own or takes any: checked at
/// each launch.
struct SameDTypeAs {
  explicit SameDTypeAs(std::string its_tensor) : tensor(std::move(its_tensor)) {}
  std::string tensor;
};

/// What a tensor parameter declares of its dtype: one, any, or that of another tensor.
struct DeclaredDType {
  DeclaredDType(DType its_dtype) : dtype(its_dtype) {}                    // NOLINT(google-explicit-constructor)
  DeclaredDType(SameDTypeAs other) : same_as(std::move(other.tensor)) {}  // NOLINT(google-explicit-constructor)
  DType dtype = DType::kAny;
  std::string same_as;
};

/// What a tensor parameter declares of one dimension: the name of a dim, or a constant extent.
struct DeclaredExtent {
  DeclaredExtent(std::string name) : text(std::move(name)) {}              // NOLINT(google-explicit-constructor)
  DeclaredExtent(const char* name) : DeclaredExtent(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  template <typename T,
            typename = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>>>
  DeclaredExtent(T constant) : text("=" + std::to_string(constant)) {}  // NOLINT(google-explicit-constructor)
  std::string text;                                                     ///< As Parameter::dims has it.
};

/// What a tensor parameter declares of its shape: {"M", 4}.
struct DeclaredShape {
  DeclaredShape(std::initializer_list<DeclaredExtent> extents) {
    for (const DeclaredExtent& extent : extents) dims.push_back(extent.text);
  }
  DeclaredShape(std::vector<std::string> names)  // NOLINT(google-explicit-constructor)
      : dims(std::move(names)) {}
  std::vector<std::string> dims;  ///< As Parameter::dims has them.
};

/// A tensor that the kernel only reads: In("x", kFloat16, {"M", "N"}). `shape`: one extent per dimension, outermost
/// first. A name that occurs twice, in any parameters, must have the same extent each time. A number, as in
/// {"N", 4}, is an extent that every launch must have; it is no dim and not part of the key. No extents: raw memory.
/// The dtype is checked at each launch; without one each dtype is taken, and is part of the key.
inline Parameter In(std::string name, DeclaredDType dtype, DeclaredShape shape) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.dims = std::move(shape.dims);
  parameter.dtype = dtype.dtype;
  parameter.same_dtype_as = std::move(dtype.same_as);
  return parameter;
}
/// A tensor that the kernel writes and does not read.
inline Parameter Out(std::string name, DeclaredDType dtype, DeclaredShape shape) {
  Parameter parameter = In(std::move(name), std::move(dtype), std::move(shape));
  parameter.access = Access::kOut;
  return parameter;
}
/// A tensor that the kernel reads and writes.
inline Parameter InOut(std::string name, DeclaredDType dtype, DeclaredShape shape) {
  Parameter parameter = In(std::move(name), std::move(dtype), std::move(shape));
  parameter.access = Access::kInOut;
  return parameter;
}
/// The same for tensors of any dtype: In("x", {"M", "N"}).
inline Parameter In(std::string name, DeclaredShape shape) {
  return In(std::move(name), DType::kAny, std::move(shape));
}
inline Parameter Out(std::string name, DeclaredShape shape) {
  return Out(std::move(name), DType::kAny, std::move(shape));
}
inline Parameter InOut(std::string name, DeclaredShape shape) {
  return InOut(std::move(name), DType::kAny, std::move(shape));
}
/// A number that the caller passes; exactly this dtype.
inline Parameter Scalar(std::string name, DType dtype) {
  Parameter parameter;
  parameter.kind = ParameterKind::kScalar;
  parameter.name = std::move(name);
  parameter.dtype = dtype;
  return parameter;
}
/// The same, of the dtype that a C++ type is passed as: Scalar<float>("eps").
template <typename T>
Parameter Scalar(std::string name) {
  return Scalar(std::move(name), ScalarDType<T>());
}
/// The value of the dim `dim`, as int32 (checked to fit) or int64.
inline Parameter DimValue(std::string dim, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDim;
  parameter.name = dim;
  parameter.dim = std::move(dim);
  parameter.dtype = dtype;
  return parameter;
}
/// The stride of a dimension of the tensor parameter `tensor`, in elements, as int32 (checked to fit) or int64; it is
/// not negative. Under the plain and Triton conventions a dimension whose stride the kernel does not take must lie
/// dense around the one inside it: CallingConvention says how. The parameter is named "x_stride_0", say.
inline Parameter StrideValue(std::string tensor, int dimension, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kStride;
  parameter.name = tensor + "_stride_" + std::to_string(dimension);
  parameter.tensor = std::move(tensor);
  parameter.dimension = dimension;
  parameter.dtype = dtype;
  return parameter;
}
/// A scalar `compute(config, problem)`; its C++ type decides what the kernel gets.
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
/// The value of a term, as int32 or int64. One that does not fit is the launch's error.
inline Parameter Derived(std::string name, Term value, DType dtype = DType::kInt32) {
  Parameter parameter;
  parameter.kind = ParameterKind::kDerived;
  parameter.name = std::move(name);
  parameter.dtype = dtype;
  parameter.term = std::move(value);
  return parameter;
}
/// Scratch memory of `bytes(config, problem)`, aligned to 256 bytes, contents undefined.
inline Parameter Workspace(std::string name, std::function<std::size_t(const Config&, const Problem&)> bytes) {
  Parameter parameter;
  parameter.kind = ParameterKind::kWorkspace;
  parameter.name = std::move(name);
  parameter.workspace_bytes = std::move(bytes);
  return parameter;
}
/// The same of as many bytes as a term says: Workspace("partial", 4 * CeilDiv("K", split) * "M"). A negative number is
/// the launch's error.
inline Parameter Workspace(std::string name, Term bytes) {
  Parameter parameter;
  parameter.kind = ParameterKind::kWorkspace;
  parameter.name = std::move(name);
  parameter.term = std::move(bytes);
  return parameter;
}
/// `bytes` (at most kMaxDescriptorBytes) passed by value, filled by `describe`.
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

/// The tensor parameter `tensor` as a CUtensorMap, passed by value (`const __grid_constant__ CUtensorMap`; on the CPU
/// device `tuneonce_tensor_map`). Encoded for each launch's address and shape, which is remembered:
///
///   Descriptor("a_map", "a", TensorMap{{tile_m, tile_k}})
///
/// The caller passes the tensor itself; a variant that takes the map in its place says so by Taking.
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
