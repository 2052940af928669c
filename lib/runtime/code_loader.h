#ifndef TUNEONCE_LIB_RUNTIME_CODE_LOADER_H_
#define TUNEONCE_LIB_RUNTIME_CODE_LOADER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cuda/driver_api.h"
#include "search/candidate.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Loads the code of a config that was chosen already: the store's artifact as it is, or what the toolchains make.
/// Where nothing may be compiled, the toolchains only name the artifact in the cache.
/// REQUIRES: what it is made of outlives it; calls have a target. Thread-safe.
class CodeLoader {
 public:
  CodeLoader(const std::shared_ptr<const KernelDefinition>& definition, const DriverApi& api,
             const AutotunePolicy& policy)
      : definition_(definition), api_(api), policy_(policy) {}

  /// By the variant named `preferred` if it compiles, else by the first that does and is not `left_out`. `interrupted`:
  /// as SearchOptions::interrupted. `artifact` (may be null) gets the name under which the cache keeps the code; zero
  /// of a launcher; `identity` (may be null) its CandidateIdentity. Errors: where nothing may be compiled and the code
  /// is in no cache, what to do about it.
  Result<std::shared_ptr<const LoadedKernel>> Compile(const Config& config, const BoundCall& call, VariantSet left_out,
                                                      const std::string& preferred, bool may_compile,
                                                      const std::function<bool()>& interrupted,
                                                      Fingerprint* artifact = nullptr,
                                                      Fingerprint* identity = nullptr) const;
  /// Without a compiler; null if the store does not have the artifact, or it does not load. `identity`: as Compile.
  std::shared_ptr<const LoadedKernel> LoadStored(const Fingerprint& artifact, const std::string& variant,
                                                 const Config& config, const BoundCall& call,
                                                 Fingerprint* identity = nullptr) const;
  /// True if LoadStored or Compile would find the code without a compiler. Loads nothing.
  bool HasCode(const Fingerprint& artifact, const std::string& variant, const Config& config, const BoundCall& call,
               VariantSet left_out) const;
  /// The variant that builds the config for the call: the one named `preferred` if it suits. Empty where that shows
  /// only when it is compiled.
  std::string VariantOf(const std::string& preferred, const Config& config, const BoundCall& call,
                        VariantSet left_out) const;

 private:
  Result<Candidate> Built(const Config& config, const BoundCall& call, VariantSet left_out,
                          const std::string& preferred, bool may_compile,
                          const std::function<bool()>& interrupted) const;
  std::optional<Candidate> Stored(const Fingerprint& artifact, const std::string& variant, const Config& config,
                                  const BoundCall& call) const;

  const std::shared_ptr<const KernelDefinition>& definition_;
  const DriverApi& api_;
  const AutotunePolicy& policy_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CODE_LOADER_H_
