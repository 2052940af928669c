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

/// A Variant::source with a fingerprint of everything that its sources are made of, which is cheaper than making them:
/// a key on disk covers the sources of all configs, and a bundle has a megabyte of them. Both are one value, so that a
/// variant that gets another source cannot keep this fingerprint.
struct IdentifiedSource {
  Variant::SourceFn whole;
  /// Returns the fingerprint of everything that decides the result of `whole`, except the config and the problem.
  std::function<Fingerprint()> identity;

  KernelSource operator()(const Config& config, const Problem& problem) const { return whole(config, problem); }
};

/// A Variant::hints of code whose hints are those of the config's axes, possibly combined with the code's own. The
/// config alone decides the result.
struct HintsOfAxes {
  bool are_taken;
  Hints operator()(const Config& config) const {
    return are_taken ? Hints::OfConfig(config).Set(Hints::Update::kMerge) : Hints();
  }
};

/// KernelSource::TextFingerprint of this content, with headers by name.
Fingerprint TextFingerprint(std::string_view content,
                            const std::vector<std::pair<std::string_view, std::string_view>>& headers);

/// Returns the part of a kernel's key that covers a variant, besides `configs` themselves: what decides the sources
/// that it makes of them (Variant::MakeSource) and their hints. It differs if one of these differs. REQUIRES: the
/// variant has a source. Throws what its functions throw.
Fingerprint VariantFingerprint(const Variant& variant, const std::vector<Config>& configs, const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_
