#ifndef TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_
#define TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_

#include "launch/assumption.h"
#include "launch/parameter_block.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
inline namespace v0 {

/// Compares what the Tile IR or PTX of `config` states that it assumes of its parameters with the variant's
/// assumptions, which each launch fulfils. Other kinds of source state nothing, and code that cannot be read passes:
/// its compiler says why. Errors: InvalidArgument that names what the code assumes and what to declare. REQUIRES:
/// `layout` is the variant's.
Status CheckAssumptionsOfCode(const AssumptionChecks& declared, const ParameterLayout& layout, const Config& config,
                              const KernelSource& source);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_
