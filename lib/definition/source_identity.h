#ifndef TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_
#define TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/config.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Whether a kernel's symbol is more than a name that tools take as it is: "ns::reduce", "reduce<TILE, float>".
bool IsNameExpression(std::string_view symbol);

/// "reduce" of "ns::reduce<TILE, float>" and of "reduce": what the kernel is called where it is defined.
std::string_view KernelNameIn(std::string_view symbol);

/// A name expression with the macros' values in place of their names.
struct NameExpression {
  std::string text;                  ///< "ns::reduce<128, float>".
  std::vector<std::string> defines;  ///< The macros ("TILE=128") that the expression does not name.

  /// Makes an expression; `defines` is as in KernelSource. The kernel's own name, and a name after "::", is never
  /// replaced.
  static NameExpression Of(std::string_view symbol, const std::vector<std::string>& defines);
};

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

/// Returns whether the variant's sources and hints are known without making them for each config: its source has an
/// identity (IdentifiedSource), and the config alone decides its hints.
bool IsIdentified(const Variant& variant);

/// Returns the part of a kernel's key that covers a variant, besides `configs` themselves: what decides the sources
/// that it makes of them (Variant::MakeSource) and their hints. It differs if one of these differs. `configs` is not
/// read if IsIdentified. REQUIRES: the variant has a source. Throws what its functions throw.
Fingerprint VariantFingerprint(const Variant& variant, const std::vector<Config>& configs, const Problem& problem);

/// `pattern` with each "{AXIS}" replaced by the axis's value. Errors: InvalidArgument for an axis that the config does
/// not have, or a brace that does not close.
Result<std::string> ExpandAxes(const std::string& pattern, const Config& config);

/// Makes the source from a config's file. In both patterns "{AXIS}" stands for the config's value of that axis. Errors
/// (an axis that the config lacks, a file that cannot be read) are returned by the source's Check.
KernelSource SourceInFile(SourceKind kind, const std::string& file_pattern, const std::string& symbol_pattern,
                          const Config& config);

/// Makes the source of `variant` for `config` and all launches that share the key of `problem`. It must depend only on
/// what the key decides: a source that reads a dim which the key rounds or omits would be compiled for one launch and
/// run for others. Reading such a dim cannot be refused like reading a scalar, because `Problem::dims` is read by an
/// inline function on the hot path. So the source is made again with other values of those dims and compared. Errors:
/// InvalidArgument naming the function, the config and the dim; an exception of the function.
Result<KernelSource> MakeDecidedSource(const KernelDefinition& definition, const Variant& variant, const Config& config,
                                       const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SOURCE_IDENTITY_H_
