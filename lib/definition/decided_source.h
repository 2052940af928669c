#ifndef TUNEONCE_LIB_DEFINITION_DECIDED_SOURCE_H_
#define TUNEONCE_LIB_DEFINITION_DECIDED_SOURCE_H_

#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Makes the source of `variant` for `config` and all launches that share the key of `problem`. It must depend only on
/// what the key decides: a source that reads a dim which the key rounds or omits would be compiled for one launch and
/// run for others. Reading such a dim cannot be refused like reading a scalar, because `Problem::dims` is read by an
/// inline function on the hot path. So the source is made again with other values of those dims and compared. Errors:
/// InvalidArgument naming the function, the config and the dim; an exception of the function.
Result<KernelSource> MakeDecidedSource(const KernelDefinition& definition, const Variant& variant, const Config& config,
                                       const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_DECIDED_SOURCE_H_
