#ifndef TUNEONCE_LIB_DEFINITION_DECIDED_SOURCE_H_
#define TUNEONCE_LIB_DEFINITION_DECIDED_SOURCE_H_

#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// What `variant` makes of `config` for all launches that share the key of `problem`: only what the key decides may
/// have a say in it. A source that depends on a dim which the key rounds or omits would be compiled for one launch and
/// run for others. `Problem::dims` is read through an inline function on the hot path, so that reading such a dim
/// cannot be refused as reading a scalar is; instead the source is made again with other values of those dims and
/// compared. Errors: InvalidArgument naming the function, the config and the dim; what the function throws.
Result<KernelSource> MakeDecidedSource(const KernelDefinition& definition, const Variant& variant, const Config& config,
                                       const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_DECIDED_SOURCE_H_
