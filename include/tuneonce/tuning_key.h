#ifndef TUNEONCE_TUNING_KEY_H_
#define TUNEONCE_TUNING_KEY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {

/// What a tuning record is found by. A value.
struct TuningKey {
  std::string kernel;                    ///< Name, for people.
  Fingerprint kernel_fingerprint;        ///< KernelFingerprint.
  std::vector<std::uint64_t> key_words;  ///< CallBinder::KeyWords: dims (by bucket), dtypes, flags.
  std::string key_text;                  ///< The same for people: "M<=4096, N=1024, x:float32".
  std::string device_name;
  int capability = 0;  ///< 90 for 9.0; 0 on the CPU device.
  int num_sms = 0;
  int driver_version = 0;

  /// Everything but the driver's version agrees.
  TUNEONCE_API bool SameDevice(const TuningKey& other) const;
  /// Kernel and key words agree.
  TUNEONCE_API bool SameKernel(const TuningKey& other) const;
};

/// Of everything that decides what a record means: name, version, and for each config its values, and the source and
/// hints of every variant for the problem's target.
/// Functions cannot be hashed: what they do beyond that is covered by the declared version.
/// Errors: those of the definition's functions.
TUNEONCE_API Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition,
                                                   const std::vector<Config>& configs, const Problem& problem);

/// Instead of KernelFingerprint, for kernels that share choices: of the choice's name and the configs alone.
TUNEONCE_API Fingerprint SharedChoiceFingerprint(const std::string& shared_choice, const std::vector<Config>& configs);

}  // namespace tuneonce

#endif  // TUNEONCE_TUNING_KEY_H_
