// What a Chooser takes from the store: the records that serve.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "runtime/chooser.h"
#include "search/candidate.h"
#include "tuneonce/autotune_observer.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

namespace {

using DeviceState = ReadyKeys::DeviceState;

constexpr char kHasOtherCode[] =
    "the config's code has changed since it was verified, and is compared with the baseline before its first launch";

/// Whatever a record holds: without overflow.
std::uint64_t Distance(std::int64_t a, std::int64_t b) {
  auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return a > b ? x - y : y - x;
}

}  // namespace

Chooser::Serving Chooser::ServingOf(bool may_compile_now, const TuneLimits* limits) const {
  // Where no search may follow, one that was cut short is the best there is, and nothing is compared with the baseline.
  bool is_last = !may_compile();
  return {to_.policy.accept_incomplete || is_last, may_compile_now, is_last, limits};
}

StoreMiss Chooser::MissOf(const RecordLookup& lookup, const KeyInStore& in_store, const Serving& serving) const {
  if (!lookup.record) return {lookup.Miss(), lookup.detail};
  // What a person said, or what was decided elsewhere, is not of a driver.
  bool is_decreed = lookup.record->is_pinned || lookup.record->is_imported();
  RecordMatch weakest = is_decreed || lookup.serves_any_driver
                            ? std::max(to_.policy.min_match, RecordMatch::kOtherDriver)
                            : to_.policy.min_match;
  if (lookup.match > weakest) return {lookup.Miss(), ""};
  // What a person or another system said names a config, and was measured for no list of them.
  if (!is_decreed && lookup.record->configs != in_store.configs_identity) return {RecordMiss::kOtherSource, ""};
  if (!is_decreed && !lookup.record->verification.Covers(in_store.demanded)) {
    return {RecordMiss::kRefused, "the selection was verified less strictly than this kernel requires"};
  }
  bool is_complete_enough = lookup.record->is_complete || is_decreed || serving.accept_incomplete;
  return {is_complete_enough ? RecordMiss::kNone : RecordMiss::kIncomplete, ""};
}

void Chooser::NoteMiss(const TuningKey& key, const StoreMiss& miss) const {
  ++to_.counters.store_misses[static_cast<std::size_t>(miss.reason)];
  to_.announcer.Inform(key.key_text, [&] {
    std::string words =
        absl::StrCat("the store has no selection for this key: ", std::string(RecordMissName(miss.reason)));
    return miss.detail.empty() ? words : absl::StrCat(words, ", ", miss.detail);
  });
  to_.announcer.Tell([&](AutotuneObserver& observer) {
    observer.OnStoredMiss(to_.definition->name(), key.key_text, miss.reason, miss.detail);
  });
}

std::optional<Config> Chooser::ConfigOf(const KeyInStore& in_store, const Config& config) {
  auto listed = std::find_if(in_store.configs.begin(), in_store.configs.end(),
                             [&](const Config& each) { return each.IsSame(config); });
  return listed == in_store.configs.end() ? std::nullopt : std::optional<Config>(*listed);
}

std::optional<Chooser::Found> Chooser::FindRecord(const KeyInStore& in_store, const Serving& serving,
                                                  StoreMiss* miss) const {
  if (std::optional<Found> found = FindRecordOf(in_store.key, in_store, serving, miss)) return found;
  if (in_store.left_out.is_empty()) return FindNearest(in_store.key, in_store);
  // Who pins or imports a selection speaks of shapes, not of variants. What was measured is of the other variants'
  // code.
  TuningKey of_all = in_store.key;
  of_all.key_words.pop_back();
  StoreMiss of_all_miss;
  std::optional<Found> found = FindRecordOf(of_all, in_store, serving, &of_all_miss);
  if (found && (found->record.is_pinned || found->record.is_imported())) return found;
  return FindNearest(of_all, in_store);
}

std::optional<Chooser::Found> Chooser::FindRecordOf(const TuningKey& key, const KeyInStore& in_store,
                                                    const Serving& serving, StoreMiss* miss) const {
  Result<RecordLookup> lookup = to_.policy.store->Lookup(key);
  if (!lookup.ok()) {
    to_.announcer.WarnOfStore(lookup.status(), "; tuning continues without the store");
    *miss = {RecordMiss::kRefused, lookup.status().message()};
    return std::nullopt;
  }
  const RecordLookup& best = lookup->BestFor(to_.policy.min_match);
  *miss = MissOf(best, in_store, serving);
  if (miss->reason != RecordMiss::kNone) return std::nullopt;
  TuningRecord record = *best.record;
  std::optional<Config> config = ConfigOf(in_store, record.best.config);
  if (!config) {
    *miss = {RecordMiss::kRefused, "the stored {" + record.best.config.ToString() + "} is not a config of the kernel"};
    return std::nullopt;
  }
  return Found{std::move(record), best.match, best.is_shipped, *std::move(config)};
}

std::optional<Chooser::Found> Chooser::FindNearest(const TuningKey& key, const KeyInStore& in_store) const {
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
    std::optional<Config> config = ConfigOf(in_store, nearest->config);
    if (!config) continue;
    record.best.config = nearest->config;
    record.tuned_at = parts[i].name + "=" + std::to_string(nearest->at);
    record.rows.clear();
    return Found{std::move(record), lookup->match, lookup->is_shipped, *std::move(config)};
  }
  return std::nullopt;
}

Result<std::optional<Chooser::StoredSelection>> Chooser::FindStoredSelection(TuningCall& call, const LaunchKey& key,
                                                                             bool may_compile_now, StoreMiss* miss) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, IdentifyHere(call, key));
  const Serving serving = ServingOf(may_compile_now, nullptr);
  std::optional<Found> found = FindRecord(in_store, serving, miss);
  if (!found) return std::optional<StoredSelection>();
  bool is_to_check = found->is_unchecked() && !serving.accept_unchecked;
  if (!may_compile_now) {
    const TuningRecord& record = found->record;
    if (is_to_check) {
      *miss = {RecordMiss::kRefused, kIsToCheck};
      return std::optional<StoredSelection>();
    }
    if (!loader_.HasCode(record.best.artifact, record.best.variant, found->config, call.call(), in_store.left_out)) {
      *miss = {RecordMiss::kRefused, "the code of {" + found->config.ToString() + "} is not in the store"};
      return std::optional<StoredSelection>();
    }
  }
  // A record of the key of all variants may name one that does not suit this call.
  std::string variant =
      is_to_check ? found->record.best.variant
                  : loader_.VariantOf(found->record.best.variant, found->config, call.call(), in_store.left_out);
  return std::optional<StoredSelection>(StoredSelection{
      found->config, std::move(variant), SelectionOf(found->record, found->match, found->is_shipped), is_to_check});
}

bool Chooser::IsVerifiedCode(const TuningRecord& record, const Fingerprint& identity) {
  return record.is_pinned || record.is_imported() || record.best.identity == identity;
}

Result<std::shared_ptr<const LoadedKernel>> Chooser::LoadCodeOf(const TuningRecord& record, bool is_own,
                                                                const Config& config, const BoundCall& call,
                                                                VariantSet left_out, bool may_compile_now,
                                                                const std::function<bool()>& interrupted,
                                                                Fingerprint* identity) const {
  // Another device's code need not run here, and another kernel's code is not this one's.
  if (is_own && to_.policy.selection_group.empty()) {
    std::shared_ptr<const LoadedKernel> stored =
        loader_.LoadStored(record.best.artifact, record.best.variant, config, call, identity);
    if (stored != nullptr) return stored;
  }
  return loader_.Compile(config, call, left_out, record.best.variant, may_compile_now, interrupted, nullptr, identity);
}

bool Chooser::IsVerifiedHere(const Found& found, const KeyInStore& in_store, const BoundCall& call,
                             const Serving& serving) const {
  if (found.is_unchecked()) return serving.accept_unchecked;
  Fingerprint identity;
  Result<std::shared_ptr<const LoadedKernel>> loaded =
      LoadCodeOf(found.record, found.match != RecordMatch::kOtherDevice, found.config, call, in_store.left_out,
                 serving.may_compile, InterruptOf(serving.limits), &identity);
  return !loaded.ok() || IsVerifiedCode(found.record, identity);  // Who loads it finds out what is wrong with it.
}

bool Chooser::ServeFromStore(const KeyInStore& in_store, const BoundCall& call, const LaunchKey& key, Serving serving,
                             StoreMiss* miss) {
  std::optional<Found> found = FindRecord(in_store, serving, miss);
  if (!found) return false;
  if (found->is_unchecked() && !serving.accept_unchecked) {
    *miss = {RecordMiss::kRefused, kIsToCheck, /*is_to_check=*/true};
    return false;
  }
  const TuningRecord& record = found->record;
  Fingerprint identity;
  Result<std::shared_ptr<const LoadedKernel>> loaded =
      LoadCodeOf(record, found->match != RecordMatch::kOtherDevice, found->config, call, in_store.left_out,
                 serving.may_compile, InterruptOf(serving.limits), &identity);
  if (!loaded.ok()) {  // A search finds out what does work, and says why if nothing does.
    *miss = {RecordMiss::kRefused, loaded.status().message()};
    return false;
  }
  if (!IsVerifiedCode(record, identity)) {
    *miss = {RecordMiss::kRefused, kHasOtherCode, /*is_to_check=*/true};
    return false;
  }
  to_.ready_keys.PublishSelection(in_store.device, key, call, found->config, *std::move(loaded),
                                  ReadyKeys::Place::kIfFree, SelectionOf(record, found->match, found->is_shipped));
  ++to_.counters.stored_hits;
  to_.announcer.Inform(in_store.key.key_text,
                       [&] { return "{" + found->config.ToString() + "} was loaded from the store"; });
  to_.announcer.Tell([&](AutotuneObserver& observer) {
    observer.OnStoredHit(to_.definition->name(), in_store.key.key_text, found->config.ToString());
  });
  return true;
}

}  // namespace v0
}  // namespace tuneonce
