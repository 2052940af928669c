#ifndef TUNEONCE_LIB_LAUNCH_LAUNCH_WORDS_H_
#define TUNEONCE_LIB_LAUNCH_LAUNCH_WORDS_H_

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "launch/call_binder.h"
#include "launch/parameter_block.h"
#include "tuneonce/geometry.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// All that a launch at `problem` computes of a config: geometry, derived values, sizes of workspaces and boxes of
/// tensor maps. Launches with equal words and equal code do the same, but for descriptors that a function of the host's
/// fills. A value that cannot be computed (the function throws, it does not fit) has a word of its own. Calls functions
/// of the definition. REQUIRES: `layout` is the variant's, which has a source.
std::vector<std::uint64_t> LaunchWords(const KernelDefinition& definition, const Variant& variant,
                                       const ParameterLayout& layout, const Config& config, const Problem& problem);

/// Adds LaunchWords at fixed extents of all dims, and at fixed values of the whole-number scalars that `problem` has no
/// values for, for identities in which no launch may count. Other values are those of `problem`.
void AddProbedWords(const KernelDefinition& definition, const Variant& variant, const ParameterLayout& layout,
                    const Config& config, Problem problem, Fingerprinter* fingerprinter);

/// True if launches of the variant take a descriptor that a function of the host's fills.
bool HasFilledDescriptor(const KernelDefinition& definition, const Variant& variant);

/// Launches a config by the launcher of its variant, for trials and for production. `workspaces` has one address per
/// workspace parameter, in order. Errors, which name kernel and variant: what the launcher returns or throws
/// (InvalidArgument), or its first lookup that failed.
Status CallLauncher(const KernelDefinition& definition, const Variant& variant, const Config& config, CUstream stream,
                    const BoundCall& call, const std::uint64_t* workspaces);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_LAUNCH_WORDS_H_
