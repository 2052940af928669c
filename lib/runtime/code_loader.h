#ifndef TUNEONCE_LIB_RUNTIME_CODE_LOADER_H_
#define TUNEONCE_LIB_RUNTIME_CODE_LOADER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/kernel_parts.h"
#include "runtime/key_in_store.h"
#include "runtime/ready_keys.h"
#include "search/candidate.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/wait_limits.h"

namespace tuneonce {
inline namespace v0 {

/// Loads the code of a config that was selected before, from the store's artifact or by compiling it. If compiling is
/// not allowed, the toolchains only compute the artifact's key in the cache. REQUIRES: the constructor's arguments
/// outlive it; calls have a target. Thread-safe.
class CodeLoader {
 public:
  explicit CodeLoader(const KernelParts& kernel)
      : definition_(kernel.definition), policy_(kernel.policy), ready_keys_(kernel.ready_keys) {}

  /// Loads the config's code, built by the variant `preferred` if that compiles, else by the first variant that does
  /// and is not in `left_out`. `stop` ends compiling. If they are not null, `*artifact` gets the
  /// code's key in the cache (zero for a launcher), `*identity` its CandidateIdentity, and `*toolchain` its
  /// Artifact::toolchain. Errors: if compiling is not allowed and no cache has the code, a message that states what to
  /// do.
  Result<std::shared_ptr<const LoadedKernel>> Compile(const Config& config, const BoundCall& call, VariantSet left_out,
                                                      const std::string& preferred, bool may_compile,
                                                      const StopToken& stop, Fingerprint* artifact = nullptr,
                                                      Fingerprint* identity = nullptr,
                                                      std::string* toolchain = nullptr) const;
  /// Loads stored code without a compiler. Returns null if the store does not have the artifact or it does not load. If
  /// `identity` is not null it gets the code's CandidateIdentity.
  std::shared_ptr<const LoadedKernel> LoadStored(const Fingerprint& artifact, const std::string& variant,
                                                 const Config& config, const BoundCall& call,
                                                 Fingerprint* identity = nullptr) const;
  /// Returns the CandidateIdentity of the code that LoadStored or Compile would load for the call without a compiler.
  /// Loads nothing.
  Result<Fingerprint> IdentityOf(const Fingerprint& artifact, const std::string& variant, const Config& config,
                                 const BoundCall& call, VariantSet left_out) const;
  /// Returns whether LoadStored or Compile would find the code without a compiler. Loads nothing.
  bool HasCode(const Fingerprint& artifact, const std::string& variant, const Config& config, const BoundCall& call,
               VariantSet left_out) const;
  /// Returns whether the code of `verified` has changed since by a file that it includes: the store has its artifact,
  /// but made of other files than now, or with another CandidateIdentity. Loads nothing. What the store does not have
  /// counts as unchanged.
  bool HasChanged(const CandidateOutcome& verified, const KeyInStore& key, const BoundCall& call) const;
  /// Returns the variant that builds the config for the call: `preferred` if it accepts the arguments. Empty if that is
  /// only known after compiling.
  std::string VariantOf(const std::string& preferred, const Config& config, const BoundCall& call,
                        VariantSet left_out) const;

 private:
  Result<Candidate> Built(const Config& config, const BoundCall& call, VariantSet left_out,
                          const std::string& preferred, bool may_compile, const StopToken& stop) const;
  /// The stored artifact, whether or not the files that it was made of are the same now.
  std::optional<Artifact> ArtifactOf(const Fingerprint& key) const;
  std::optional<Candidate> Planned(const std::string& variant, const Config& config, const BoundCall& call) const;
  std::optional<Candidate> Stored(const Fingerprint& artifact, const std::string& variant, const Config& config,
                                  const BoundCall& call) const;

  const std::shared_ptr<const KernelDefinition>& definition_;
  const AutotunePolicy& policy_;
  ReadyKeys& ready_keys_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_CODE_LOADER_H_
