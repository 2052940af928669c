#ifndef TUNEONCE_BINDINGS_CLI_TARGET_ARGUMENT_H_
#define TUNEONCE_BINDINGS_CLI_TARGET_ARGUMENT_H_

#include <optional>
#include <string>
#include <string_view>

#include "numbers.h"
#include "tuneonce/target.h"

namespace tuneonce::cli {

/// "sm_90" as a target. Errors: InvalidArgument.
inline Result<Target> ParseGpuTarget(const std::string& name) {
  std::optional<int> capability;
  if (name.rfind("sm_", 0) == 0) capability = ParseNumber<int>(std::string_view(name).substr(3));
  if (!capability || *capability < 10 || *capability > 999 || name[3] == '0') {
    return InvalidArgumentError("target '" + name + "' is none: write it like sm_90");
  }
  Target target;
  target.capability_major = *capability / 10;
  target.capability_minor = *capability % 10;
  return target;
}

/// The same, or "cpu".
inline Result<Target> ParseTarget(const std::string& name) {
  if (name != "cpu") {
    Result<Target> gpu = ParseGpuTarget(name);
    return gpu.ok() ? gpu : InvalidArgumentError("target '" + name + "' is none: write it like sm_90, or cpu");
  }
  Target target;
  target.is_cpu_device = true;
  return target;
}

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TARGET_ARGUMENT_H_
