#include "tuneonce/kernel_source.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/number_text.h"
#include "definition/precompiled_code.h"
#include "definition/source_identity.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsIdentifier(const std::string& name) {
  auto fits = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), fits);
}

/// Returns the C++ type of a dtype, or "" without one. `is_host` selects types that need no CUDA headers.
std::string_view CppType(DType dtype, bool is_host) {
  // In the order of DType.
  constexpr std::string_view kTypes[] = {"",
                                         "bool",
                                         "signed char",
                                         "unsigned char",
                                         "short",
                                         "unsigned short",
                                         "int",
                                         "unsigned int",
                                         "long long",
                                         "unsigned long long",
                                         "__nv_fp8_e4m3",
                                         "__nv_fp8_e5m2",
                                         "__half",
                                         "__nv_bfloat16",
                                         "float",
                                         "double"};
  constexpr std::string_view kHostTypes[] = {"", "", "_Float16", "tuneonce_bfloat16"};  // From kFloat8E4M3 on.
  const auto index = static_cast<std::size_t>(dtype), first = static_cast<std::size_t>(DType::kFloat8E4M3);
  return is_host && index >= first && index < first + 4 ? kHostTypes[index - first] : kTypes[index];
}

/// The shortest literal that is exactly `value`, and a floating one: "0.5", "64.0", "1e+300".
template <typename Real>
std::string Literal(Real value) {
  std::string text = ShortestText(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string_view SourceKindName(SourceKind kind) {
  static constexpr std::string_view kNames[] = {"cubin", "tile_ir", "ptx", "cuda_cpp", "cpu_cpp", "tile_cpp"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(SourceKind::kTileCpp) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<SourceKind> SourceKindNamed(std::string_view name) {
  for (SourceKind kind : {SourceKind::kCubin, SourceKind::kTileIr, SourceKind::kPtx, SourceKind::kCudaCpp,
                          SourceKind::kCpuCpp, SourceKind::kTileCpp}) {
    if (SourceKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

Fingerprint KernelSource::Fingerprint() const {
  Fingerprinter fingerprinter;
  fingerprinter.Add(static_cast<std::uint64_t>(kind)).Add(TextFingerprint()).Add(symbol);
  fingerprinter.Add(defines.size());
  for (const std::string& define : defines) fingerprinter.Add(define);
  fingerprinter.Add(options.size());
  for (const std::string& option : options) fingerprinter.Add(option);
  if (!mistake_.ok()) fingerprinter.Add(mistake_.message());  // A mistake is not visible in `defines`.
  return fingerprinter.Finish();
}

Fingerprint KernelSource::TextFingerprint() const {
  if (withheld != nullptr) return *withheld;
  return v0::TextFingerprint(content, {headers.begin(), headers.end()});
}

Fingerprint TextFingerprint(std::string_view content,
                            const std::vector<std::pair<std::string_view, std::string_view>>& headers) {
  Fingerprinter fingerprinter;
  fingerprinter.AddInLanes(content);
  for (const auto& [name, text] : headers) fingerprinter.Add("header").Add(name).AddInLanes(text);
  return fingerprinter.Finish();
}

KernelSource KernelSource::FromFile(SourceKind kind, const std::string& path, std::string symbol) {
  Result<std::string> content = ReadFile(path);
  if (!content.ok()) return None(kind, content.status());
  KernelSource source = Make(kind, *std::move(content), std::move(symbol));
  source.file = AbsolutePath(path);
  return source;
}

KernelSource KernelSource::None(SourceKind kind, Status why) {
  KernelSource source = Make(kind, "", "");
  source.mistake_ = std::move(why);
  return source;
}

KernelSource& KernelSource::DefineType(const std::string& name, DType dtype) {
  std::string_view type = CppType(dtype, kind == SourceKind::kCpuCpp);
  if (!type.empty()) return DefineText(name, type);
  NoteMistake(absl::StrCat("cannot define the macro '", name, "': the dtype ", std::string(DTypeName(dtype)),
                           " has no C++ type in this kind of source"));
  return *this;
}

KernelSource& KernelSource::Include(const std::string& folder) {
  if (!IsCpp(kind)) {
    NoteMistake(absl::StrCat("cannot include from '", folder, "': a ", std::string(SourceKindName(kind)),
                             " source has no headers"));
  } else if (folder.empty()) {
    NoteMistake("cannot include from a folder without a name");
  } else {
    options.push_back("-I" + AbsolutePath(folder));
  }
  return *this;
}

KernelSource& KernelSource::Header(std::string name, std::string text) {
  bool is_twice = std::any_of(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
  auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (!IsForNvrtc(kind)) {
    NoteMistake(
        absl::StrCat("the header '", name, "' is not a file, which only cuda_cpp and tile_cpp sources can include"));
  } else if (name.empty() || std::any_of(name.begin(), name.end(), is_control)) {
    NoteMistake("a header's name is empty, or has control characters");
  } else if (is_twice) {
    NoteMistake(absl::StrCat("the header '", name, "' is given twice"));
  } else if (text.find('\0') != std::string::npos) {
    NoteMistake(absl::StrCat("the header '", name, "' is not a text: it has a zero byte"));
  } else {
    headers.emplace_back(std::move(name), std::move(text));
  }
  return *this;
}

void KernelSource::NoteMistake(std::string what) {
  if (mistake_.ok()) mistake_ = InvalidArgumentError(std::move(what));
}

KernelSource& KernelSource::DefineWhole(const std::string& name, std::int64_t value) {
  // In C++ a minus sign is not part of a literal, and 2^63 fits no signed type.
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
    wrong = "the name of a macro must consist of letters, digits and _";
  } else if (text.empty()) {
    wrong = "the value is not a finite number, or is an empty string";
  } else if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    wrong = "the value has a line break or another control character";
  }
  if (wrong == nullptr) {
    defines.push_back(absl::StrCat(name, "=", std::string(text)));
  } else {
    NoteMistake(absl::StrCat("cannot define the macro '", name, "': ", wrong));
  }
  return *this;
}

PrecompiledCode::~PrecompiledCode() = default;

Fingerprint PrecompiledKey(const KernelSource& source, const Hints& hints, const Target& target) {
  return Fingerprinter()
      .Add("precompiled")
      .Add(source.Fingerprint())
      .Add(hints.Fingerprint())
      .Add(target.name())
      .Finish();
}

}  // namespace v0
}  // namespace tuneonce
