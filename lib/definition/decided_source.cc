#include "definition/decided_source.h"

#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "definition/source_identity.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Extents with which a source is made again: the least one, an odd one, a multiple of no power of two that is large, a
/// power of two, and one above most thresholds. A function whose result is the same for all of them and differs for
/// another one is not noticed.
constexpr std::array<std::int64_t, 5> kOtherExtents = {1, 97, 1000, 4096, 1 << 20};

/// Returns the fingerprint of the source with this extent of `dim`, or of all dims that the key does not decide if
/// `dim` is null. An exception counts as a result of its own.
std::optional<Fingerprint> SourceWith(const Variant& variant, const Config& config, Problem problem,
                                      const std::vector<Dim>& dims, std::int64_t extent) {
  for (Dim dim : dims) problem.dims[dim] = extent;
  Result<KernelSource> made = CallUser("a source function", [&] { return variant.MakeSource(config, problem); });
  if (!made.ok()) return std::nullopt;
  return made->Fingerprint();
}

bool Depends(const Variant& variant, const Config& config, const Problem& problem, const std::vector<Dim>& dims,
             const Fingerprint& made) {
  for (std::int64_t extent : kOtherExtents) {
    const std::optional<Fingerprint> other = SourceWith(variant, config, problem, dims, extent);
    if (!other || !(*other == made)) return true;
  }
  return false;
}

}  // namespace

Result<KernelSource> MakeDecidedSource(const KernelDefinition& definition, const Variant& variant, const Config& config,
                                       const Problem& problem) {
  const std::string what =
      "the source function of kernel '" + definition.name() + "' at config {" + config.ToString() + "}";
  const Problem decided = definition.DecidedByKey(problem);
  TUNEONCE_ASSIGN_OR_RETURN(KernelSource made, CallUser(what, [&] { return variant.MakeSource(config, decided); }));
  const std::vector<Dim> undecided = definition.DimsUndecidedByKey();
  const bool is_of_config = variant.source.target<IdentifiedSource>() != nullptr;
  if (undecided.empty() || is_of_config || !made.Check().ok()) return made;
  const Fingerprint fingerprint = made.Fingerprint();
  if (!Depends(variant, config, decided, undecided, fingerprint)) return made;
  std::string name = definition.dims()[static_cast<std::size_t>(undecided.front().index)];
  for (Dim dim : undecided) {
    if (!Depends(variant, config, decided, {dim}, fingerprint)) continue;
    name = definition.dims()[static_cast<std::size_t>(dim.index)];
    break;
  }
  return InvalidArgumentError(absl::StrCat(
      what, " reads the dim '", name,
      "', which the key rounds or omits, so that launches with another extent would run the same code: add KeyOf(\"",
      name, "\") without a bucket to the key, or pass the dim to the kernel"));
}

}  // namespace v0
}  // namespace tuneonce
