#include "tuneonce/store/tuning_key.h"

#include "base/callback.h"

namespace tuneonce {

bool TuningKey::SameDevice(const TuningKey& other) const {
  return device_name == other.device_name && capability == other.capability && num_sms == other.num_sms;
}

bool TuningKey::SameKernel(const TuningKey& other) const {
  return kernel_fingerprint == other.kernel_fingerprint && key_words == other.key_words;
}

Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition, const Variant& variant,
                                      const std::vector<Config>& configs, const Problem& problem) {
  Fingerprinter fingerprinter;
  fingerprinter.Add(definition.name()).Add(definition.version()).Add(variant.name).Add(configs.size());
  for (const Config& config : configs) {
    TUNEONCE_ASSIGN_OR_RETURN(KernelSource source, CallUser("the source function of kernel '" + definition.name() + "'",
                                                            [&] { return variant.source(config, problem); }));
    TUNEONCE_ASSIGN_OR_RETURN(Hints hints, CallUser("the hints function of kernel '" + definition.name() + "'", [&] {
                                return variant.hints ? variant.hints(config) : Hints::OfConfig(config);
                              }));
    fingerprinter.Add(config.ToString()).Add(source.Fingerprint()).Add(hints.ToString(problem.target));
  }
  return fingerprinter.Finish();
}

}  // namespace tuneonce
