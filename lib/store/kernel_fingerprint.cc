#include "store/kernel_fingerprint.h"

#include <optional>
#include <string_view>
#include <type_traits>

#include "base/callback.h"
#include "base/number_text.h"
#include "definition/source_identity.h"
#include "launch/launch_words.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

template <typename Enum, typename = std::enable_if_t<std::is_enum_v<Enum>>>
std::uint64_t Number(Enum value) {
  return static_cast<std::uint64_t>(value);
}

void AddNames(const std::vector<std::string>& names, Fingerprinter* fingerprinter) {
  fingerprinter->Add(names.size());
  for (const std::string& name : names) fingerprinter->Add(name);
}

/// All that a parameter declares of the launch: neither its tolerance nor its values for warm-ups.
void AddParameter(const Parameter& parameter, Fingerprinter* fingerprinter) {
  fingerprinter->Add(Number(parameter.kind)).Add(parameter.name).Add(Number(parameter.dtype));
  fingerprinter->Add(Number(parameter.access)).Add(std::uint64_t{parameter.by_pointers ? 1u : 0u});
  AddNames(parameter.dims, fingerprinter);
  AddNames(parameter.varying, fingerprinter);
  fingerprinter->Add(parameter.same_dtype_as).Add(parameter.dim).Add(parameter.tensor);
  fingerprinter->Add(static_cast<std::uint64_t>(parameter.dimension)).Add(parameter.descriptor_bytes);
  if (!parameter.tensor_map) return;
  const TensorMap& map = *parameter.tensor_map;
  fingerprinter->Add(Number(map.swizzle)).Add(Number(map.interleave)).Add(Number(map.l2_promotion));
  fingerprinter->Add(Number(map.out_of_bounds));
}

void AddKeyPart(const KeyPart& part, Fingerprinter* fingerprinter) {
  fingerprinter->Add(Number(part.kind)).Add(part.name).Add(Number(part.bucket)).Add(part.values.size());
  for (std::int64_t value : part.values) fingerprinter->Add(static_cast<std::uint64_t>(value));
}

void AddAssumption(const Assumption& assumption, Fingerprinter* fingerprinter) {
  fingerprinter->Add(Number(assumption.kind)).Add(assumption.tensor).Add(assumption.other);
  fingerprinter->Add(static_cast<std::uint64_t>(assumption.dimension));
  fingerprinter->Add(static_cast<std::uint64_t>(assumption.value));
  fingerprinter->Add(assumption.real ? ShortestText(*assumption.real) : "").Add(assumption.dtypes.size());
  for (DType dtype : assumption.dtypes) fingerprinter->Add(Number(dtype));
}

/// The most configs whose sources a function makes to identify it. A launch of a stored key would wait for more.
constexpr std::size_t kMostIdentifying = 256;

/// Returns the configs, or of a large space as many as identify it, spread evenly.
std::vector<Config> Identifying(const std::vector<Config>& all) {
  if (all.size() <= kMostIdentifying) return all;
  std::vector<Config> some;
  for (std::size_t i = 0; i < kMostIdentifying; ++i) some.push_back(all[i * all.size() / kMostIdentifying]);
  return some;
}

Status AddVariant(const KernelDefinition& definition, const Variant& variant, const Problem& decided,
                  const KeptConfigs& configs, Fingerprinter* fingerprinter) {
  fingerprinter->Add(variant.name).Add(Number(variant.convention));
  AddNames(variant.parameters, fingerprinter);
  fingerprinter->Add(variant.assumptions.size());
  for (const Assumption& assumption : variant.assumptions) AddAssumption(assumption, fingerprinter);
  if (!variant.requirement.IsAlways()) fingerprinter->Add(variant.requirement.ToString());
  if (variant.launcher) return Status();
  std::vector<Config> read;
  if (!IsIdentified(variant)) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config>* all, configs.all());
    read = Identifying(*all);
  }
  TUNEONCE_ASSIGN_OR_RETURN(Fingerprint of_source,
                            CallUser("a source or hints function of kernel '" + definition.name() + "'",
                                     [&] { return VariantFingerprint(variant, read, decided); }));
  fingerprinter->Add(of_source);
  TUNEONCE_ASSIGN_OR_RETURN(const Config first, configs.first());
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout,
                            ParameterLayout::Create(definition, variant.convention, variant.parameters));
  AddProbedWords(definition, variant, layout, first, decided, fingerprinter);
  return Status();
}

void AddKeyWords(const TuningKey& key, Fingerprinter* fingerprinter) {
  fingerprinter->Add(static_cast<std::uint64_t>(key.key_words.size()));
  for (std::uint64_t word : key.key_words) fingerprinter->Add(word);
}

}  // namespace

Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition, const Problem& problem) {
  std::optional<std::vector<Config>> kept;
  KeptConfigs configs;
  configs.first = [&] { return definition.space().First(*problem.target); };
  configs.all = [&]() -> Result<const std::vector<Config>*> {
    if (!kept) {
      TUNEONCE_ASSIGN_OR_RETURN(kept, definition.space().Enumerate(*problem.target));
    }
    return &*kept;
  };
  return KernelFingerprint(definition, problem, configs);
}

Result<Fingerprint> KernelFingerprint(const KernelDefinition& definition, const Problem& problem,
                                      const KeptConfigs& configs) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition.VariantsFor(*problem.target));
  Fingerprinter fingerprinter;
  fingerprinter.Add(definition.name()).Add(definition.version()).Add(definition.parameters().size());
  for (const Parameter& parameter : definition.parameters()) AddParameter(parameter, &fingerprinter);
  fingerprinter.Add(definition.key().size());
  for (const KeyPart& part : definition.key()) AddKeyPart(part, &fingerprinter);
  const Problem decided = definition.DecidedByKey(problem);
  for (const Variant* variant : variants) {
    TUNEONCE_RETURN_IF_ERROR(AddVariant(definition, *variant, decided, configs, &fingerprinter));
  }
  return fingerprinter.Finish();
}

Fingerprint SelectionGroupFingerprint(const std::string& selection_group, const std::vector<Config>& configs) {
  Fingerprinter fingerprinter;
  fingerprinter.Add("selection group").Add(selection_group).Add(configs.size());
  for (const Config& config : configs) fingerprinter.Add(config.Canonical());
  return fingerprinter.Finish();
}

std::uint64_t SpaceIdentity(const SearchSpace& space, const Target& target) {
  Fingerprinter fingerprinter;
  fingerprinter.Add(space.Identity()).Add(target.name()).Add(target.l2_bytes);
  for (int limit :
       {target.num_sms, target.max_shared_memory_bytes, target.shared_memory_per_sm, target.max_threads_per_block,
        target.max_threads_per_sm, target.registers_per_sm, target.warp_size, target.max_cluster_size}) {
    fingerprinter.Add(static_cast<std::uint64_t>(limit));
  }
  return fingerprinter.Finish().high;
}

Fingerprint ConfigsFingerprint(const SearchSpace& of_configs, std::uint64_t space, const std::vector<Config>& configs) {
  Fingerprinter fingerprinter;
  // The other conditions have been asked about the configs.
  for (const NamedCondition& each : of_configs.conditions()) {
    if (each.condition.reads().problem()) fingerprinter.Add(each.name).Add(each.condition.ToString());
  }
  fingerprinter.Add(configs.size());
  for (const Config& config : configs) fingerprinter.Add(config.Canonical());
  Fingerprint both = fingerprinter.Finish();
  both.high = space;
  return both;
}

Fingerprint KernelKey(const TuningKey& key) {
  Fingerprinter fingerprinter;
  fingerprinter.Add(key.kernel_fingerprint);
  AddKeyWords(key, &fingerprinter);
  return fingerprinter.Finish();
}

Fingerprint ShapeKey(const TuningKey& key) {
  Fingerprinter fingerprinter;
  fingerprinter.Add(std::string_view(key.kernel));
  AddKeyWords(key, &fingerprinter);
  return fingerprinter.Finish();
}

Fingerprint FullKey(const TuningKey& key) {
  return Fingerprinter()
      .Add(KernelKey(key))
      .Add(std::string_view(key.device_name))
      .Add(static_cast<std::uint64_t>(key.capability))
      .Add(static_cast<std::uint64_t>(key.num_sms))
      .Add(static_cast<std::uint64_t>(key.driver_version))
      .Finish();
}

}  // namespace v0
}  // namespace tuneonce
