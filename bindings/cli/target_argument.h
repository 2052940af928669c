#ifndef TUNEONCE_BINDINGS_CLI_TARGET_ARGUMENT_H_
#define TUNEONCE_BINDINGS_CLI_TARGET_ARGUMENT_H_

#include <string>

#include "tuneonce/target.h"

namespace tuneonce::cli {

/// "sm_90", or "cpu", as a target. Errors: InvalidArgument.
inline Result<Target> ParseTarget(const std::string& name) { return Target::Named(name); }

/// Reads the name of a GPU target.
inline Result<Target> ParseGpuTarget(const std::string& name) {
  Result<Target> target = Target::Named(name);
  if (target.ok() && !target->is_cpu_device) return target;
  return InvalidArgumentError("target '" + name + "' is unknown: use a name such as sm_90");
}

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TARGET_ARGUMENT_H_
