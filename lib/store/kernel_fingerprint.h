#ifndef TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
#define TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_

#include <string>
#include <vector>

#include "tuneonce/fingerprint.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Of everything that decides what a record means: name, version, and for each config its values, and the source and
/// hints of every variant for the problem's target.
/// Functions cannot be hashed: what they do beyond that, and all that a launcher does, is covered by the declared
/// version.
/// Errors: those of the definition's functions.
TUNEONCE_API Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition,
                                                   const std::vector<Config>& configs, const Problem& problem);

/// Instead of KernelFingerprint, for kernels that share choices: of the choice's name and the configs alone.
TUNEONCE_API Fingerprint SharedChoiceFingerprint(const std::string& shared_choice, const std::vector<Config>& configs);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_KERNEL_FINGERPRINT_H_
