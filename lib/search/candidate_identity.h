#ifndef TUNEONCE_LIB_SEARCH_CANDIDATE_IDENTITY_H_
#define TUNEONCE_LIB_SEARCH_CANDIDATE_IDENTITY_H_

#include <vector>

#include "search/candidate.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

/// Returns whether launches of both compiled candidates do the same: code, variant, geometry, and every argument and
/// workspace size that depends on the config are equal, at the dims that the candidates were planned for and at each of
/// `dims`. A host's function that fills a descriptor cannot be compared, so kernels with such a parameter are never
/// equal, and neither are candidates with a launcher. Calls functions of the definition.
bool LaunchesAlike(const Candidate& a, const Candidate& b, const std::vector<Dims>& dims = {});

/// Identifies a compiled candidate in records, so that a record states which code was measured and verified: the
/// kernel's name and version, the config, the variant, the code, and what the launch computes from the config at two
/// fixed shapes. It does not depend on the call that the candidate was planned for. Calls functions of the definition.
Fingerprint CandidateIdentity(const Candidate& candidate);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CANDIDATE_IDENTITY_H_
