#ifndef TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
#define TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"
#include "tuneonce/search_space.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the definition's identity, which is part of the key of its records: name and version, parameters, key, and
/// the sources, hints, parameters, convention and assumptions of every variant for the problem's target. The list of
/// configs and the tolerances are not part of it, because a record contains the configs that it covers
/// (ConfigsFingerprint) and the conditions of its verification (Verification).
///
/// Functions cannot be hashed. Geometry, derived values and workspace sizes are evaluated for the space's first config
/// on the target at three fixed shapes. A function that changes only elsewhere, and a changed launcher, need another
/// version. The space is enumerated only if a function makes a variant's sources or hints, which are then made for all
/// configs, or for 256 of a larger space: a change that concerns none of these needs another version. Errors: those of
/// the space and of the definition's source and hints functions. REQUIRES: `definition` was validated.
Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition, const Problem& problem);
/// The configs of a kernel's space on a target, for a caller that keeps them.
struct KeptConfigs {
  std::function<Result<Config>()> first;
  std::function<Result<const std::vector<Config>*>()> all;
};
/// Returns KernelFingerprint of configs that the caller keeps, so that several keys enumerate the space once.
Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition, const Problem& problem,
                                      const KeptConfigs& configs);

/// Instead of KernelFingerprint, for kernels that share selections: of the group's name and the configs alone.
Fingerprint SelectionGroupFingerprint(const std::string& selection_group, const std::vector<Config>& configs);

/// Identifies the configs of a space on a target by what decides them, without enumerating them:
/// SearchSpace::Identity, and the target's properties, which conditions may read.
std::uint64_t SpaceIdentity(const SearchSpace& space, const Target& target);

/// Identifies the configs that were searched: TuningRecord::configs. Its high half is `space`, the SpaceIdentity, and
/// its low half is a hash of `configs` and of the guards of `of_configs`, their space. So that a record may serve
/// another space with the same configs and guards, one equal half is enough.
Fingerprint ConfigsFingerprint(const SearchSpace& of_configs, std::uint64_t space, const std::vector<Config>& configs);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
