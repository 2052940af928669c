#include "search/candidate_identity.h"

#include <algorithm>

#include "launch/launch_words.h"
#include "launch/parameter_block.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::vector<std::uint64_t> WordsOf(const Candidate& candidate, const ParameterLayout& layout, const Problem& problem) {
  return LaunchWords(*candidate.definition, *candidate.variant, layout, candidate.config, problem);
}

}  // namespace

bool LaunchesAlike(const Candidate& a, const Candidate& b, const std::vector<Dims>& dims) {
  if (a.is_callable() || b.is_callable()) return false;  // The host's functions cannot be compared.
  // Another variant may take other parameters, in another order.
  if (!(a.artifact.code_fingerprint == b.artifact.code_fingerprint) || a.definition != b.definition ||
      a.variant != b.variant || a.convention != b.convention || !(a.geometry == b.geometry)) {
    return false;
  }
  if (a.variant == nullptr) return true;  // In a search without a definition the config decides no argument.
  if (HasFilledDescriptor(*a.definition, *a.variant)) return false;
  Result<ParameterLayout> layout = LayoutOf(a);
  if (!layout.ok()) return false;
  Problem problem = a.call.problem;
  if (WordsOf(a, *layout, problem) != WordsOf(b, *layout, problem)) return false;
  return std::all_of(dims.begin(), dims.end(), [&](const Dims& each) {
    problem.dims = each;
    return WordsOf(a, *layout, problem) == WordsOf(b, *layout, problem);
  });
}

Fingerprint CandidateIdentity(const Candidate& candidate) {
  Fingerprinter identity;
  if (candidate.definition == nullptr) return identity.Finish();
  identity.Add(candidate.config.Canonical()).Add(candidate.variant_name());
  identity.Add(candidate.definition->name()).Add(candidate.definition->version());  // All there is of a launcher.
  if (candidate.is_callable()) return identity.Finish();
  identity.Add(candidate.artifact.code_fingerprint);
  Result<ParameterLayout> layout = LayoutOf(candidate);
  if (!layout.ok() || candidate.variant == nullptr) return identity.Finish();
  // Scalars that the key does not name differ between launches; what reads one has no value here.
  AddProbedWords(*candidate.definition, *candidate.variant, *layout, candidate.config,
                 candidate.definition->DecidedByKey(candidate.call.problem), &identity);
  return identity.Finish();
}

}  // namespace v0
}  // namespace tuneonce
