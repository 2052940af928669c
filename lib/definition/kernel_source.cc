#include "tuneonce/kernel_source.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsIdentifier(const std::string& name) {
  auto fits = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), fits);
}

/// The shortest literal that is exactly `value`, and a floating one: "0.5", "64.0", "1e+300".
template <typename Real>
std::string Literal(Real value) {
  char digits[64];
  std::string text(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

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
  if (!mistake_.ok()) fingerprinter.Add(mistake_.message());  // What it lacks is not in `defines`.
  return fingerprinter.Finish();
}

KernelSource KernelSource::FromFile(SourceKind kind, const std::string& path, std::string symbol) {
  Result<std::string> content = ReadFile(path);
  return content.ok() ? Make(kind, *std::move(content), std::move(symbol)) : None(kind, content.status());
}

KernelSource& KernelSource::DefineWhole(const std::string& name, std::int64_t value) {
  // In C++ a minus is no part of a literal, and 2^63 fits no signed type.
  if (value == std::numeric_limits<std::int64_t>::min()) return DefineText(name, "(-9223372036854775807-1)");
  return DefineText(name, std::to_string(value));
}

KernelSource& KernelSource::DefineReal(const std::string& name, float value) {
  return DefineText(name, std::isfinite(value) ? Literal(value) + "f" : "");
}

KernelSource& KernelSource::DefineReal(const std::string& name, double value) {
  return DefineText(name, std::isfinite(value) ? Literal(value) : "");
}

KernelSource& KernelSource::DefineText(const std::string& name, std::string_view text) {
  const char* wrong = nullptr;
  if (!IsIdentifier(name)) {
    wrong = "a macro's name is letters, digits and _";
  } else if (text.empty()) {
    wrong = "its value is no finite number, or an empty text";
  } else if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    wrong = "its value has a line break or another control character";
  }
  if (wrong == nullptr) {
    defines.push_back(absl::StrCat(name, "=", std::string(text)));
  } else if (mistake_.ok()) {
    mistake_ = InvalidArgumentError(absl::StrCat("cannot define the macro '", name, "': ", wrong));
  }
  return *this;
}

}  // namespace v0
}  // namespace tuneonce
