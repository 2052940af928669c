#include "store/kernel_fingerprint.h"

#include "base/callback.h"
#include "definition/source_identity.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition, const std::vector<Config>& configs,
                                      const Problem& problem) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition.VariantsFor(problem.target));
  const std::string of_kernel = " of kernel '" + definition.name() + "'";
  const std::string source_function = "the source function" + of_kernel,
                    hints_function = "the hints function" + of_kernel;
  Fingerprinter fingerprinter;
  fingerprinter.Add(definition.name()).Add(definition.version()).Add(configs.size());
  for (const Config& config : configs) fingerprinter.Add(config.Canonical());
  for (const Variant* variant : variants) {
    fingerprinter.Add(variant->name);
    if (variant->launcher) continue;
    for (const Config& config : configs) {
      if (!variant->IsBackendOf(config)) continue;
      TUNEONCE_ASSIGN_OR_RETURN(
          Fingerprint source, CallUser(source_function, [&] { return SourceFingerprint(*variant, config, problem); }));
      TUNEONCE_ASSIGN_OR_RETURN(Hints hints, CallUser(hints_function, [&] {
                                  return variant->hints ? variant->hints(config) : Hints::OfConfig(config);
                                }));
      fingerprinter.Add(source).Add(hints.Fingerprint());
    }
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
