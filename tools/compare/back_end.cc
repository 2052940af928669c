#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "compare/kernel_comparison.h"
#include "definition/source_identity.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The bits of the variants that `backend` is not.
Result<VariantSet> VariantsWithout(const KernelDefinition& definition, const std::string& backend,
                                   const Target& target) {
  VariantSet left_out;
  if (backend.empty()) return left_out;
  const std::vector<Variant>& all = definition.variants();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> here, definition.VariantsFor(target));
  std::vector<const Variant*> chosen;
  std::copy_if(here.begin(), here.end(), std::back_inserter(chosen),
               [&](const Variant* variant) { return variant->BackendName() == backend; });
  if (chosen.empty()) chosen = VariantsNamed(backend, here);
  if (chosen.empty()) {
    auto text_of = [](const Variant* variant) { return absl::StrCat(variant->BackendName(), ":", variant->name); };
    return NotFoundError(absl::StrCat("kernel '", definition.name(), "' has neither a back end nor a variant named '",
                                      backend, "' for ", target.name(),
                                      "; it has (BACKEND:VARIANT): ", ShortListOf(here, text_of, backend)));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(chosen.begin(), chosen.end(), &all[i]) == chosen.end()) left_out = left_out.With(i);
  }
  return left_out;
}

/// True if one of the variants that are not left out builds the config.
bool IsBuiltBy(const std::vector<const Variant*>& here, const KernelDefinition& definition, VariantSet left_out,
               const Config& config) {
  return std::any_of(here.begin(), here.end(), [&](const Variant* variant) {
    const auto place = static_cast<std::size_t>(variant - definition.variants().data());
    return !left_out.Has(place) && variant->IsBackendOf(config);
  });
}

/// `left_out`, and what would stand in for the first of the others: variants with another kind of source at `config`.
Result<VariantSet> WithoutFallbacks(const KernelDefinition& definition, VariantSet left_out, const Problem& problem,
                                    const Config& config) {
  std::optional<SourceKind> kind;
  bool is_callable = false;
  for (std::size_t i = 0; i < definition.variants().size(); ++i) {
    const Variant& variant = definition.variants()[i];
    if (left_out.Has(i)) continue;
    SourceKind variant_kind = SourceKind::kCpuCpp;
    if (!variant.launcher) {
      TUNEONCE_ASSIGN_OR_RETURN(KernelSource source, MakeDecidedSource(definition, variant, config, problem));
      variant_kind = source.kind;
    }
    const bool is_first = !kind;
    if (is_first) is_callable = static_cast<bool>(variant.launcher);
    if (is_first) kind = variant_kind;
    if (variant_kind != *kind || static_cast<bool>(variant.launcher) != is_callable) left_out = left_out.With(i);
  }
  return left_out;
}

}  // namespace

std::vector<const Variant*> VariantsNamed(const std::string& name, const std::vector<const Variant*>& variants) {
  std::vector<const Variant*> named;
  auto add = [&](auto fits) { std::copy_if(variants.begin(), variants.end(), std::back_inserter(named), fits); };
  add([&](const Variant* variant) { return variant->name == name; });
  if (named.empty()) add([&](const Variant* variant) { return absl::StartsWith(variant->name, name + "_"); });
  return named;
}

Result<BackEnd> BackEndNamed(const std::string& backend, const KernelDefinition& definition, const Problem& problem) {
  BackEnd found;
  TUNEONCE_ASSIGN_OR_RETURN(found.configs, definition.space().Enumerate(*problem.target, &problem));
  if (backend.empty()) return found;
  TUNEONCE_ASSIGN_OR_RETURN(found.left_out, VariantsWithout(definition, backend, *problem.target));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> here, definition.VariantsFor(*problem.target));
  std::vector<Config>& configs = found.configs;
  configs.erase(
      std::remove_if(configs.begin(), configs.end(),
                     [&](const Config& config) { return !IsBuiltBy(here, definition, found.left_out, config); }),
      configs.end());
  if (configs.empty()) {
    return FailedPreconditionError(
        absl::StrCat("no config of back end '", backend, "' fits this shape on ", problem.target->name()));
  }
  TUNEONCE_ASSIGN_OR_RETURN(found.left_out, WithoutFallbacks(definition, found.left_out, problem, configs.front()));
  return found;
}

}  // namespace v0
}  // namespace tuneonce
