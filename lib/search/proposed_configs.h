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
  /// A note for the result: why only some configs are tried, or why no model was used. May be empty.
  std::string note;
};

/// Returns those of `configs`, which fit the problem, that a search should try. It returns all of them unless the
/// kernel is a matmul (KernelDefinition::Matmul), more than `max_proposed` (> 0) fit, and nvMatmulHeuristics proposes
/// some for the problem on `device`. Then it returns those nearest to its proposals, at most `max_proposed`, and
/// `baseline` if given.
TUNEONCE_API ProposedConfigs ProposeConfigs(const KernelDefinition& definition, const Problem& problem,
                                            const DeviceIdentity& device, std::vector<Config> configs,
                                            const std::optional<Config>& baseline, int max_proposed,
                                            const Environment& environment);

/// Returns the `most` of `configs` that are nearest to a proposal, in their order. The distance of two configs is the
/// sum of |log2| of the ratios of the tile's extents, plus an eighth of that for stages, warps, parts of K and blocks
/// per cluster, if the space has such axes (a hint of 0 is the compiler's own value and has no distance). Between equal
/// distances the earlier proposal counts. Axes that the model does not cover do not count.
TUNEONCE_API std::vector<Config> NearestTo(const std::vector<MatmulProposal>& proposals, const MatmulParts& parts,
                                           const std::vector<Config>& configs, std::size_t most);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_PROPOSED_CONFIGS_H_
