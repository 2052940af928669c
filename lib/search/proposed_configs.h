#ifndef TUNEONCE_LIB_SEARCH_PROPOSED_CONFIGS_H_
#define TUNEONCE_LIB_SEARCH_PROPOSED_CONFIGS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "search/matmul_heuristics.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Which of a problem's configs are tried.
struct ProposedConfigs {
  std::vector<Config> configs;  ///< In the space's order.
  std::string note;             ///< For the result: why not all, or why no model was asked. Empty: nothing to say.
};

/// Of `configs`, which fit the problem: all, unless the kernel is a matmul (KernelDefinition::Matmul), there are more
/// than `max_proposed` (> 0), and nvMatmulHeuristics proposes some for the problem on `device`. Then those next to its
/// proposals, `max_proposed` at most, and `baseline`, if there is one.
TUNEONCE_API ProposedConfigs ProposeConfigs(const KernelDefinition& definition, const Problem& problem,
                                            const DeviceIdentity& device, std::vector<Config> configs,
                                            const std::optional<Config>& baseline, int max_proposed,
                                            const Environment& environment);

/// The `most` of `configs` that are next to a proposal, in their order. Distances are ours: log2 of how far apart the
/// tile's extents are, added up, and an eighth of that of stages, warps, parts of K and blocks per cluster, where the
/// space has such axes (0 of a hint is the compiler's choice, and far from nothing). Of two as near, the one whose
/// proposal comes first. Axes of which the model says nothing do not count.
TUNEONCE_API std::vector<Config> NearestTo(const std::vector<MatmulProposal>& proposals, const MatmulParts& parts,
                                           const std::vector<Config>& configs, std::size_t most);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_PROPOSED_CONFIGS_H_
