#ifndef TUNEONCE_KERNEL_DEFINITION_H_
#define TUNEONCE_KERNEL_DEFINITION_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/geometry.h"
#include "tuneonce/hints.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/key.h"
#include "tuneonce/parameters.h"
#include "tuneonce/problem.h"
#include "tuneonce/result.h"
#include "tuneonce/search_space.h"
#include "tuneonce/tolerance.h"

namespace tuneonce {
inline namespace v0 {

/// How logical parameters become a kernel's parameters.
enum class CallingConvention {
  /// One kernel parameter per logical one, in order: a tensor is a pointer, so that its memory must be what the kernel
  /// computes addresses for. Of a tensor with dims that is row-major and dense, or by the strides that the kernel takes
  /// (StrideValue): a dimension whose stride it does not take has the stride of the one inside it times that one's
  /// extent, the innermost 1. Checked at each launch. A tensor without dims is as the caller has it.
  kPlain,
  /// cutile_python_v1: a tensor of rank n is base, n extents, n strides (in elements), int32 each.
  kCutilePython,
  /// As kPlain, and two null pointers behind: the global and profile scratch that kernels compiled by Triton 3.4 and
  /// newer take, for kernels that use neither.
  kTriton,
};

/// Something that code was compiled for, and that a launch's arguments must therefore be.
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
    // Implied by how the kernel takes its parameters, so that they need not be declared:
    kStrideFitsInt32,    ///< Where it takes a stride as an int32.
    kStrideNotNegative,  ///< Where it takes one as an int64.
    kExtentFitsInt32,
    // Declared. A kernel's identity has these numbers, so that new kinds come last.
    kExtentAtLeast,
    kScalarAtLeast,
  };

  Kind kind = Kind::kAligned;
  std::string tensor;      ///< Of kScalarIs, kScalarDivisibleBy and kScalarAtLeast the scalar.
  int dimension = 0;       ///< Of `tensor`; not for kAligned, kNoOverlap, kContiguous and scalars.
  std::int64_t value = 1;  ///< Bytes for kAligned, elements for strides, extents and divisors; kScalarIs: the number.
  std::string other;       ///< kNoOverlap: the other tensor.
  /// kScalarIs, where the value is given as a floating-point number: that.
  std::optional<double> real = std::nullopt;
  std::vector<DType> dtypes = {};  ///< kDTypeIn: those that the tensor may have.
};
/// The tensor's address is a multiple of `bytes`.
inline Assumption Aligned(std::string tensor, std::int64_t bytes) {
  return Assumption{Assumption::Kind::kAligned, std::move(tensor), 0, bytes, ""};
}
/// The stride of a dimension is this, or its extent is 1.
inline Assumption StrideIs(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kStrideIs, std::move(tensor), dimension, elements, ""};
}
inline Assumption StrideDivisibleBy(std::string tensor, int dimension, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kStrideDivisibleBy, std::move(tensor), dimension, divisor, ""};
}
/// The extent of a dimension is this: for code that has it as a constant. Variants for others may stand beside it.
inline Assumption ExtentIs(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kExtentIs, std::move(tensor), dimension, elements, ""};
}
inline Assumption ExtentDivisibleBy(std::string tensor, int dimension, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kExtentDivisibleBy, std::move(tensor), dimension, divisor, ""};
}
/// The extent of a dimension is this or more. Code for which an extent of 0 is undefined assumes at least 1.
inline Assumption ExtentAtLeast(std::string tensor, int dimension, std::int64_t elements) {
  return Assumption{Assumption::Kind::kExtentAtLeast, std::move(tensor), dimension, elements, ""};
}
/// The tensor is row-major without gaps; the stride of a dimension of extent 1 may be any. Goes without saying where
/// the kernel takes a bare pointer (CallingConvention).
inline Assumption Contiguous(std::string tensor) {
  return Assumption{Assumption::Kind::kContiguous, std::move(tensor), 0, 1, ""};
}
/// The tensor has one of these dtypes: for code of a tensor whose parameter leaves its dtype open (In("x", {"M",
/// "N"})), so that variants for several dtypes stand beside each other. Every key has such a dtype, so this costs a hit
/// nothing. A shape that does not say the tensor's dtype means the first dtype of the first variant that assumes one.
inline Assumption DTypeIn(std::string tensor, std::vector<DType> dtypes) {
  Assumption assumption{Assumption::Kind::kDTypeIn, std::move(tensor), 0, 1, ""};
  assumption.dtypes = std::move(dtypes);
  return assumption;
}
inline Assumption DTypeIs(std::string tensor, DType dtype) { return DTypeIn(std::move(tensor), {dtype}); }
/// The memory of the two tensors does not overlap.
inline Assumption NoOverlap(std::string tensor, std::string other) {
  return Assumption{Assumption::Kind::kNoOverlap, std::move(tensor), 0, 1, std::move(other)};
}

/// The scalar has this value: a truth value, a whole number, or of a floating-point scalar a number (which its dtype
/// holds, bit by bit: 0.0 is not -0.0). Where the key names the scalar (ValueOf) this costs a launch nothing.
template <typename T>
Assumption ScalarIs(std::string scalar, T value) {
  static_assert(std::is_arithmetic_v<T>, "a scalar is an int, float or bool");
  Assumption assumption{Assumption::Kind::kScalarIs, std::move(scalar), 0, 0, ""};
  if constexpr (std::is_integral_v<T>) assumption.value = static_cast<std::int64_t>(value);
  if constexpr (std::is_floating_point_v<T>) assumption.real = static_cast<double>(value);
  return assumption;
}
/// The scalar, of whole numbers, is a multiple of `divisor`.
inline Assumption ScalarDivisibleBy(std::string scalar, std::int64_t divisor) {
  return Assumption{Assumption::Kind::kScalarDivisibleBy, std::move(scalar), 0, divisor, ""};
}
/// The scalar, of whole numbers, is this or more.
inline Assumption ScalarAtLeast(std::string scalar, std::int64_t value) {
  return Assumption{Assumption::Kind::kScalarAtLeast, std::move(scalar), 0, value, ""};
}

/// Where a matrix product has its parts: C[M, N] = A[M, K] * B[K, N], by the names that the kernel gives them. With it
/// a model of matmuls can say which of many configs are worth measuring (KernelDefinition::Matmul).
struct MatmulParts {
  std::string a = "a", b = "b", c = "c";  ///< Tensors; their dtypes in a call are the precision.
  std::string m = "M", n = "N", k = "K";  ///< Dims.
  std::string batch;                      ///< A dim that counts equal products; empty: one.
  bool a_is_transposed = false;           ///< A lies in memory as [K, M].
  bool b_is_transposed = false;           ///< B lies in memory as [N, K].
  /// Axes of whole numbers: the tile that a block computes. All three must be there.
  std::string tile_m = "TILE_M", tile_n = "TILE_N", tile_k = "TILE_K";
  /// Axes that count where the space has them: stages of the pipeline, warps, parts of K, blocks per cluster.
  std::string num_stages = "num_stages", num_warps = "num_warps", split_k = "SPLIT_K", num_ctas = "num_ctas";
};

class KernelDefinition;

/// The arguments of one launch, as a launcher of the host's gets them (Variant::launcher): in a search the scratch and
/// copies that trials run on, else what the caller passed. By name, or by index in the definition's parameters.
///
/// Asking for what the kernel does not have gives nothing (memory at null, zero), and the launch is an error that names
/// it. A view, valid during the call. Thread rule: one thread.
class TUNEONCE_API CallArguments {
 public:
  /// `values`: by parameter, its TensorView or its scalar's bytes; `workspaces`: the address of each workspace
  /// parameter, in order. REQUIRES: all outlive it.
  CallArguments(const KernelDefinition& definition, const Problem& problem, const void* const* values,
                const std::uint64_t* workspaces)
      : definition_(&definition), problem_(&problem), values_(values), workspaces_(workspaces) {}

  const TensorView& tensor(std::size_t parameter) const;
  const TensorView& tensor(std::string_view name) const;
  /// Of a tensor that is declared ByPointers.
  const PointerTable& table(std::string_view name) const;
  /// A scalar that the caller passed. `T`: exactly its declared dtype's C++ type.
  template <typename T>
  T scalar(std::size_t parameter) const {
    T value{};
    if (const void* bytes = FindScalar(parameter, ScalarDType<T>())) std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  template <typename T>
  T scalar(std::string_view name) const {
    return scalar<T>(IndexOf(name, "scalar"));
  }
  /// Device memory of a Workspace parameter; null if its size is 0.
  void* workspace(std::string_view name) const;
  /// The value of a dim.
  std::int64_t dim(std::string_view name) const;
  const Problem& problem() const { return *problem_; }

  /// OK, or the first thing that was asked for in vain: InvalidArgument.
  const Status& Check() const { return mistake_; }

 private:
  std::size_t IndexOf(std::string_view name, const char* what) const;
  const void* FindScalar(std::size_t parameter, DType dtype) const;
  void NoteMistake(const std::string& what) const;

  const KernelDefinition* definition_;
  const Problem* problem_;
  const void* const* values_;
  const std::uint64_t* workspaces_;
  mutable Status mistake_;
};

/// One implementation of a kernel: source, hints and geometry as functions of config and problem. A definition can have
/// several. Of those that run on a target, a config is built by the first that compiles: a Tile IR variant with a PTX
/// one behind it, say. If the space has a string axis named `backend`, a config is built by the variants of the back
/// end that its value names and by no others, so that two back ends race.
///
/// Made of a source function, or by TileIrFiles, TileCpp, CudaCpp and HostCpp below; the setters say what differs from
/// the usual and can be chained.
struct TUNEONCE_API Variant {
  using SourceFn = std::function<KernelSource(const Config&, const Problem&)>;
  using HintsFn = std::function<Hints(const Config&)>;
  using LaunchFn = std::function<Status(CUstream, const Config&, const CallArguments&)>;

  Variant() = default;
  /// Named "default", for every target; its source is what `function` makes of (const Config&), or of (const Config&,
  /// const Problem&) where the code depends on dims, dtypes or the target.
  template <typename Function,
            typename = std::enable_if_t<std::is_invocable_v<Function, const Config&> ||
                                        std::is_invocable_v<Function, const Config&, const Problem&>>>
  explicit Variant(Function function) : name("default") {
    if constexpr (std::is_invocable_v<Function, const Config&>) {
      source = [function = std::move(function)](const Config& config, const Problem&) { return function(config); };
    } else {
      source = std::move(function);
    }
  }

  /// What results call it.
  Variant& Named(std::string its_name);
  /// The targets it runs on: OnGpu(), CapabilityRange(90, 90), a function of the caller's.
  Variant& On(TargetFilter targets);
  /// A grid pattern, or a function of (const Config&, const Problem&) that returns a whole Geometry. Default:
  /// KernelDefinition::Grid, so that most variants need none of their own.
  Variant& Grid(GeometryFn its_geometry);
  /// Threads per block, on the grid that it has. Not for Tile IR.
  Variant& Block(Term x, Term y = 1, Term z = 1);
  Variant& Assuming(std::vector<Assumption> its_assumptions);
  /// Which value of an axis `backend` builds configs by it: variants of one back end stand in for each other.
  Variant& Backend(std::string its_backend);
  /// The parameters that the kernel takes, in its order, by name. A dim may be among them: it is passed as int32
  /// (checked to fit), unless the definition declares it otherwise (DimValue).
  Variant& Taking(std::vector<std::string> names);
  /// Compiler hints that are more than the values of the config's hint axes.
  Variant& HintsBy(HintsFn function);
  Variant& Convention(CallingConvention its_convention);
  /// KernelSource::Include and KernelSource::Header of every source of it.
  Variant& Include(const std::string& folder);
  Variant& Header(std::string its_name, std::string text);
  /// Defines the macro `macro` as a C++ type (KernelSource::DefineType), or puts it into the kernel's name expression:
  /// that of a tensor's dtype in the call (DTypeOf("x")), or of an axis, whose values are dtypes' names ("float16") or
  /// C++ types as they stand. A dtype is part of the key in any case. Errors (Validate): it names no tensor parameter.
  Variant& DefineType(std::string macro, KeyPart of);
  Variant& DefineType(std::string macro, const Axis<std::string>& of);

  /// What `source` makes, with the types and the options that `config` and `problem` say. REQUIRES: `source` is set.
  KernelSource MakeSource(const Config& config, const Problem& problem) const;

  std::string name;     ///< Appears in results: "tile", "ptx", "cpu".
  std::string backend;  ///< Empty: as `name`.
  const std::string& BackendName() const { return backend.empty() ? name : backend; }
  /// False if the config has an axis "backend" that names other variants: then nothing of this one is asked for it.
  bool IsBackendOf(const Config& config) const;
  TargetFilter runs_on;  ///< Empty: everywhere.
  SourceFn source;
  /// Instead of `source`: the host's own launch of the config, for what no toolchain compiles (Callable).
  LaunchFn launcher;
  HintsFn hints;        ///< Empty: Hints::OfConfig.
  GeometryFn geometry;  ///< What it does not say, the definition's default says.
  CallingConvention convention = CallingConvention::kPlain;
  /// What its code takes for granted, besides extents and strides that fit its int32 parameters, and dense tensors
  /// where it takes bare pointers. A fast variant with assumptions may have a slower one behind it that has fewer: a
  /// launch whose arguments some variants do not suit has a key of its own, and is tuned for, warmed up and stored by
  /// those that do; aligned and unaligned shapes of one bucket do not share a choice. Where none suits it is an error.
  std::vector<Assumption> assumptions;
  /// Names of the definition's parameters that the kernel takes, in its order. Empty: all, in the definition's order.
  std::vector<std::string> parameters;
  /// A macro that is a type.
  struct TypeMacro {
    std::string macro;
    KeyPart of;  ///< DTypeOf a tensor, where `axis` is empty.
    std::optional<Axis<std::string>> axis;
    int parameter = -1;  ///< The tensor's index; known from Validate on.
  };
  std::vector<TypeMacro> types;  ///< DefineType says them.
};

/// A variant that the host launches itself: instances of a template library, algorithms of a vendor's library, what
/// engines call tactics. Its configs race with compiled ones, are verified like them, and are remembered by config.
///
/// `launcher` puts the config's work into the stream, which may be capturing, and returns; on the tensors that it is
/// given, which in a search are not the caller's. It may be called from several threads at once. What it returns or
/// throws fails the candidate, or is the launch's error. It takes all parameters, and tensors as kPlain has them; it
/// has no hints and no geometry, and gets no Derived, Stride or Descriptor values:
///
///   definition.AddVariant(Callable([=](CUstream stream, const Config& config, const CallArguments& arguments) {
///     return RunMyGemm(stream, config[algorithm], arguments.tensor("a").data, arguments.tensor("b").data,
///                      arguments.tensor("c").data, arguments.dim("M"), arguments.dim("N"), arguments.dim("K"));
///   }));
///
/// What it does cannot be hashed: of it a record's key has the kernel's and the variant's name and the kernel's version
/// alone, so that a launcher which is changed needs a new version.
inline Variant Callable(Variant::LaunchFn launcher, std::string name = "callable") {
  Variant variant;
  variant.name = std::move(name);
  variant.launcher = std::move(launcher);
  return variant;
}

/// Code that was compiled ahead, and what for.
struct Precompiled {
  std::vector<AxisAssignment> config;  ///< The values it was compiled for; an axis that is not named may have any.
  KernelSource source;                 ///< KernelSource::FromFile or KernelSource::Cubin.
};

/// A variant of precompiled code: cubins or fatbins, on the CPU device shared objects. Files in, a tuned launch out:
///
///   KernelDefinition("matmul")
///       .Parameters({In("a", {"M", "K"}), In("b", {"K", "N"}), Out("c", {"M", "N"})})
///       .Space(space)
///       .Grid(Grid::TileCoverage({{"M", m}, {"N", n}}))
///       .AddVariant(Cubins("matmul.{TILE_M}x{TILE_N}.cubin", "matmul"));
///
/// A config is built by the first that was compiled for it; one that none was compiled for fails to compile, in words.
TUNEONCE_API Variant Cubins(std::vector<Precompiled> kernels);
/// The same from files named by the config: "matmul.{TILE_M}x{TILE_N}.cubin" stands for "matmul.128x64.cubin",
/// beginning at the directory that is current now. In `symbol`, too, an axis in braces stands for its value. A config
/// whose file is missing fails to compile, by its name. The files are read again for each search and each record that
/// is looked up.
TUNEONCE_API Variant Cubins(std::string file_pattern, std::string symbol);

/// CUDA Tile IR bytecode in files, as Cubins has its own: one for each combination of structural values, as exporters
/// write them. `symbol` may be empty where each file has one kernel. For GPUs, named "tile", called as cuTile calls its
/// kernels (CallingConvention::kCutilePython). What the code was exported to assume must be declared by
/// Variant::Assuming. The library reads what the bytecode assumes of its parameters (`assume` operations), and passes
/// over a variant that assumes more than is declared.
TUNEONCE_API Variant TileIrFiles(std::string file_pattern, std::string symbol = "");
/// CUDA C++, compiled by NVRTC; each structural axis is a macro of its name (not `backend`). `symbol`: the kernel's
/// name, `softmax_{AXIS}` with an axis's value, or an instance of a template, `ns::reduce<BLOCK, float>`, in which axes
/// stand for their values, and are no macros then (KernelSource::symbol). For GPUs, named "cuda".
TUNEONCE_API Variant CudaCpp(std::string content, std::string symbol);
/// The same with these axes as macros and no others.
TUNEONCE_API Variant CudaCpp(std::string content, std::string symbol, std::vector<std::string> axes);
/// CUDA Tile C++ (`__tile_global__` functions, cuda_tile.h), compiled by NVRTC 13.3 or newer and tileiras, with macros
/// and instances as CudaCpp has them. Its hint axes replace the hints that the text has, and cost no further run of
/// NVRTC. The grid is in tiles, and the block is (1, 1, 1). For GPUs, named "tile_cpp".
TUNEONCE_API Variant TileCpp(std::string content, std::string symbol);
TUNEONCE_API Variant TileCpp(std::string content, std::string symbol, std::vector<std::string> axes);
/// C++ for the CPU device (tuneonce/cpu_device/kernel.h), with macros as CudaCpp has them. For that device, named
/// "cpu".
TUNEONCE_API Variant HostCpp(std::string content, std::string symbol);
TUNEONCE_API Variant HostCpp(std::string content, std::string symbol, std::vector<std::string> axes);

/// A kernel as everything in this library sees it: search, TunedKernel, bundle and worker all take this one value.
///
/// Built by chained calls; mistakes are kept and returned by Validate, so that building needs no error handling.
/// Copyable. Thread rule: build on one thread; const use from any. Its functions run on the caller's thread. They must
/// depend on their arguments only: where a key decides dims and dtypes, geometry and guards are computed once per key.
class TUNEONCE_API KernelDefinition {
 public:
  /// `name` identifies the kernel in keys and records.
  explicit KernelDefinition(std::string name);

  /// What a stored choice also belongs to. Sources, configs and hints are part of its key in any case; other functions
  /// (geometry, derived values, guards) cannot be hashed: where one of them changes meaning, so must the version.
  /// Default: none, which is fine while no such function has changed.
  KernelDefinition& Version(std::string version);

  /// The dims in an order of the caller's, for who reads them by handle: `Dim{i}` is the i-th. Default (never called):
  /// in the order in which they first appear in the parameters' shapes. Errors (Validate): a name that is in no shape,
  /// a shape's that is missing here.
  KernelDefinition& DimsInOrder(std::vector<std::string> names);
  /// What decides which config a launch gets. Default (never called): every dim exactly. Every tensor's dtype is part
  /// of it too, whether named or not.
  template <typename... Parts>
  KernelDefinition& Key(Parts... parts) {
    key_ = {std::move(parts)...};
    has_key_ = true;
    return *this;
  }
  KernelDefinition& Key(std::vector<KeyPart> parts) {
    key_ = std::move(parts);
    has_key_ = true;
    return *this;
  }
  KernelDefinition& Parameters(std::vector<Parameter> parameters);
  KernelDefinition& Space(SearchSpace space);
  /// The geometry of all variants that do not say their own: a grid pattern, with a block of (1, 1, 1) where no variant
  /// says another, or a function.
  KernelDefinition& Grid(GeometryFn geometry);
  /// Another implementation; those before it are preferred. At most kMaxVariants.
  KernelDefinition& AddVariant(Variant variant);
  static constexpr std::size_t kMaxVariants = 32;
  /// By how much outputs may differ from the baseline's when candidates are verified, but for those that say it
  /// themselves (Parameter::Within). Default: Tolerance::Of each output's dtype.
  KernelDefinition& VerifyWithin(Tolerance tolerance);
  /// The order in which the kernel adds up its results is not fixed (split-K, atomics): one right run does not show
  /// that the next one is right, so candidates are verified three times.
  KernelDefinition& Unordered();
  /// What one run must move and compute at least, for the roofline: bytes of memory traffic, and operations (a fused
  /// multiply-add is two). Either may be null.
  using WorkFn = std::function<double(const Problem&)>;
  KernelDefinition& Work(WorkFn bytes, WorkFn operations);
  /// The kernel is a matmul. Where its space has more configs for a problem than SearchOptions::max_proposed, and
  /// nvMatmulHeuristics is there, a search tries those that it proposes, and the baseline, in place of all;
  /// docs/spaces.md says how they are found. Errors (Validate): a part that the kernel does not have.
  KernelDefinition& Matmul(MatmulParts parts = {});
  const std::optional<MatmulParts>& matmul() const { return matmul_; }
  /// Records that come along with the kernel, as a precompiled bundle has them: a TunedKernel looks them up under those
  /// of its store. Empty (default): none.
  KernelDefinition& ShippedDecisions(std::string records) {
    shipped_decisions_ = std::move(records);
    return *this;
  }
  const std::string& shipped_decisions() const { return shipped_decisions_; }

  /// Checks everything that can be checked without a device, and resolves names to indices. Errors: InvalidArgument,
  /// starting with the kernel's name. Must be called before the functions below (TunedKernel and search do it).
  Status Validate();

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::vector<std::string>& dims() const { return dims_; }
  const std::vector<KeyPart>& key() const { return key_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const SearchSpace& space() const { return space_; }
  const std::vector<Variant>& variants() const { return variants_; }
  /// For an output that has this dtype in a call.
  Tolerance ToleranceOf(const Parameter& output, DType dtype) const {
    if (output.tolerance) return *output.tolerance;
    return has_tolerance_ ? tolerance_ : Tolerance::Of(dtype);
  }
  bool is_unordered() const { return is_unordered_; }
  /// Of one run; 0 where it was not given.
  double WorkBytes(const Problem& problem) const { return work_bytes_ ? work_bytes_(problem) : 0; }
  double WorkOperations(const Problem& problem) const { return work_operations_ ? work_operations_(problem) : 0; }

  /// The variants that run on `target`, in order of preference; at least one. Errors: Unimplemented, listing those
  /// there are.
  Result<std::vector<const Variant*>> VariantsFor(const Target& target) const;
  /// What names in terms mean: dims and scalars.
  TermNames term_names() const;
  /// `problem` as a function may see it whose result serves all launches of a key: without the values of scalars that
  /// the key does not name, with dims that the key rounds at their bound, and with those that it omits at 1.
  Problem DecidedByKey(const Problem& problem) const;
  /// The dims that differ between launches of one key: those that the key rounds (NextPow2, Buckets, Nearest) or omits.
  std::vector<Dim> DimsUndecidedByKey() const;
  /// The handle of the dim `name`. REQUIRES: it is one of dims().
  Dim DimOf(const std::string& name) const;
  /// The index of the parameter `name`; empty if there is none.
  std::optional<std::size_t> FindParameter(const std::string& name) const;
  /// "M=4096, N=1024".
  std::string DimsString(const Dims& dims) const;

 private:
  void NameDims();
  void CompleteVariants();
  Status CheckNames() const;
  Status CheckParameters() const;
  Status CheckStrides() const;
  Status ResolveTerms();
  Status ResolveDescriptor(Parameter* parameter) const;
  Status ResolveDTypes();
  Status ResolveTypes(Variant* variant) const;
  Status CheckOptionAxes() const;
  Status CheckMatmul() const;
  void CompleteKey();
  Status CheckKey() const;

  std::string name_;
  std::string version_;
  std::vector<std::string> dims_;
  bool has_dim_order_ = false;
  GeometryFn geometry_;
  bool has_key_ = false;
  std::vector<KeyPart> key_;
  std::vector<Parameter> parameters_;
  SearchSpace space_;
  std::vector<Variant> variants_;
  bool has_tolerance_ = false;
  Tolerance tolerance_;
  bool is_unordered_ = false;
  WorkFn work_bytes_;
  WorkFn work_operations_;
  std::string shipped_decisions_;
  std::optional<MatmulParts> matmul_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_DEFINITION_H_
