#include "runtime/stored_configs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "search/candidate.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns |a - b| without overflow, whatever a record contains.
std::uint64_t Distance(std::int64_t a, std::int64_t b) {
  auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return a > b ? x - y : y - x;
}

FoundConfig FoundIn(TuningRecord record, RecordMatch match, bool is_shipped, Config config) {
  FoundConfig found;
  found.config = std::move(config);
  found.record = std::make_unique<TuningRecord>(std::move(record));
  found.selection = SelectionOf(*found.record, match, is_shipped);
  found.is_own = match != RecordMatch::kOtherDevice;
  return found;
}

}  // namespace

StoreMiss StoredConfigs::MissOf(const RecordLookup& lookup, const ConfigQuestion& question) const {
  if (!lookup.record) return {lookup.Miss(), lookup.detail};
  // A config that a host pinned, or that another system decided, is not of a driver.
  bool is_decreed = lookup.record->is_pinned || lookup.record->is_imported();
  RecordMatch weakest = is_decreed || lookup.serves_any_driver
                            ? std::max(to_.policy.min_match, RecordMatch::kOtherDriver)
                            : to_.policy.min_match;
  if (lookup.match > weakest) return {lookup.Miss(), ""};
  // Such a config was measured for no list of configs.
  if (!is_decreed && !question.key.HasConfigs(lookup.record->configs)) return {RecordMiss::kOtherSource, ""};
  if (!is_decreed && !lookup.record->verification.Covers(question.key.demanded)) {
    const bool is_to_verify = lookup.record->verification.level == Verification::Level::kNone;
    if (is_to_verify && !question.will_check) return {RecordMiss::kRefused, kIsNotVerified, /*is_to_check=*/true};
    if (!is_to_verify) {
      return {RecordMiss::kRefused, "the selection was verified less strictly than this kernel requires"};
    }
  }
  if (!question.will_check && !question.key.HasBaseline(*lookup.record, question.request.call.call())) {
    return {RecordMiss::kRefused, kHasOtherBaseline, /*is_to_check=*/true};
  }
  return {};
}

bool StoredConfigs::Accepts(const Config& config, const ConfigQuestion& question) const {
  return !to_.definition->has_config_requirements() ||
         IsAcceptedByKey(*to_.definition, config, question.request.call.call(), question.key.left_out);
}

Result<std::optional<FoundConfig>> StoredConfigs::Find(const ConfigQuestion& question, StoreMiss* miss) {
  std::optional<FoundConfig> found = FindAny(question, miss);
  if (!found) return found;
  if (found->is_unchecked() && !question.accept_unchecked) {
    *miss = {RecordMiss::kRefused, kIsToCheck, /*is_to_check=*/true};
    return std::optional<FoundConfig>();
  }
  *miss = {};
  return found;
}

std::optional<FoundConfig> StoredConfigs::FindAny(const ConfigQuestion& question, StoreMiss* miss) const {
  const KeyInStore& in_store = question.key;
  if (std::optional<FoundConfig> found = FindOf(in_store.key, question, miss)) return found;
  if (in_store.left_out.is_empty()) return FindNearest(in_store.key, question);
  // Pins and imports are for shapes, whatever the variants. What was measured for the key of all variants is other
  // code.
  TuningKey of_all = in_store.key;
  of_all.key_words.pop_back();
  StoreMiss of_all_miss;
  std::optional<FoundConfig> found = FindOf(of_all, question, &of_all_miss);
  if (found && (found->record->is_pinned || found->record->is_imported())) return found;
  return FindNearest(of_all, question);
}

std::optional<FoundConfig> StoredConfigs::FindOf(const TuningKey& key, const ConfigQuestion& question,
                                                 StoreMiss* miss) const {
  Result<RecordLookup> lookup = to_.policy.store->Lookup(key);
  if (!lookup.ok()) {
    to_.announcer.WarnOfStore(lookup.status(), "; tuning continues without the store");
    *miss = {RecordMiss::kRefused, lookup.status().message()};
    return std::nullopt;
  }
  const RecordLookup& best = lookup->BestFor(to_.policy.min_match);
  *miss = MissOf(best, question);
  if (miss->reason != RecordMiss::kNone) {
    if (best.match == RecordMatch::kOtherDriver) miss->before_update = std::make_shared<TuningRecord>(*best.record);
    return std::nullopt;
  }
  std::optional<Config> config = question.key.ConfigOf(best.record->best.config);
  if (!config) {
    *miss = {RecordMiss::kRefused,
             "the stored {" + best.record->best.config.ToString() + "} is not a config of the kernel"};
    return std::nullopt;
  }
  if (!Accepts(*config, question)) {
    *miss = {RecordMiss::kRefused, "no variant accepts these arguments for the stored {" + config->ToString() + "}"};
    return std::nullopt;
  }
  return FoundIn(*best.record, best.match, best.is_shipped, *std::move(config));
}

std::optional<FoundConfig> StoredConfigs::FindNearest(const TuningKey& key, const ConfigQuestion& question) const {
  const KeyInStore& in_store = question.key;
  const std::vector<KeyPart>& parts = to_.definition->key();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind != KeyPart::Kind::kDim) continue;
    TuningKey table = key;
    const auto wanted = static_cast<std::int64_t>(std::exchange(table.key_words[i], 0));
    Result<RecordLookup> lookup = to_.policy.store->Lookup(table);
    if (!lookup.ok() || !lookup->record || lookup->match > RecordMatch::kOtherDriver) continue;
    TuningRecord& record = *lookup->record;
    if (!record.is_imported() || record.nearest_dim != parts[i].name || record.rows.empty()) continue;
    auto nearest = std::min_element(record.rows.begin(), record.rows.end(), [&](const auto& a, const auto& b) {
      return Distance(a.at, wanted) < Distance(b.at, wanted);
    });
    std::optional<Config> config = in_store.ConfigOf(nearest->config);
    if (!config || !Accepts(*config, question)) continue;
    record.best.config = nearest->config;
    record.tuned_at = parts[i].name + "=" + std::to_string(nearest->at);
    record.rows.clear();
    return FoundIn(std::move(record), lookup->match, lookup->is_shipped, *std::move(config));
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
