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

enum class SourceKind {
  kCubin,    ///< Machine code, as is: a cubin, or a fatbin of several; for the CPU device a shared object.
  kTileIr,   ///< CUDA Tile IR bytecode, for tileiras.
  kPtx,      ///< PTX text, for ptxas.
  kCudaCpp,  ///< CUDA C++, for NVRTC.
  kHostCpp,  ///< C++ for the CPU device (tuneonce/cpu_device/kernel.h).
  kTileCpp,  ///< CUDA Tile C++ (`__tile_global__` functions, cuda_tile.h), for NVRTC 13.3 or newer and tileiras.
};

/// Whether NVRTC compiles sources of the kind: CUDA C++ and CUDA Tile C++.
constexpr bool IsForNvrtc(SourceKind kind) { return kind == SourceKind::kCudaCpp || kind == SourceKind::kTileCpp; }
/// Whether they are C++, so that they may have macros, types as macros, and folders of headers.
constexpr bool IsCpp(SourceKind kind) { return IsForNvrtc(kind) || kind == SourceKind::kHostCpp; }
/// Whether tileiras makes their code, which is launched with block (1, 1, 1): Tile IR and CUDA Tile C++.
constexpr bool IsTile(SourceKind kind) { return kind == SourceKind::kTileIr || kind == SourceKind::kTileCpp; }

/// "cubin", "tile_ir", "ptx", "cuda_cpp", "host_cpp", "tile_cpp".
TUNEONCE_API std::string_view SourceKindName(SourceKind kind);
/// The kind that SourceKindName calls so; empty if there is none.
TUNEONCE_API std::optional<SourceKind> SourceKindNamed(std::string_view name);

/// What a toolchain compiles: content, the kernel's symbol in it, and options. A value.
struct TUNEONCE_API KernelSource {
  SourceKind kind = SourceKind::kCudaCpp;
  std::string content;  ///< Text, or bytes.
  /// The kernel's name: of a cubin as it stands there. In CUDA C++ and CUDA Tile C++ also a name expression,
  /// `ns::reduce<TILE, T>`: what it names is instantiated, and there a macro of `defines` stands for its value, and is
  /// no macro of the text (which may have template parameters of that name).
  std::string symbol;
  std::vector<std::string> defines;  ///< "TILE_M=64": macros of C++ sources.
  /// Further compiler options, as the tool takes them: whatever they make the tool do (write files, load plugins) is
  /// the host's own business. Those of a bundle's manifest are limited to what changes the code (docs/bundles.md).
  std::vector<std::string> options;
  /// Headers that are no files, by the name that `#include` says, and their text. Of kCudaCpp and kTileCpp.
  std::vector<std::pair<std::string, std::string>> headers;
  /// What messages call the text, and of a full path the folder where CUDA C++ looks for `#include "..."` first; empty:
  /// made of the symbol. No part of the source's identity.
  std::string file;
  /// What was compiled of it ahead (a precompiled bundle's code): used in place of the compiler where it has the
  /// target. Null: nothing. No part of the source's identity.
  std::shared_ptr<const PrecompiledCode> precompiled;
  /// What stands for `content` and `headers` in the source's identity where these stayed at home (a bundle that was
  /// compiled without its sources): only precompiled code of it can run. Null as a rule.
  std::shared_ptr<const tuneonce::Fingerprint> withheld;

  static KernelSource CudaCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kCudaCpp, std::move(content), std::move(symbol));
  }
  /// Tile kernels in C++. NVRTC compiles them to Tile IR, and tileiras compiles that with the hints of a config, which
  /// replace those that the text has (`[[cutile::hint(...)]]`). The kernel takes the parameters of its C++ signature.
  static KernelSource TileCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kTileCpp, std::move(content), std::move(symbol));
  }
  static KernelSource HostCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kHostCpp, std::move(content), std::move(symbol));
  }
  static KernelSource Cubin(std::string content, std::string symbol) {
    return Make(SourceKind::kCubin, std::move(content), std::move(symbol));
  }
  static KernelSource TileIr(std::string content, std::string symbol) {
    return Make(SourceKind::kTileIr, std::move(content), std::move(symbol));
  }
  static KernelSource Ptx(std::string content, std::string symbol) {
    return Make(SourceKind::kPtx, std::move(content), std::move(symbol));
  }

  /// The content of a file, which is read now: a cubin or fatbin that was compiled before (on the CPU device a shared
  /// object), Tile IR bytecode, PTX, C++ (`file` is its path then). A file that cannot be read is kept for Check, so
  /// that a config whose file is missing fails to compile, by the file's name.
  static KernelSource FromFile(SourceKind kind, const std::string& path, std::string symbol);
  /// No source, for the reason `why`, which compiling says: where a source function finds none for its config.
  /// REQUIRES: `why` is an error.
  static KernelSource None(SourceKind kind, Status why);

  /// Adds the macro `name` as the literal that is exactly `value`: `64`; `0.5`, or `0.5f` of a float, with as many
  /// digits as that takes; 1 or 0 for a truth value; a string as it is (a type's name, say). `value` may be an
  /// AxisValue.
  ///
  /// What cannot be one is kept for Check, so that a source is built in one expression: a name that is no identifier,
  /// NaN and infinities, text with control characters.
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
  /// char`, `long long`, `bool`; of kHostCpp `_Float16` and `tuneonce_bfloat16` (cpu_device/kernel.h). The headers of
  /// such types (cuda_fp16.h) are the text's to include. DType::kAny, and what is no C++ type there, is kept for Check.
  KernelSource& DefineType(const std::string& name, DType dtype);
  /// Looks for headers in `folder` too, after those named before it. A relative one begins at the directory that is
  /// current now. Of C++ sources. The CUDA toolkit's own headers, CUB and libcu++ among them, are found
  /// without (docs/cpp.md).
  KernelSource& Include(const std::string& folder);
  /// `#include <name>` and `#include "name"` read `text`, whatever files there are. Of kCudaCpp and kTileCpp. A name
  /// twice, or an empty one, is kept for Check.
  KernelSource& Header(std::string name, std::string text);
  /// The first mistake of those above (InvalidArgument, naming the macro), or why there is no source. Compiling asks.
  const Status& Check() const { return mistake_; }

  /// Keeps the first mistake for Check: InvalidArgument.
  void NoteMistake(std::string what);

  /// Of all of it but `file` and `precompiled`.
  tuneonce::Fingerprint Fingerprint() const;
  /// Of `content` and `headers` alone: what `withheld` stands for.
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
