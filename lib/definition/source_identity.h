#ifndef TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_
#define TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/fingerprint.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// A Variant::source that also says what all its sources are made of, which costs less than to make them: a key on disk
/// is of the sources of all configs, and a bundle has a megabyte of them. It is one value, so that a variant that gets
/// another source cannot keep the identity of this one.
struct IdentifiedSource {
  Variant::SourceFn whole;
  /// Of everything that decides what `whole` makes, but the config and the problem.
  std::function<Fingerprint()> identity;

  KernelSource operator()(const Config& config, const Problem& problem) const { return whole(config, problem); }
};

/// Variant::hints of code that has no hints but those of the config's axes: none, or these and what the code itself
/// says of others. What they are for a config is decided by the config.
struct HintsOfAxes {
  bool are_taken;
  Hints operator()(const Config& config) const {
    return are_taken ? Hints::OfConfig(config).Set(Hints::Update::kMerge) : Hints();
  }
};

/// KernelSource::TextFingerprint of this content, with headers by name.
Fingerprint TextFingerprint(std::string_view content,
                            const std::vector<std::pair<std::string_view, std::string_view>>& headers);

/// What a kernel's key holds of a variant, beside `configs` themselves: what decides the sources that it makes of them
/// (Variant::MakeSource), and their hints; where one of these differs, it differs. REQUIRES: it has a source. Throws
/// what its functions throw.
Fingerprint VariantFingerprint(const Variant& variant, const std::vector<Config>& configs, const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_
