#ifndef TUNEONCE_LIB_LAUNCH_CALL_LAUNCHER_H_
#define TUNEONCE_LIB_LAUNCH_CALL_LAUNCHER_H_

#include <cuda.h>

#include <cstdint>

#include "launch/call_binder.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Launches a config by the launcher of its variant, for trials and for production. `workspaces` has one address per
/// workspace parameter, in order. Errors, which name kernel and variant: what the launcher returns or throws
/// (InvalidArgument), or its first lookup that failed.
TUNEONCE_API Status CallLauncher(const KernelDefinition& definition, const Variant& variant, const Config& config,
                                 CUstream stream, const BoundCall& call, const std::uint64_t* workspaces);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_CALL_LAUNCHER_H_
