#ifndef TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_
#define TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_

#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/fingerprint.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// A Variant::source that can also say what a source is without making it whole: a key on disk is made of the sources
/// of all configs, and a bundle has a megabyte of them. It is one value, so that a variant that gets another source
/// cannot keep the identity of this one.
struct IdentifiedSource {
  Variant::SourceFn whole;
  /// The same with KernelSource::withheld in place of the text.
  Variant::SourceFn without_text;

  KernelSource operator()(const Config& config, const Problem& problem) const { return whole(config, problem); }
};

/// KernelSource::TextFingerprint of this content, with headers by name.
Fingerprint TextFingerprint(std::string_view content,
                            const std::vector<std::pair<std::string_view, std::string_view>>& headers);

/// Of what `variant` makes (Variant::MakeSource). REQUIRES: it has a source.
Fingerprint SourceFingerprint(const Variant& variant, const Config& config, const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_
