#ifndef TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_
#define TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_

#include <string>
#include <vector>

#include "launch/assumption.h"
#include "launch/parameter_block.h"
#include "tuneonce/geometry.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"

namespace tuneonce {
inline namespace v0 {

/// OK if what the code of `config` assumes of a kernel's parameter follows from the declared assumptions, or from the
/// term of a derived parameter. Errors: InvalidArgument that names what the variant has to declare. REQUIRES: `layout`
/// is the variant's and has such a parameter.
Status CoverAssumption(const AssumptionChecks& declared, const ParameterLayout& layout, const Config& config,
                       const CodeAssumption& of_code);
/// Adds to `declared` what the code of `config` assumes and does not follow from it, so that a launch that does not
/// fulfil it is refused. `*has_more` is set to whether there is any. Errors: InvalidArgument for what the definition
/// contradicts, so that no launch fulfils it, and for what no launch can be checked for. REQUIRES: as CoverAssumption.
Status AddAssumptionsOfCode(const ParameterLayout& layout, const Config& config,
                            const std::vector<CodeAssumption>& of_code, AssumptionChecks* declared, bool* has_more);

/// Compares the assumptions in the Tile IR or PTX of `config` about its parameters with the variant's, which each
/// launch checks. Other kinds of source state no assumptions, and code that cannot be read passes, because its compiler
/// reports why. Errors: InvalidArgument that names the assumption and what to declare. REQUIRES: `layout` is the
/// variant's.
Status CheckAssumptionsOfCode(const AssumptionChecks& declared, const ParameterLayout& layout, const Config& config,
                              const KernelSource& source);

/// OK unless the launch is programmatic (Geometry::programmatic_launch) and the code, which is Tile IR or PTX, never
/// waits for the kernels before it: it could read what they have not written yet, which no trial would show, since
/// nothing precedes a trial. Other kinds of source, and code that cannot be read, pass. Errors: InvalidArgument.
Status CheckProgrammaticLaunch(const Geometry& geometry, const KernelSource& source);

/// What Tile IR or PTX states that it assumes of its parameters. Empty for other kinds, and for code that cannot be
/// read.
std::vector<CodeAssumption> AssumptionsInCode(const KernelSource& source);

/// "the dim 'K' is a multiple of 16", for each assumption, but none that an extent or a stride is not negative, which
/// every launch fulfils, and none of parameters that are not declared. REQUIRES: `layout` is of `definition`.
std::vector<std::string> AssumptionTexts(const KernelDefinition& definition, const ParameterLayout& layout,
                                         const std::vector<CodeAssumption>& of_code);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_CODE_ASSUMPTIONS_H_
