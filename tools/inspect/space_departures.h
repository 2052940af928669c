#ifndef TUNEONCE_TOOLS_INSPECT_SPACE_DEPARTURES_H_
#define TUNEONCE_TOOLS_INSPECT_SPACE_DEPARTURES_H_

#include <string>
#include <vector>

#include "inspect/classified_bundle.h"

namespace tuneonce {
inline namespace v0 {

/// Where the space of `definition` departs from what kernels like it want on the target: no baseline; axes that mean
/// nothing to Tile IR; Tile IR without occupancy; tiles that are smaller than all that the family tries; clusters for a
/// kernel that is bound by memory, and those that may not end; a tensor that is written in place and not declared so.
/// `classified`: all of it but the departures. `configs`: those of the target.
std::vector<std::string> SpaceDepartures(const KernelDefinition& definition, const std::vector<Config>& configs,
                                         const ClassifiedBundle& classified);

/// Whether some axis changes the code: a structural one, but `backend`, with more than one value.
bool HasStructuralSelection(const std::vector<Config>& configs);

/// What in the Tile IR of these variants makes a kernel slow, incorrect or hang, each a sentence that states why and
/// what to do. Where one variant knows a tensor's strides to be aligned, others are not warned of it: they are there
/// for other arguments. `variants`: those of the target.
std::vector<std::string> CodeWarnings(const KernelDefinition& definition,
                                      const std::vector<ClassifiedBundle::OfVariant>& variants, const Target& target);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_INSPECT_SPACE_DEPARTURES_H_
