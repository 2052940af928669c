// Variants made of files.
#include "definition/variant_files.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsFor(const Precompiled& kernel, const Config& config) {
  return std::all_of(kernel.config.begin(), kernel.config.end(), [&](const AxisAssignment& given) {
    auto index = static_cast<std::size_t>(given.index);
    return given.space_id == config.space_id() && index < config.values().size() &&
           IsSameValue(given.value, config.values()[index]);
  });
}

}  // namespace

Result<std::string> ExpandAxes(const std::string& pattern, const Config& config) {
  std::string text;
  std::size_t at = 0;
  for (;;) {
    std::size_t open = pattern.find('{', at);
    text.append(pattern, at, open - at);
    if (open == std::string::npos) return text;
    std::size_t close = pattern.find('}', open);
    if (close == std::string::npos)
      return InvalidArgumentError("'" + pattern + "' has an opening brace without a closing one");
    std::string axis = pattern.substr(open + 1, close - open - 1);
    const AxisValue* value = config.Find(axis);
    if (value == nullptr) {
      return InvalidArgumentError(absl::StrCat("'", pattern, "' names the axis '", axis, "', but the config {",
                                               config.ToString(), "} has no such axis"));
    }
    text += AxisValueString(*value);
    at = close + 1;
  }
}

KernelSource SourceInFile(SourceKind kind, const std::string& file_pattern, const std::string& symbol_pattern,
                          const Config& config) {
  Result<std::string> path = ExpandAxes(file_pattern, config);
  Result<std::string> symbol = ExpandAxes(symbol_pattern, config);
  if (!path.ok()) return KernelSource::None(kind, path.status());
  if (!symbol.ok()) return KernelSource::None(kind, symbol.status());
  return KernelSource::FromFile(kind, *path, *std::move(symbol));
}

Variant Cubins(std::vector<Precompiled> kernels) {
  auto find = [kernels = std::move(kernels)](const Config& config) {
    auto found =
        std::find_if(kernels.begin(), kernels.end(), [&](const Precompiled& kernel) { return IsFor(kernel, config); });
    if (found != kernels.end()) return found->source;
    return KernelSource::None(
        SourceKind::kCubin, NotFoundError("no precompiled code was given for the config {" + config.ToString() + "}"));
  };
  return Variant(std::move(find)).Named("cubin");
}

Variant Cubins(std::string file_pattern, std::string symbol) {
  auto read = [file = AbsolutePath(file_pattern), symbol = std::move(symbol)](const Config& config) {
    return SourceInFile(SourceKind::kCubin, file, symbol, config);
  };
  return Variant(std::move(read)).Named("cubin");
}

}  // namespace v0
}  // namespace tuneonce
