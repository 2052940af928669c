#include "runtime/key_in_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include "search/candidate.h"
#include "search/search_plan.h"
#include "store/kernel_fingerprint.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// Returns what a key in the store has for `left_out`: the bits of variants, and in the upper half a hash of the parts
/// of requirements that fail. Their places depend on the values of axes, which may change between processes.
std::uint64_t StoredWord(const KernelDefinition& definition, VariantSet left_out) {
  std::uint64_t variants = 0;
  for (std::size_t i = 0; i < definition.variants().size(); ++i) {
    variants |= std::uint64_t{left_out.Has(i) ? 1u : 0u} << i;
  }
  Fingerprinter parts;
  bool has_parts = false;
  for (std::size_t i = 0; i < definition.requirement_atoms().size(); ++i) {
    if (!left_out.Has(definition.variants().size() + i)) continue;
    parts.Add(definition.requirement_atoms()[i].ToString());
    has_parts = true;
  }
  return has_parts ? variants | parts.Finish().low << 32 : variants;
}

/// Returns whether all launches of the problem's key have the same dims and scalars.
bool DecidesAll(const KernelDefinition& definition, const Problem& problem) {
  const Problem decided = definition.DecidedByKey(problem);
  const std::vector<Parameter>& parameters = definition.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == ParameterKind::kScalar && decided.values[i] == nullptr) return false;
  }
  return definition.DimsUndecidedByKey().empty();
}

}  // namespace

Result<KeyInStore> KeyInStore::Of(const KernelParts& kernel, TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, kernel.ready_keys.CurrentDevice());
  call.SetTarget(device->target);
  return Of(kernel, *device, call.call(), key.left_out());
}

Result<KeyInStore> KeyInStore::Of(const KernelParts& kernel, const ReadyKeys::DeviceState& device,
                                  const BoundCall& call, VariantSet left_out) {
  KeyInStore in_store{kernel.definition, kernel.ready_keys, device, left_out, {}, 0, {}};
  TuningKey& key = in_store.key;
  key.kernel = kernel.definition->name();
  key.key_words.resize(kernel.binder.num_key_words());
  kernel.binder.KeyWords(call, key.key_words.data());
  if (!left_out.is_empty()) key.key_words.push_back(StoredWord(*kernel.definition, left_out));
  key.key_text = kernel.announcer.KeyText(call, left_out);
  key.device_name = device.identity.name;
  key.capability = device.target.capability();
  key.num_sms = device.identity.num_sms;
  key.driver_version = device.identity.driver_version;
  if (const std::string& group = kernel.policy.selection_group; group.empty()) {
    const KeptConfigs kept = {[&] { return kernel.ready_keys.FirstOn(device); }, [&] { return in_store.Configs(); }};
    TUNEONCE_ASSIGN_OR_RETURN(key.kernel_fingerprint, KernelFingerprint(*kernel.definition, call.problem, kept));
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* configs, in_store.Configs());
    key.kernel = group;
    key.kernel_fingerprint = SelectionGroupFingerprint(group, *configs);
  }
  in_store.space = SpaceIdentity(kernel.definition->space(), device.target);
  in_store.demanded = DemandedVerification(*kernel.definition, call.problem, kernel.policy.search);
  return in_store;
}

bool KeyInStore::HasConfigs(const Fingerprint& configs) const {
  if (configs == Fingerprint()) return false;
  if (configs.high == space) return true;
  Result<const std::vector<Config>*> here = Configs();
  return here.ok() && ConfigsFingerprint(definition->space(), space, **here).low == configs.low;
}

bool KeyInStore::HasBaseline(const TuningRecord& record, const BoundCall& call) const {
  if (!HasBaselineOfCall(record, call)) return false;
  // The other space may have had other baselines for other launches of the key, and the record names one baseline.
  return !IsOfOtherBaselines(record) || !record.key.SameDevice(key) || DecidesAll(*definition, call.problem);
}

bool KeyInStore::IsOfOtherBaselines(const TuningRecord& record) const {
  const bool was_compared = !record.is_pinned && record.verification.level == Verification::Level::kReference;
  return was_compared && demanded.level == Verification::Level::kReference && record.configs.high != space;
}

bool KeyInStore::HasBaselineOfCall(const TuningRecord& record, const BoundCall& call) const {
  if (!IsOfOtherBaselines(record)) return true;
  Result<std::shared_ptr<const std::vector<Config>>> fitting = ready_keys.FittingOn(device, call.problem);
  if (!fitting.ok()) return false;
  Result<std::optional<Config>> here = BaselineOf(definition, call, **fitting, left_out);
  if (!here.ok() || here->has_value() != record.baseline.has_value()) return false;
  return !record.baseline || record.baseline->config.IsSame(**here);
}

std::optional<Config> KeyInStore::ConfigOf(const Config& config) const {
  const SearchSpace& of_kernel = definition->space();
  if (of_kernel.fallback() && of_kernel.fallback()->IsSame(config)) {  // The only config of an empty space.
    Result<const std::vector<Config>*> all = Configs();
    const bool is_listed = all.ok() && std::any_of((*all)->begin(), (*all)->end(),
                                                   [&](const Config& each) { return each.IsSame(config); });
    return is_listed ? of_kernel.fallback() : std::nullopt;
  }
  if (!of_kernel.Contains(config, device.target).ok()) return std::nullopt;
  std::vector<std::pair<std::string, AxisValue>> values;
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    values.emplace_back(config.AxisName(i), config.values()[i]);
  }
  Result<Config> own = of_kernel.ConfigNamed(values, device.target);
  return own.ok() && own->IsSame(config) ? std::optional<Config>(*std::move(own)) : std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
