#ifndef TUNEONCE_KERNEL_SOURCE_H_
#define TUNEONCE_KERNEL_SOURCE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/config.h"
#include "tuneonce/status.h"
#include "tuneonce/tensor_view.h"

namespace tuneonce {
inline namespace v0 {

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
/// Returns the kind with this name (SourceKindName), or nothing.
TUNEONCE_API std::optional<SourceKind> SourceKindNamed(std::string_view name);

/// The input of a toolchain: a text or image, the kernel's symbol in it, and options. A value.
struct TUNEONCE_API KernelSource {
  SourceKind kind = SourceKind::kCudaCpp;
  std::string content;  ///< Text or bytes, depending on `kind`.
  /// The kernel's name. For a cubin it is the name in the image. In CUDA C++ and CUDA Tile C++ it may be a name
  /// expression such as `ns::reduce<TILE, T>`, which is instantiated. Names in it that are macros of `defines` are
  /// replaced by their values and are then not defined for the text, which may have template parameters of those names.
  std::string symbol;
  std::vector<std::string> defines;  ///< Macros of C++ sources: "TILE_M=64".
  /// Further compiler options, passed to the tool unchanged. The host is responsible for what they do (write files,
  /// load plugins). A bundle's manifest may only have options that change the code (docs/bundles.md).
  std::vector<std::string> options;
  /// Headers in memory, as pairs of the name in `#include` and the text. Only for kCudaCpp and kTileCpp.
  std::vector<std::pair<std::string, std::string>> headers;
  /// The name of the text in messages. If it is a full path, CUDA C++ looks for `#include "..."` first in its folder.
  /// Empty: a name is made from the symbol. It is not part of the source's identity.
  std::string file;
  /// Code of this source that was compiled ahead (in a precompiled bundle). It is used in place of the compiler if it
  /// contains the target. Null: none. It is not part of the source's identity.
  std::shared_ptr<const PrecompiledCode> precompiled;
  /// Fingerprint that replaces `content` and `headers` in the source's identity when a bundle was shipped without its
  /// sources. Such a source can only run precompiled code. Usually null.
  std::shared_ptr<const tuneonce::Fingerprint> withheld;

  /// Makes a source of CUDA C++ text.
  static KernelSource CudaCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kCudaCpp, std::move(content), std::move(symbol));
  }
  /// Makes a source of CUDA Tile C++ text. NVRTC compiles it to Tile IR, and tileiras compiles that with the config's
  /// hints, which replace the hints in the text (`[[cutile::hint(...)]]`). The kernel takes the parameters of its C++
  /// signature.
  static KernelSource TileCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kTileCpp, std::move(content), std::move(symbol));
  }
  /// Makes a source of C++ text for the CPU device.
  static KernelSource CpuCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kCpuCpp, std::move(content), std::move(symbol));
  }
  /// Makes a source from the bytes of a cubin (not from its path), which is loaded without a compiler. `symbol` is the
  /// kernel's name in it.
  static KernelSource Cubin(std::string content, std::string symbol) {
    return Make(SourceKind::kCubin, std::move(content), std::move(symbol));
  }
  /// Makes a source of CUDA Tile IR bytecode.
  static KernelSource TileIr(std::string content, std::string symbol) {
    return Make(SourceKind::kTileIr, std::move(content), std::move(symbol));
  }
  /// Makes a source of PTX text.
  static KernelSource Ptx(std::string content, std::string symbol) {
    return Make(SourceKind::kPtx, std::move(content), std::move(symbol));
  }

  /// Makes a source of a file's content, which is read now. `path` is a cubin or fatbin (a shared object on the CPU
  /// device), Tile IR bytecode, PTX or C++, for which `file` is set to the path. If the file cannot be read, Check
  /// returns the error, so that a config whose file is missing fails to compile with an error that names the file.
  static KernelSource FromFile(SourceKind kind, const std::string& path, std::string symbol);
  /// Makes a source that fails to compile with the error `why`, for a source function that has none for a config.
  /// REQUIRES: `why` is an error.
  static KernelSource None(SourceKind kind, Status why);

  /// Defines the macro `name` as a literal that is exactly `value`: `64`, `0.5`, or `0.5f` for a float, with as many
  /// digits as needed. A boolean becomes 1 or 0, and a string (a type's name, say) is copied unchanged. `value` may be
  /// an AxisValue.
  ///
  /// Check returns a mistake, so that a source can be built in one expression: a name that is not an identifier, NaN or
  /// an infinity, or text with control characters.
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
  /// that is current at this call. Only for C++ sources. The headers of the CUDA toolkit, CUB and libcu++ included, are
  /// found without it (docs/cpp.md).
  KernelSource& Include(const std::string& folder);
  /// Adds a header in memory: `#include <name>` and `#include "name"` read `text` even if a file of that name exists.
  /// Only for kCudaCpp and kTileCpp. Check returns an error for a name that is empty or was added before.
  KernelSource& Header(std::string name, std::string text);
  /// Returns the first mistake of the functions above (InvalidArgument, naming the macro), or the reason why there is
  /// no source. Compiling calls it.
  const Status& Check() const { return mistake_; }

  /// Keeps the first mistake as the InvalidArgument error that Check returns.
  void NoteMistake(std::string what);

  /// Returns the fingerprint of everything but `file` and `precompiled`.
  tuneonce::Fingerprint Fingerprint() const;
  /// Returns the fingerprint of `content` and `headers`, the value of `withheld`.
  tuneonce::Fingerprint TextFingerprint() const;

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
