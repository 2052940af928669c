#ifndef TUNEONCE_KERNEL_SOURCE_H_
#define TUNEONCE_KERNEL_SOURCE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct Fingerprint;

/// The value of a compiler hint. It can only be made from an integer: a plain std::int64_t in a map's initializer would
/// turn 0.5 into 0.
class HintValue {
 public:
  HintValue() = default;
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
  HintValue(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  operator std::int64_t() const { return value_; }                  // NOLINT(google-explicit-constructor)

 private:
  std::int64_t value_ = 0;
};

/// A value for hint axes that means "do not set this hint". The compiler then chooses its value. It is below the range
/// of every hint.
inline constexpr std::int64_t kHintNotSet = 0;

/// Values of compiler hints by name: {"occupancy", 2}.
using HintValues = std::map<std::string, HintValue>;

/// Compiler hints for Tile IR, by target name ("sm_90"). Hints under "default" apply to all targets, and a target's own
/// value overrides them. The class has value semantics.
///
/// - `occupancy`: 1 to 32 blocks per multiprocessor.
/// - `num_ctas` (in bytecode `num_cta_in_cga`): blocks per cluster, a power of two up to 8; more than 1 on sm_90 and
///   newer, not on sm_12x.
/// - `num_worker_warps` (in bytecode `num_worker_warps_per_cta`): a power of two, 1 to 32.
///
/// Both names of a hint are accepted. The ranges are those of cuTile (`cuda.tile.kernel`) and of sm_90's portable
/// cluster size. tileiras ignores an invalid value silently. Only Check and CheckFor report it.
class TUNEONCE_API Hints {
 public:
  /// How these hints combine with those in the bytecode. kReplace removes all of the bytecode's hints for every target,
  /// like cuTile's `replace_hints`. kMerge keeps the bytecode's hints that have another name or target.
  enum class Update { kReplace, kMerge };

  Hints() = default;
  /// Makes hints for all targets.
  Hints(HintValues values) : Hints(ByTarget<HintValues>(std::move(values))) {}  // NOLINT(google-explicit-constructor)
  explicit Hints(ByTarget<HintValues> values) : values_(std::move(values)) {}
  /// Returns hints for all targets with the values of the config's hint axes, without those that are kHintNotSet. A
  /// search uses them for variants without a hints function (Variant::HintsBy).
  static Hints OfConfig(const Config& config);

  /// Sets how these hints combine with the bytecode's. Default: kReplace.
  Hints& Set(Update update) {
    update_ = update;
    return *this;
  }
  /// Allows clusters of 16 blocks, which not every GPU of an architecture can run.
  Hints& AllowNonPortableClusters() {
    max_ctas_ = 16;
    return *this;
  }

  Update update() const { return update_; }
  /// Returns whether all targets are without values. The bytecode then stays unchanged.
  bool empty() const { return values_.values().empty(); }
  const std::map<std::string, HintValues>& by_target() const { return values_.values(); }
  /// Returns the values that apply to `target`, by the names that were given. The map may be empty.
  HintValues For(const Target& target) const;
  /// Prints the values that apply to `target`: "occupancy=2", or "" without any.
  std::string ToString(const Target& target) const;
  /// Returns the fingerprint of all values and of the update mode.
  tuneonce::Fingerprint Fingerprint() const;

  /// Checks all values. Errors: InvalidArgument, naming target, hint and range, for an unknown hint or target name, a
  /// hint that is given by both of its names, or a value out of range.
  Status Check() const;
  /// Checks all values, and that `target` supports those that apply to it. Errors: as for Check, and InvalidArgument
  /// for more than one block per cluster on a target without clusters.
  TUNEONCE_LOCAL Status CheckFor(const Target& target) const;

 private:
  ByTarget<HintValues> values_;
  Update update_ = Update::kReplace;
  std::int64_t max_ctas_ = 8;
};

/// Returns the name that Tile IR bytecode uses for a compiler hint: "num_cta_in_cga" for "num_ctas". `name` may be
/// either of the hint's names (see Hints). Returns "" for an unknown hint.
TUNEONCE_API std::string_view BytecodeHintName(std::string_view name);

struct Fingerprint;
class PrecompiledCode;  // Opaque to hosts.

/// The language of a kernel's source, which decides the compiler.
enum class SourceKind {
  /// Machine code: a cubin, a fatbin of several cubins, or a shared object for the CPU device. It is not compiled.
  kCubin,
  kTileIr,   ///< CUDA Tile IR bytecode, for tileiras.
  kPtx,      ///< PTX text, for ptxas.
  kCudaCpp,  ///< CUDA C++, for NVRTC.
  kCpuCpp,   ///< C++ for the CPU device (tuneonce/cpu_device/kernel.h).
  kTileCpp,  ///< CUDA Tile C++ (`__tile_global__` functions, cuda_tile.h), for NVRTC 13.3 or newer and tileiras.
};

/// Returns whether NVRTC compiles sources of this kind: CUDA C++ and CUDA Tile C++.
constexpr bool IsForNvrtc(SourceKind kind) { return kind == SourceKind::kCudaCpp || kind == SourceKind::kTileCpp; }
/// Returns whether sources of this kind are C++, so that they can have macros, types as macros, and include folders.
constexpr bool IsCpp(SourceKind kind) { return IsForNvrtc(kind) || kind == SourceKind::kCpuCpp; }
/// Returns whether tileiras compiles sources of this kind, so that the block is (1, 1, 1): Tile IR and CUDA Tile C++.
constexpr bool IsTile(SourceKind kind) { return kind == SourceKind::kTileIr || kind == SourceKind::kTileCpp; }

/// Returns the name of a kind: "cubin", "tile_ir", "ptx", "cuda_cpp", "cpu_cpp", "tile_cpp".
TUNEONCE_API std::string_view SourceKindName(SourceKind kind);
/// Returns the kind for which SourceKindName returns `name`, or nothing.
TUNEONCE_API std::optional<SourceKind> SourceKindNamed(std::string_view name);

/// The input of a toolchain: a text or image, the kernel's name in it, and compiler options. It has value semantics.
struct TUNEONCE_API KernelSource {
  SourceKind kind = SourceKind::kCudaCpp;
  std::string content;  ///< Text or bytes, depending on `kind`.
  /// The kernel's name. For a cubin it is the name in the image. In CUDA C++ and CUDA Tile C++ it may be a name
  /// expression such as `ns::reduce<TILE, T>`, which is instantiated. A macro of `defines` whose name occurs in the
  /// expression is replaced there by its value, and is not defined in the text. The text may therefore have a template
  /// parameter of that name.
  std::string symbol;
  std::vector<std::string> defines;  ///< Macros of C++ sources: "TILE_M=64".
  /// Further compiler options, passed to the tool unchanged. The program that sets them is responsible for what they do
  /// (write files, load plugins). A bundle's manifest may only have options that change the code
  /// (docs/internal/manifest.md).
  std::vector<std::string> options;
  /// Headers in memory, as pairs of the name in `#include` and the text. Only for kCudaCpp and kTileCpp.
  std::vector<std::pair<std::string, std::string>> headers;
  /// The name of the text in compiler messages. If it is a full path, CUDA C++ looks for `#include "..."` first in its
  /// folder. Empty: a name is made from the symbol. Fingerprint does not contain it.
  std::string file;
  /// Code that was compiled from this source in advance (in a precompiled bundle). It is used instead of the compiler
  /// if it has code for the target. Null: none. Fingerprint does not contain it.
  std::shared_ptr<const PrecompiledCode> precompiled;
  /// The fingerprint of the `content` and `headers` of a source that a bundle was shipped without. Fingerprint uses it
  /// in their place. Such a source can only run precompiled code. Null: the source has its content.
  std::shared_ptr<const tuneonce::Fingerprint> withheld;

  /// Makes a source from CUDA C++ text. `symbol` is the function's name in it, or a name expression (see the member
  /// `symbol`).
  static KernelSource CudaCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kCudaCpp, std::move(content), std::move(symbol));
  }
  /// Makes a source from CUDA Tile C++ text. NVRTC compiles it to Tile IR, and tileiras compiles that with the config's
  /// hints, which replace the hints in the text (`[[cutile::hint(...)]]`). The kernel takes the parameters of its C++
  /// signature.
  static KernelSource TileCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kTileCpp, std::move(content), std::move(symbol));
  }
  /// Makes a source from C++ text for the CPU device (tuneonce/cpu_device/kernel.h). `symbol` is the function's name in
  /// it.
  static KernelSource CpuCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kCpuCpp, std::move(content), std::move(symbol));
  }
  /// Makes a source from the bytes of a cubin (not from its path), which is loaded without a compiler. `symbol` is the
  /// kernel's name in it.
  static KernelSource Cubin(std::string content, std::string symbol) {
    return Make(SourceKind::kCubin, std::move(content), std::move(symbol));
  }
  /// Makes a source from the bytes of CUDA Tile IR bytecode. `symbol` is the kernel's name in it.
  static KernelSource TileIr(std::string content, std::string symbol) {
    return Make(SourceKind::kTileIr, std::move(content), std::move(symbol));
  }
  /// Makes a source from PTX text. `symbol` is the kernel's name in it.
  static KernelSource Ptx(std::string content, std::string symbol) {
    return Make(SourceKind::kPtx, std::move(content), std::move(symbol));
  }

  /// Makes a source from a file, which is read at this call. `path` is a cubin or fatbin (a shared object on the CPU
  /// device), Tile IR bytecode, PTX or C++. The member `file` becomes its absolute path. If the file cannot be read,
  /// Check returns the error, and compiling the source fails with it.
  static KernelSource FromFile(SourceKind kind, const std::string& path, std::string symbol);
  /// Makes a source that fails to compile with the error `why`. A source function returns it for a config that it has
  /// no source for. REQUIRES: `why` is an error.
  static KernelSource None(SourceKind kind, Status why);

  /// Defines the macro `name` as a literal that is exactly `value`: `64`, `0.5`, or `0.5f` for a float, with as many
  /// digits as needed. A boolean becomes 1 or 0, and a string (a type's name, say) is copied unchanged. `value` may be
  /// an AxisValue.
  ///
  /// Check returns InvalidArgument, so that a source can be built in one expression, for a name that is not an
  /// identifier, for NaN or an infinity, and for text that is empty or has control characters.
  template <typename T>
  KernelSource& Define(const std::string& name, const T& value) {
    if constexpr (std::is_same_v<T, AxisValue>) {
      return std::visit([&](const auto& held) -> KernelSource& { return Define(name, held); }, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return DefineText(name, value ? "1" : "0");
    } else if constexpr (std::is_floating_point_v<T>) {
      static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "a float or a double");
      return DefineReal(name, value);
    } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::uint64_t)) {
      constexpr std::uint64_t kMostSigned = std::numeric_limits<std::int64_t>::max();
      return value <= kMostSigned ? DefineWhole(name, static_cast<std::int64_t>(value))
                                  : DefineText(name, std::to_string(value) + "u");
    } else if constexpr (std::is_convertible_v<const T&, std::int64_t>) {
      static_assert(std::is_integral_v<T> || std::is_enum_v<T>, "a whole number");
      return DefineWhole(name, static_cast<std::int64_t>(value));
    } else {
      static_assert(std::is_convertible_v<const T&, std::string_view>, "a number, a truth value or a text");
      return DefineText(name, value);
    }
  }
  /// Defines the macro `name` as the C++ type of a dtype: `__half`, `__nv_bfloat16`, `__nv_fp8_e4m3`, `float`, `signed
  /// char`, `long long`, `bool`; for kCpuCpp `_Float16` and `tuneonce_bfloat16` (cpu_device/kernel.h). The text must
  /// include the headers of such types (cuda_fp16.h). Check returns an error for DType::kAny and for a dtype without a
  /// C++ type.
  KernelSource& DefineType(const std::string& name, DType dtype);
  /// Adds a folder of headers, which is searched after those added before it. A relative path starts at the directory
  /// that is current at this call. Check returns an error for an empty path and for a source that is not C++. The
  /// headers of the CUDA toolkit, CUB and libcu++ included, are found without it (docs/cpp.md).
  KernelSource& Include(const std::string& folder);
  /// Adds a header in memory: `#include <name>` and `#include "name"` read `text` even if a file of that name exists.
  /// Check returns an error for a source that is neither kCudaCpp nor kTileCpp, for a name that is empty, has control
  /// characters or was added before, and for a text with a zero byte.
  KernelSource& Header(std::string name, std::string text);
  /// Returns OK, or the first error: InvalidArgument from Define, DefineType, Include, Header or NoteMistake, or that
  /// of FromFile or None. Toolchain::Compile returns it.
  const Status& Check() const { return mistake_; }

  /// Makes Check return InvalidArgument with the message `what`, unless it already returns an error.
  void NoteMistake(std::string what);

  /// Returns the fingerprint of everything but `file` and `precompiled`.
  tuneonce::Fingerprint Fingerprint() const;
  /// Returns the fingerprint of `content` and `headers`, or `*withheld` if that is set.
  TUNEONCE_LOCAL tuneonce::Fingerprint TextFingerprint() const;

 private:
  static KernelSource Make(SourceKind kind, std::string content, std::string symbol) {
    KernelSource source;
    source.kind = kind;
    source.content = std::move(content);
    source.symbol = std::move(symbol);
    return source;
  }
  KernelSource& DefineWhole(const std::string& name, std::int64_t value);
  KernelSource& DefineReal(const std::string& name, float value);
  KernelSource& DefineReal(const std::string& name, double value);
  KernelSource& DefineText(const std::string& name, std::string_view text);

  Status mistake_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_SOURCE_H_
