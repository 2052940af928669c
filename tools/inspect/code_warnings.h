#ifndef TUNEONCE_TOOLS_INSPECT_CODE_WARNINGS_H_
#define TUNEONCE_TOOLS_INSPECT_CODE_WARNINGS_H_

#include <string>
#include <vector>

#include "inspect/classified_bundle.h"

namespace tuneonce {
inline namespace v0 {

/// What in the Tile IR of these variants makes a kernel slow, incorrect or hang, each a sentence that states why and
/// what to do. Where one variant knows a tensor's strides to be aligned, others are not warned of it: they are there
/// for other arguments. `variants`: those of the target.
std::vector<std::string> CodeWarnings(const KernelDefinition& definition,
                                      const std::vector<ClassifiedBundle::OfVariant>& variants, const Target& target);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_CODE_WARNINGS_H_
