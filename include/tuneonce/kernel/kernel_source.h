#ifndef TUNEONCE_KERNEL_KERNEL_SOURCE_H_
#define TUNEONCE_KERNEL_KERNEL_SOURCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/base/api.h"
#include "tuneonce/base/fingerprint.h"

namespace tuneonce {

enum class SourceKind {
  kCubin,    ///< Machine code for one GPU architecture, as is.
  kTileIr,   ///< CUDA Tile IR bytecode, for tileiras.
  kPtx,      ///< PTX text, for ptxas.
  kCudaCpp,  ///< CUDA C++, for NVRTC.
  kHostCpp,  ///< C++ for the CPU device (tuneonce/cpu_device/kernel.h).
};

/// "cubin", "tile_ir", "ptx", "cuda_cpp", "host_cpp".
TUNEONCE_API std::string_view SourceKindName(SourceKind kind);
/// The kind that SourceKindName calls so; empty if there is none.
TUNEONCE_API std::optional<SourceKind> SourceKindNamed(std::string_view name);

/// What a toolchain compiles: content, the kernel's symbol in it, and options. A value.
struct TUNEONCE_API KernelSource {
  SourceKind kind = SourceKind::kCudaCpp;
  std::string content;               ///< Text, or bytes.
  std::string symbol;                ///< The kernel's unmangled name (`extern "C"` in CUDA C++).
  std::vector<std::string> defines;  ///< "TILE_M=64": macros of kCudaCpp and kHostCpp.
  std::vector<std::string> options;  ///< Further compiler options, as the tool takes them.

  static KernelSource CudaCpp(std::string content, std::string symbol) {
    return Make(SourceKind::kCudaCpp, std::move(content), std::move(symbol));
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

  /// Adds the macro `name` = `value`.
  KernelSource& Define(const std::string& name, std::int64_t value) {
    defines.push_back(name + "=" + std::to_string(value));
    return *this;
  }

  /// Of everything above.
  tuneonce::Fingerprint Fingerprint() const;

 private:
  static KernelSource Make(SourceKind kind, std::string content, std::string symbol) {
    KernelSource source;
    source.kind = kind;
    source.content = std::move(content);
    source.symbol = std::move(symbol);
    return source;
  }
};

}  // namespace tuneonce

#endif  // TUNEONCE_KERNEL_KERNEL_SOURCE_H_
