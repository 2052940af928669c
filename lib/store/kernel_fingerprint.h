#ifndef TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
#define TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_

#include <string>
#include <vector>

#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Returns the definition's identity, which is part of the key of its records: name and version, parameters, key, and
/// the sources, hints, parameters, convention and assumptions of every variant for the problem's target. The list of
/// configs and the tolerances are not part of it, because a record contains the configs that it covers
/// (ConfigsFingerprint) and the conditions of its verification (Verification).
///
/// Functions cannot be hashed. Geometry, derived values and workspace sizes are evaluated for the first of `configs` at
/// two fixed shapes. A function that changes only elsewhere, and a changed launcher, need another version. Errors:
/// those of the definition's source and hints functions. REQUIRES: `definition` was validated.
TUNEONCE_API Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition,
                                                   const std::vector<Config>& configs, const Problem& problem);

/// Instead of KernelFingerprint, for kernels that share selections: of the group's name and the configs alone.
TUNEONCE_API Fingerprint SelectionGroupFingerprint(const std::string& selection_group,
                                                   const std::vector<Config>& configs);

/// Identifies a list of configs: TuningRecord::configs.
TUNEONCE_API Fingerprint ConfigsFingerprint(const std::vector<Config>& configs);

// The keys by which stores find records.

/// Returns the fingerprint of the whole key, by which records are stored and leased.
TUNEONCE_API Fingerprint FullKey(const TuningKey& key);
/// Returns the fingerprint that records of all devices and drivers share: kernel and key words.
TUNEONCE_API Fingerprint KernelKey(const TuningKey& key);
/// Returns the fingerprint that records of all sources of a kernel share: its name and key words.
TUNEONCE_API Fingerprint ShapeKey(const TuningKey& key);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
