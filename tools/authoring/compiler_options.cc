#include "authoring/compiler_options.h"

#include <cstdint>
#include <optional>

#include "base/number_text.h"
#include "console/numbers.h"
#include "definition/compiler_option.h"
#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// "ftz=true" as the value that an option axis would have.
AxisValue ToOptionValue(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  std::optional<std::int64_t> number = ParseNumber<std::int64_t>(text);
  return number ? AxisValue(*number) : AxisValue(text);
}

}  // namespace

Status AddCompilerOptions(const std::vector<std::string>& settings, KernelSource* source) {
  TUNEONCE_ASSIGN_OR_RETURN(auto values, ParseSettings(settings, "option"));
  for (const auto& [name, text] : values) {
    const AxisValue value = ToOptionValue(text);
    TUNEONCE_ASSIGN_OR_RETURN(const CompilerOption* option, FindCompilerOption(name));
    TUNEONCE_RETURN_IF_ERROR(CheckOptionValue(*option, value));
    if (!TakesOption(source->kind, *option)) {
      return InvalidArgumentError("--option " + name + ": the compiler of " +
                                  std::string(SourceKindName(source->kind)) + " sources has no such option");
    }
    AddAxisOptions(Config::Of({{name, AxisKind::kOption, value}}), source);
  }
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
