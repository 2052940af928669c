#ifndef TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_
#define TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_

#include "launch/assumption.h"
#include "launch/parameter_block.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
inline namespace v0 {

/// Compares the assumptions in the Tile IR or PTX of `config` about its parameters with the variant's, which each
/// launch checks. Other kinds of source state no assumptions, and code that cannot be read passes, because its compiler
/// reports why. Errors: InvalidArgument that names the assumption and what to declare. REQUIRES: `layout` is the
/// variant's.
Status CheckAssumptionsOfCode(const AssumptionChecks& declared, const ParameterLayout& layout, const Config& config,
                              const KernelSource& source);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_
