#ifndef TUNEONCE_KERNEL_DEFINITION_H_
#define TUNEONCE_KERNEL_DEFINITION_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/geometry.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/parameters.h"
#include "tuneonce/result.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

/// How the parameters of a definition are passed to the compiled kernel.
enum class CallingConvention {
  /// The kernel has one parameter for each declared parameter, in the same order. A tensor is passed as a pointer, so
  /// its memory must lie as the kernel computes addresses: row-major without gaps, or with the strides that the kernel
  /// takes (StrideValue). A dimension whose stride the kernel does not take has the stride of the next inner dimension
  /// times that dimension's extent, and the innermost one has stride 1. Each launch checks the strides, and skips the
  /// variant if they differ. A tensor that is declared without dims may have any layout.
  kPlain,
  /// The convention cutile_python_v1 of cuTile Python. A tensor of rank n is passed as its address, n extents and n
  /// strides. Extents and strides are in elements, as int32. A launch skips the variant if one of them does not fit
  /// int32 (Assumption).
  kCutilePython,
  /// The parameters of kPlain, followed by two null pointers. Kernels compiled by Triton 3.4 and newer take a global
  /// and a profile scratch buffer there, and this convention is for kernels that use neither.
  kTriton,
};

class KernelDefinition;

/// The arguments of one launch, as a launcher function receives them (Variant::launcher). In a search they are the
/// scratch memory and copies that trials run on, otherwise what the caller passed. They are found by name, or by index
/// in the definition's parameters.
///
/// Asking for something that the kernel does not have returns a null or zero value, and the launch fails with an error
/// that names it. The object is a view and is valid during the call of the launcher. Thread rule: use it on one thread.
class TUNEONCE_API CallArguments {
 public:
  /// Makes a view. `values` has, for each parameter, its TensorView or its scalar's bytes. `workspaces` has the address
  /// of each workspace parameter, in order. REQUIRES: all of them outlive the object.
  CallArguments(const KernelDefinition& definition, const Problem& problem, const void* const* values,
                const std::uint64_t* workspaces)
      : definition_(&definition), problem_(&problem), values_(values), workspaces_(workspaces) {}

  /// Returns a tensor by its index in the definition's parameters.
  const TensorView& tensor(std::size_t parameter) const;
  /// Returns a tensor by the name of its parameter.
  const TensorView& tensor(std::string_view name) const;
  /// Returns the pointer table of a tensor that is declared ByPointers. For another parameter it returns an empty
  /// table, and Check returns the error.
  const PointerTable& table(std::string_view name) const;
  /// Returns a scalar that the caller passed, by its index in the definition's parameters. `T` must be exactly the C++
  /// type of the declared dtype. Otherwise it returns 0, and Check returns the error.
  template <typename T>
  T scalar(std::size_t parameter) const {
    T value{};
    if (const void* bytes = FindScalar(parameter, ScalarDType<T>())) std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  /// Returns a scalar by the name of its parameter. `T` must be exactly the C++ type of the declared dtype. Otherwise
  /// it returns 0, and Check returns the error.
  template <typename T>
  T scalar(std::string_view name) const {
    return scalar<T>(IndexOf(name, "scalar"));
  }
  /// Returns the device memory of a Workspace parameter, or null if its size is 0.
  void* workspace(std::string_view name) const;
  /// Returns the value of a dim.
  std::int64_t dim(std::string_view name) const;
  /// Returns the dims, dtypes, scalars and target of the launch.
  const Problem& problem() const { return *problem_; }

  /// Returns OK, or InvalidArgument for the first call of a function above that asked for something that the kernel
  /// does not have, or in another type.
  const Status& Check() const { return mistake_; }

 private:
  std::size_t IndexOf(std::string_view name, const char* what) const;
  const void* FindScalar(std::size_t parameter, DType dtype) const;
  TUNEONCE_LOCAL void NoteMistake(const std::string& what) const;

  const KernelDefinition* definition_;
  const Problem* problem_;
  const void* const* values_;
  const std::uint64_t* workspaces_;
  mutable Status mistake_;
};

/// One implementation of a kernel: its source, hints and geometry, which are functions of config and problem. A
/// definition can have several. Each config is built by the first variant that runs on the target and compiles, so that
/// a Tile IR variant can be followed by a PTX variant. If the space has a string axis named `backend`, a config is
/// built only by the variants of the back end that its value names, so that two back ends compete in the search.
///
/// A variant is made from a source function, or by TileIrFiles, TileCpp, CudaCpp and CpuCpp below. Its setters can be
/// chained.
struct TUNEONCE_API Variant {
  using SourceFn = std::function<KernelSource(const Config&, const Problem&)>;
  using HintsFn = std::function<Hints(const Config&)>;
  using LaunchFn = std::function<Status(CUstream, const Config&, const CallArguments&)>;

  Variant() = default;
  /// Makes a variant named "default" for every target. `function` returns the source for a config: it takes (const
  /// Config&), or (const Config&, const Problem&) if the code depends on dims, dtypes or the target.
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

  /// Sets the name of the variant in results.
  Variant& Named(std::string new_name) {
    name = std::move(new_name);
    return *this;
  }
  /// Sets the targets that the variant runs on: OnGpu(), CapabilityRange(90, 90), or another condition that only reads
  /// the target. Default: all targets.
  Variant& ForTarget(Condition targets) {
    runs_on = std::move(targets);
    return *this;
  }
  /// Sets a grid pattern, or a function of (const Config&, const Problem&) that returns a whole Geometry. Default: the
  /// geometry of KernelDefinition::Grid, which most variants share.
  Variant& Grid(GeometryFn launch_geometry) {
    launch_geometry.Default(geometry);  // Keeps a Block that was set before.
    geometry = std::move(launch_geometry);
    return *this;
  }
  /// Sets the threads per block in each dimension, and keeps the grid. Tile IR and CUDA Tile C++ require (1, 1, 1), the
  /// default. Errors (Validate): the geometry is a function.
  Variant& Block(Term x, Term y = 1, Term z = 1) {
    geometry.Block(std::move(x), std::move(y), std::move(z));
    return *this;
  }
  /// Adds a condition of the configs and arguments that the variant may run for. It may depend on the config:
  ///
  ///   variant.Requires(vec == 1 || Aligned("x", 4 * vec))
  ///
  /// A launch never runs a config by this variant if the condition does not hold, whether the config was tuned, stored,
  /// pinned or is a fallback. Parts without axes (`Aligned("x", 16) && D("N") % 8 == 0`) select the variant, like the
  /// member `assumptions`. Parts about tensors that depend on the config decide the key: the key records which of them
  /// fail, and is tuned over the configs that it suits. The other parts (of dims, scalars, the device, or a C++
  /// function) are asked when tuning and at each launch, like a guard of the space. Errors (Validate): an unknown name,
  /// an assumption about an unknown tensor, a part that combines assumptions with a function or the device, and more
  /// than kMaxVariants variants and parts that decide the key.
  Variant& Requires(Condition condition);
  /// Adds to what the code assumes of a launch's arguments; see the member `assumptions`. Requires(a && b) is the same
  /// for assumptions a and b.
  Variant& Assuming(std::vector<Assumption> assumed) {
    for (Assumption& each : assumed) assumptions.push_back(std::move(each));
    return *this;
  }
  /// Makes this variant build only the configs whose axis `backend` has the value `backend_name` (default: the
  /// variant's name). If several variants have the same back end, the first that suits the target and the arguments is
  /// used.
  Variant& Backend(std::string backend_name) {
    backend = std::move(backend_name);
    return *this;
  }
  /// Sets the names of the parameters that the kernel takes, in the order of the kernel's own parameters. A name may
  /// also be that of a dim, which is passed as int32 (checked to fit), unless the definition declares it otherwise
  /// (DimValue). An unknown name is an InvalidArgument error, which a search or launch returns.
  Variant& KernelArgs(std::vector<std::string> names) {
    parameters = std::move(names);
    return *this;
  }
  /// Sets the function that returns the compiler hints of a config. It replaces Hints::OfConfig, so it must also return
  /// the values of the config's hint axes if they are to apply.
  Variant& HintsBy(HintsFn function) {
    hints = std::move(function);
    return *this;
  }
  /// Sets how the kernel takes its parameters. Default: kPlain.
  Variant& Convention(CallingConvention new_convention) {
    convention = new_convention;
    return *this;
  }
  /// Adds a folder of headers to every source of the variant (KernelSource::Include).
  Variant& Include(const std::string& folder);
  /// Adds an in-memory header to every source of the variant (KernelSource::Header).
  Variant& Header(std::string header_name, std::string text);
  /// Defines the macro `macro` as the C++ type of a tensor's dtype in the launch (KernelSource::DefineType). In the
  /// kernel's name expression the type replaces the macro. `of` is DTypeOf("x") for a tensor `x`, whose dtype is part
  /// of the key in any case. Errors (Validate): `of` names no tensor parameter.
  Variant& DefineType(std::string macro, KeyPart of) {
    types.push_back(TypeMacro{std::move(macro), std::move(of), std::nullopt});
    return *this;
  }
  /// Defines the macro `macro` as the C++ type that the value of the axis `of` names: a dtype ("float16") or a C++
  /// type, which is copied unchanged.
  Variant& DefineType(std::string macro, const Axis<std::string>& of) {
    types.push_back(TypeMacro{std::move(macro), KeyPart(), of});
    return *this;
  }

  /// Returns the result of `source` for this config and problem, with the macros of types and option axes added.
  /// REQUIRES: `source` is set.
  TUNEONCE_LOCAL KernelSource MakeSource(const Config& config, const Problem& problem) const;

  std::string name;     ///< The variant's name in results: "tile", "ptx", "cpu".
  std::string backend;  ///< The variant's back end. Empty: `name`.
  const std::string& BackendName() const { return backend.empty() ? name : backend; }
  /// Returns whether this variant may build the config. It is false if the config has an axis "backend" whose value
  /// names other variants, and then none of this variant's functions is called for the config.
  TUNEONCE_LOCAL bool IsBackendOf(const Config& config) const;
  Condition runs_on;  ///< The targets that the variant runs on. Default: all.
  /// Returns the source of a config.
  SourceFn source;
  /// Launches a config, in place of `source`, for code that no toolchain compiles (Callable).
  LaunchFn launcher;
  HintsFn hints;        ///< Returns the compiler hints of a config. Empty: Hints::OfConfig.
  GeometryFn geometry;  ///< The geometry of a config. Parts that are not set come from KernelDefinition::Grid.
  /// How the kernel takes its parameters.
  CallingConvention convention = CallingConvention::kPlain;
  /// What the code assumes of a launch's arguments. Some assumptions are implied: extents and strides fit the kernel's
  /// int32 parameters, and tensors are dense where it takes bare pointers. A fast variant with assumptions may be
  /// followed by a slower one with fewer. A launch whose arguments violate the assumptions of some variants has a key
  /// of its own, which is tuned, warmed up and stored with the other variants, so that aligned and unaligned shapes of
  /// one bucket have separate configs. A launch that no variant accepts returns an error.
  std::vector<Assumption> assumptions;
  /// The conditions of Requires, without those that are in `assumptions`.
  Condition requirement;
  /// Names of the definition's parameters that the kernel takes, in the kernel's order. Empty: all, in the definition's
  /// order.
  std::vector<std::string> parameters;
  /// A macro that stands for a C++ type.
  struct TypeMacro {
    std::string macro;
    KeyPart of;  ///< The result of DTypeOf for a tensor. Used if `axis` is empty.
    std::optional<Axis<std::string>> axis;
    int parameter = -1;  ///< Index of the tensor's parameter. Set by Validate.
  };
  std::vector<TypeMacro> types;  ///< The macros that DefineType added.
};

/// Makes a variant whose code the function `launcher` launches: an instance of a template library or an algorithm of a
/// vendor's library, which inference engines call a tactic. Its configs are measured, verified and stored like those of
/// compiled variants.
///
/// `launcher` enqueues the config's work on the stream, which may be capturing, and returns with the context current
/// that was current. It works on the tensors that it receives, which in a search are not the caller's. It may be called
/// from several threads at once. An error or exception from it fails the candidate, or is the error of the launch. It
/// receives all tensors (which must lie as in kPlain), scalars, dims and workspaces, but no Derived, Stride or
/// Descriptor values. The variant has no hints and no geometry:
///
///   definition.AddVariant(Callable([=](CUstream stream, const Config& config, const CallArguments& arguments) {
///     return RunMyGemm(stream, config[algorithm], arguments.tensor("a").data, arguments.tensor("b").data,
///                      arguments.tensor("c").data, arguments.dim("M"), arguments.dim("N"), arguments.dim("K"));
///   }));
///
/// The behaviour of a launcher cannot be hashed. A record's key contains only the names of kernel and variant and the
/// kernel's version, so a launcher that changes needs a new version.
inline Variant Callable(Variant::LaunchFn launcher, std::string name = "callable") {
  Variant variant;
  variant.name = std::move(name);
  variant.launcher = std::move(launcher);
  return variant;
}

/// Code that was compiled ahead, and the config values that it was compiled for.
struct Precompiled {
  /// The values that it was compiled for. An axis that is not listed may have any value.
  std::vector<AxisAssignment> config;
  KernelSource source;  ///< KernelSource::FromFile or KernelSource::Cubin.
};

/// Makes a variant from precompiled code: cubins or fatbins, and shared objects on the CPU device.
///
///   KernelDefinition("matmul")
///       .Parameters({In("a", {"M", "K"}), In("b", {"K", "N"}), Out("c", {"M", "N"})})
///       .Space(space)
///       .Grid(Grid::TileCoverage({{"M", m}, {"N", n}}))
///       .AddVariant(Cubins("matmul.{TILE_M}x{TILE_N}.cubin", "matmul"));
///
/// A config is built by the first entry that was compiled for it. A config without an entry fails to compile with an
/// error that names it.
TUNEONCE_API Variant Cubins(std::vector<Precompiled> kernels);
/// Makes a variant from files of precompiled code whose names contain values of the config:
/// "matmul.{TILE_M}x{TILE_N}.cubin" stands for "matmul.128x64.cubin". Paths are relative to the directory that is
/// current at this call. An axis in braces also stands for its value in `symbol`. A config whose file is missing fails
/// to compile with an error that names the file. The files are read again for each search and for each record that is
/// looked up.
TUNEONCE_API Variant Cubins(std::string file_pattern, std::string symbol);

/// Makes a variant from files of CUDA Tile IR bytecode, one for each combination of structural values. In
/// `file_pattern` and `symbol` an axis in braces stands for its value ("matmul.{TILE_M}.tileir"). `symbol` may be empty
/// if each file has one kernel. The variant is for GPUs, is named "tile", and is called as cuTile calls its kernels
/// (CallingConvention::kCutilePython). Assumptions that the code was exported with must be declared by
/// Variant::Assuming. The library reads the assumptions in the bytecode (`assume` operations), and skips a variant that
/// assumes more than is declared.
TUNEONCE_API Variant TileIrFiles(std::string file_pattern, std::string symbol = "");
/// Makes a variant from a C++ source (KernelSource::CudaCpp, TileCpp, CpuCpp, or FromFile of these kinds). Axes become
/// macros: those named in `axes`, or without it each structural axis except `backend`. An axis in braces stands for its
/// value in the source's symbol. The functions CudaCpp, TileCpp and CpuCpp below describe the variants of each kind.
/// REQUIRES: IsCpp(source.kind).
TUNEONCE_API Variant CppVariant(KernelSource source, std::optional<std::vector<std::string>> axes = std::nullopt);
/// Makes a variant from CUDA C++ source text, compiled by NVRTC. Each structural axis except `backend` is a macro of
/// its name. `symbol` is the function's name in the text, a name that contains an axis's value (`softmax_{AXIS}`), or
/// an instance of a template (`ns::reduce<BLOCK, float>`) in which axes stand for their values and are not defined as
/// macros (KernelSource::symbol). The variant is for GPUs and is named "cuda".
inline Variant CudaCpp(std::string content, std::string symbol) {
  return CppVariant(KernelSource::CudaCpp(std::move(content), std::move(symbol)));
}
/// Makes a variant from CUDA C++ source text, in which only the axes named in `axes` become macros. It is otherwise the
/// variant of CudaCpp(content, symbol).
inline Variant CudaCpp(std::string content, std::string symbol, std::vector<std::string> axes) {
  return CppVariant(KernelSource::CudaCpp(std::move(content), std::move(symbol)), std::move(axes));
}
/// Makes the variant of CudaCpp(content, symbol) from the text of the file `path`, which is read at this call.
/// `#include "name"` looks in the file's folder first. If the file cannot be read, each config fails to compile with an
/// error that names the file.
inline Variant CudaCppFile(const std::string& path, std::string symbol) {
  return CppVariant(KernelSource::FromFile(SourceKind::kCudaCpp, path, std::move(symbol)));
}
/// Makes a variant from CUDA Tile C++ source text (`__tile_global__` functions, cuda_tile.h), compiled by NVRTC 13.3 or
/// newer and tileiras. Axes become macros, and `symbol` names the kernel, as in CudaCpp. The config's hint axes replace
/// the hints in the text and need no further run of NVRTC. The grid counts tile blocks, and the block is (1, 1, 1). The
/// variant is for GPUs and is named "tile_cpp".
inline Variant TileCpp(std::string content, std::string symbol) {
  return CppVariant(KernelSource::TileCpp(std::move(content), std::move(symbol)));
}
/// Makes a variant from CUDA Tile C++ source text, in which only the axes named in `axes` become macros. It is
/// otherwise the variant of TileCpp(content, symbol).
inline Variant TileCpp(std::string content, std::string symbol, std::vector<std::string> axes) {
  return CppVariant(KernelSource::TileCpp(std::move(content), std::move(symbol)), std::move(axes));
}
/// Makes the variant of TileCpp(content, symbol) from the text of the file `path`, which is read at this call. If the
/// file cannot be read, each config fails to compile with an error that names the file.
inline Variant TileCppFile(const std::string& path, std::string symbol) {
  return CppVariant(KernelSource::FromFile(SourceKind::kTileCpp, path, std::move(symbol)));
}
/// Makes a variant from C++ source text for the CPU device (tuneonce/cpu_device/kernel.h). Axes become macros, and
/// `symbol` names the function in the text, as in CudaCpp. The variant is for that device only and is named "cpu".
inline Variant CpuCpp(std::string content, std::string symbol) {
  return CppVariant(KernelSource::CpuCpp(std::move(content), std::move(symbol)));
}
/// Makes a variant from C++ source text for the CPU device, in which only the axes named in `axes` become macros. It is
/// otherwise the variant of CpuCpp(content, symbol).
inline Variant CpuCpp(std::string content, std::string symbol, std::vector<std::string> axes) {
  return CppVariant(KernelSource::CpuCpp(std::move(content), std::move(symbol)), std::move(axes));
}

/// The description of a kernel that searches, TunedKernel and bundles use: its parameters, key, search space, geometry
/// and variants.
///
/// A definition is built by chained calls. Mistakes are kept and returned by Validate, so that building needs no error
/// handling. Copyable. Thread rule: build it on one thread, and call const functions from any thread. Its functions run
/// on the caller's thread. They must depend on their arguments only: where a key decides dims and dtypes, geometry and
/// guards are computed once per key.
class TUNEONCE_API KernelDefinition {
 public:
  /// `name` identifies the kernel in keys and records.
  explicit KernelDefinition(std::string name) : name_(std::move(name)) {}

  /// Sets a version that stored configs belong to. Sources, configs and hints are part of a record's key in any case.
  /// Other functions (geometry, derived values, guards) cannot be hashed, so the version must change when the meaning
  /// of one of them changes. Default: none, which is correct while no such function has changed.
  KernelDefinition& Version(std::string version) {
    version_ = std::move(version);
    return *this;
  }

  /// Sets the order of the dims, for code that reads them by handle: `Dim{i}` is the i-th. Default (never called): the
  /// order in which they first appear in the parameters' shapes. Errors (Validate): a name that is in no shape, or a
  /// name of a shape that is missing here.
  KernelDefinition& DimsInOrder(std::vector<std::string> names) {
    dims_ = std::move(names);
    has_dim_order_ = true;
    return *this;
  }
  /// Sets what decides which config a launch gets. Default (never called): the exact value of every dim. Every tensor's
  /// dtype is part of the key, whether it is listed or not.
  template <typename... Parts>
  KernelDefinition& Key(Parts... parts) {
    key_ = {std::move(parts)...};
    has_key_ = true;
    return *this;
  }
  /// Sets the parts of the key from a list.
  KernelDefinition& Key(std::vector<KeyPart> parts) {
    key_ = std::move(parts);
    has_key_ = true;
    return *this;
  }
  /// Sets the parameters, in the order in which a launch passes its arguments.
  KernelDefinition& Parameters(std::vector<Parameter> parameters);
  /// Sets the search space.
  KernelDefinition& Space(SearchSpace space) {
    space_ = std::move(space);
    return *this;
  }
  /// Sets the geometry of all variants that have none of their own: a grid pattern, or a function of (const Config&,
  /// const Problem&). With a pattern the block is (1, 1, 1) unless a variant sets another one.
  KernelDefinition& Grid(GeometryFn geometry) {
    geometry_ = std::move(geometry);
    return *this;
  }
  /// Adds an implementation. Earlier variants are preferred. Validate returns InvalidArgument for more than
  /// kMaxVariants.
  KernelDefinition& AddVariant(Variant variant) {
    variants_.push_back(std::move(variant));
    return *this;
  }
  TUNEONCE_LOCAL static constexpr std::size_t kMaxVariants = 32;
  /// Sets by how much outputs may differ from the baseline's when candidates are verified, except outputs with a
  /// tolerance of their own (Parameter::Within). Default: Tolerance::Of each output's dtype.
  KernelDefinition& VerifyWithin(Tolerance tolerance) {
    has_tolerance_ = true;
    tolerance_ = tolerance;
    return *this;
  }
  /// Declares that the kernel adds up its results in no fixed order (split-K, atomics). One correct run does not show
  /// that the next one is correct, so candidates are verified three times.
  KernelDefinition& Unordered() {
    is_unordered_ = true;
    return *this;
  }
  /// Returns what one run must move (bytes of memory traffic) or compute (operations; a fused multiply-add counts as
  /// two) at least, for the roofline.
  using WorkFn = std::function<double(const Problem&)>;
  /// Sets the minimum bytes and operations of one run. Either function may be null, or return NaN for unknown.
  KernelDefinition& Work(WorkFn bytes, WorkFn operations) {
    work_bytes_ = std::move(bytes);
    work_operations_ = std::move(operations);
    return *this;
  }
  /// Sets the records that are shipped with the kernel. A precompiled bundle calls this with its records in encoded
  /// form. A TunedKernel looks them up after those of its store. Empty (default): none.
  KernelDefinition& ShippedSelections(std::string records) {
    shipped_selections_ = std::move(records);
    return *this;
  }
  const std::string& shipped_selections() const { return shipped_selections_; }

  /// Checks everything that can be checked without a device, and resolves names to indices. It must be called before
  /// the functions below, which TunedKernel and search do. Errors: InvalidArgument, starting with the kernel's name.
  Status Validate();

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::vector<std::string>& dims() const { return dims_; }
  const std::vector<KeyPart>& key() const { return key_; }
  /// Returns the key's part `index` with this value as text, as KeyPart::ToString does.
  TUNEONCE_LOCAL std::string KeyPartText(std::size_t index, std::uint64_t word) const;
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const SearchSpace& space() const { return space_; }
  const std::vector<Variant>& variants() const { return variants_; }
  /// Returns the tolerance of an output that has this dtype in a call.
  Tolerance ToleranceOf(const Parameter& output, DType dtype) const {
    if (output.tolerance) return *output.tolerance;
    return has_tolerance_ ? tolerance_ : Tolerance::Of(dtype);
  }
  bool is_unordered() const { return is_unordered_; }
  /// Returns the minimum memory traffic of one run in bytes, or 0 if it was not given.
  double WorkBytes(const Problem& problem) const { return work_bytes_ ? work_bytes_(problem) : 0; }
  /// Returns the minimum number of operations of one run, or 0 if it was not given.
  double WorkOperations(const Problem& problem) const { return work_operations_ ? work_operations_(problem) : 0; }

  /// Returns the variants that run on `target`, in order of preference. Errors: Unimplemented if no variant does,
  /// listing all variants.
  Result<std::vector<const Variant*>> VariantsFor(const Target& target) const;
  /// Returns the parts of the variants' requirements that decide keys, each for some values of the axes that it reads:
  /// Aligned("x", 8) and Aligned("x", 16) for vec == 1 || Aligned("x", 4 * vec). Sorted by text.
  const std::vector<Condition>& requirement_atoms() const { return requirement_atoms_; }
  /// Returns whether some variant's requirement depends on the config, or has a part that is asked like a guard.
  bool has_config_requirements() const { return has_config_requirements_; }
  /// Returns the names that a Term can refer to: those of the dims and of the scalar parameters.
  TUNEONCE_LOCAL TermNames term_names() const;
  /// Returns a problem for functions whose result serves all launches of a key. Scalars that the key does not contain
  /// have no value (null in Problem::values). Dims that the key rounds have the rounded value (KeyPart::Round), and
  /// dims that it omits are 1.
  TUNEONCE_LOCAL Problem DecidedByKey(const Problem& problem) const;
  /// Returns the dims that may differ between launches of one key, because the key rounds (NextPow2, Buckets, Nearest)
  /// or omits them.
  TUNEONCE_LOCAL std::vector<Dim> DimsUndecidedByKey() const;
  /// Returns whether all launches of a key have the same baseline: what decides it reads no dims or scalars that may
  /// differ between them.
  TUNEONCE_LOCAL bool KeyDecidesBaseline() const;
  /// Returns the handle of the dim `name`. REQUIRES: it is one of dims().
  Dim DimOf(const std::string& name) const;
  /// Returns the index of the parameter `name`, or nothing.
  std::optional<std::size_t> FindParameter(const std::string& name) const;
  /// Prints dims with their names: "M=4096, N=1024".
  TUNEONCE_LOCAL std::string DimsString(const Dims& dims) const;

 private:
  TUNEONCE_LOCAL void NameDims();
  TUNEONCE_LOCAL void CompleteVariants();
  TUNEONCE_LOCAL Status CheckNames() const;
  TUNEONCE_LOCAL Status CheckParameters() const;
  TUNEONCE_LOCAL Status CheckStrides() const;
  TUNEONCE_LOCAL Status ResolveTerms();
  TUNEONCE_LOCAL Status ResolveDescriptor(Parameter* parameter) const;
  TUNEONCE_LOCAL Status ResolveDTypes();
  TUNEONCE_LOCAL Status ResolveTypes(Variant* variant) const;
  TUNEONCE_LOCAL Status ResolveRequirements();
  /// Returns whether it is a scalar that the key does not contain.
  TUNEONCE_LOCAL bool IsFreeScalar(const Parameter& parameter) const;
  TUNEONCE_LOCAL Status ResolveRequirement(Variant* variant, std::map<std::string, Condition>* atoms);
  TUNEONCE_LOCAL Status CheckOptionAxes() const;
  TUNEONCE_LOCAL void CompleteKey();
  TUNEONCE_LOCAL Status CheckKey() const;

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
  std::vector<Condition> requirement_atoms_;
  bool has_config_requirements_ = false;
  bool has_tolerance_ = false;
  Tolerance tolerance_;
  bool is_unordered_ = false;
  WorkFn work_bytes_;
  WorkFn work_operations_;
  std::string shipped_selections_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_DEFINITION_H_
