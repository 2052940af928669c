#include "runtime/key_in_store.h"

#include <algorithm>

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

}  // namespace

Result<KeyInStore> KeyInStore::Of(const KernelParts& kernel, TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(const ReadyKeys::DeviceState* device, kernel.ready_keys.CurrentDevice());
  call.SetTarget(device->target);
  return Of(kernel, *device, call.call(), key.left_out());
}

Result<KeyInStore> KeyInStore::Of(const KernelParts& kernel, const ReadyKeys::DeviceState& device,
                                  const BoundCall& call, VariantSet left_out) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* configs, kernel.ready_keys.ConfigsOn(device));
  KeyInStore in_store{device, *configs, left_out, {}, {}, {}};
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
    TUNEONCE_ASSIGN_OR_RETURN(key.kernel_fingerprint, KernelFingerprint(*kernel.definition, *configs, call.problem));
  } else {
    key.kernel = group;
    key.kernel_fingerprint = SelectionGroupFingerprint(group, *configs);
  }
  in_store.configs_identity = ConfigsFingerprint(*configs);
  in_store.demanded = DemandedVerification(*kernel.definition, call.problem, kernel.policy.search);
  return in_store;
}

std::optional<Config> KeyInStore::ConfigOf(const Config& config) const {
  auto listed = std::find_if(configs.begin(), configs.end(), [&](const Config& each) { return each.IsSame(config); });
  return listed == configs.end() ? std::nullopt : std::optional<Config>(*listed);
}

}  // namespace v0
}  // namespace tuneonce
