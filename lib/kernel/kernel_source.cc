#include "tuneonce/kernel/kernel_source.h"

namespace tuneonce {

std::string_view SourceKindName(SourceKind kind) {
  switch (kind) {
    case SourceKind::kCubin:
      return "cubin";
    case SourceKind::kTileIr:
      return "tile_ir";
    case SourceKind::kPtx:
      return "ptx";
    case SourceKind::kCudaCpp:
      return "cuda_cpp";
    case SourceKind::kHostCpp:
      return "host_cpp";
  }
  return "unknown";
}

std::optional<SourceKind> SourceKindNamed(std::string_view name) {
  for (SourceKind kind :
       {SourceKind::kCubin, SourceKind::kTileIr, SourceKind::kPtx, SourceKind::kCudaCpp, SourceKind::kHostCpp}) {
    if (SourceKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

Fingerprint KernelSource::Fingerprint() const {
  Fingerprinter fingerprinter;
  fingerprinter.Add(static_cast<std::uint64_t>(kind)).Add(content).Add(symbol);
  fingerprinter.Add(defines.size());
  for (const std::string& define : defines) fingerprinter.Add(define);
  fingerprinter.Add(options.size());
  for (const std::string& option : options) fingerprinter.Add(option);
  return fingerprinter.Finish();
}

}  // namespace tuneonce
