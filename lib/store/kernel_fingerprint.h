#ifndef TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
#define TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_

#include <string>
#include <vector>

#include "tuneonce/fingerprint.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The definition's identity, which the key of its records has: name and version, parameters, key recipe, and of every
/// variant for the problem's target its sources, hints, parameters, convention and assumptions. The list of configs and
/// tolerances are no part of it: a record says which configs it knows (ConfigsFingerprint) and what it was verified
/// under (Verification).
///
/// Functions cannot be hashed. Geometry, derived values and sizes of workspaces are evaluated for the first of
/// `configs` at two fixed shapes; a function that changes elsewhere alone, and what a launcher does, need another
/// version. Errors: those of the definition's source and hints functions. REQUIRES: `definition` was validated.
TUNEONCE_API Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition,
                                                   const std::vector<Config>& configs, const Problem& problem);

/// Instead of KernelFingerprint, for kernels that share choices: of the choice's name and the configs alone.
TUNEONCE_API Fingerprint SharedChoiceFingerprint(const std::string& shared_choice, const std::vector<Config>& configs);

/// Identifies a list of configs: TuningRecord::configs.
TUNEONCE_API Fingerprint ConfigsFingerprint(const std::vector<Config>& configs);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
