#include "store/kernel_fingerprint.h"

#include "base/callback.h"
#include "definition/source_identity.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition, const std::vector<Config>& configs,
                                      const Problem& problem) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition.VariantsFor(problem.target));
  Fingerprinter fingerprinter;
  fingerprinter.Add(definition.name()).Add(definition.version()).Add(configs.size());
  for (const Config& config : configs) fingerprinter.Add(config.Canonical());
  for (const Variant* variant : variants) {
    fingerprinter.Add(variant->name);
    if (variant->launcher) continue;
    TUNEONCE_ASSIGN_OR_RETURN(Fingerprint of_variant,
                              CallUser("a source or hints function of kernel '" + definition.name() + "'",
                                       [&] { return VariantFingerprint(*variant, configs, problem); }));
    fingerprinter.Add(of_variant);
  }
  return fingerprinter.Finish();
}

Fingerprint SharedChoiceFingerprint(const std::string& shared_choice, const std::vector<Config>& configs) {
  Fingerprinter fingerprinter;
  fingerprinter.Add("shared choice").Add(shared_choice).Add(configs.size());
  for (const Config& config : configs) fingerprinter.Add(config.Canonical());
  return fingerprinter.Finish();
}

}  // namespace v0
}  // namespace tuneonce
