#include "runtime/host_pins.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/key_in_store.h"
#include "search/candidate.h"
#include "search/record_origin.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Makes `config` the record's best, with what the record knows of it if it was measured.
void Select(const Config& config, TuningRecord* record) {
  auto it = std::find_if(record->candidates.begin(), record->candidates.end(), [&](const CandidateOutcome& candidate) {
    return candidate.kind == OutcomeKind::kMeasured && candidate.config.IsSame(config);
  });
  record->best = it == record->candidates.end() ? CandidateOutcome() : *it;
  record->best.config = config;
  record->speedup_over_baseline.reset();
}

}  // namespace

Status HostPins::Pin(TuningCall& tuning_call, const LaunchKey& key, const TunedKernel::NamedConfig& named,
                     TunedKernel::PinFor how_long) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, KeyInStore::Of(to_, tuning_call, key));
  const BoundCall& call = tuning_call.call();
  const SearchSpace& space = to_.definition->space();
  TUNEONCE_ASSIGN_OR_RETURN(Config config, space.ConfigNamed(named, in_store.device.target));
  TUNEONCE_RETURN_IF_ERROR(space.CheckGuards(config, call.problem));
  if (how_long == TunedKernel::PinFor::kStore && !in_store.ConfigOf(config)) {
    return InvalidArgumentError("{" + config.ToString() +
                                "} has a value that its axis does not list, and a store serves only listed configs: "
                                "pin it for the process (PinFor::kProcess)");
  }
  TuningRecord record;
  if (Result<RecordLookup> there = to_.policy.store->Lookup(in_store.key);
      there.ok() && there->match == RecordMatch::kExact) {
    record = *std::move(there->record);  // With the baseline's code, and what the candidates took.
  }
  Select(config, &record);
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedKernel> loaded,
                            loader_.Compile(config, call, in_store.left_out, "", to_.may_compile(),
                                            to_.policy.search.stop, &record.best.artifact));
  const Variant& variant = *loaded->variant;
  if (!variant.launcher) TUNEONCE_RETURN_IF_ERROR(variant.geometry.Check(config, call.problem));
  record.key = in_store.key;
  record.best.variant = loaded->variant->name;
  record.reason = SelectionReason::kPinned;
  record.is_pinned = true;
  StampOrigin(&record);
  to_.ready_keys.PublishSelection(in_store.device, key, call, config, std::move(loaded), ReadyKeys::Place::kAndStays,
                                  SelectionOf(record, LaunchPlan::Origin::kPinned));
  to_.announcer.Inform(in_store.key.key_text, [&] { return "{" + config.ToString() + "} is pinned"; });
  if (how_long == TunedKernel::PinFor::kProcess) return Status();
  return to_.policy.store->Put(record).WithPrefix(
      "the pin holds for this process only, because it could not be stored");
}

Status HostPins::Unpin(TuningCall& call, const LaunchKey& key) {
  TUNEONCE_ASSIGN_OR_RETURN(KeyInStore in_store, KeyInStore::Of(to_, call, key));
  const bool is_pinned_here = to_.ready_keys.selections().IsPinned(key);
  Result<RecordLookup> there = to_.policy.store->Lookup(in_store.key);
  const bool is_in_store = there.ok() && there->IsPinned();
  to_.announcer.Inform(in_store.key.key_text, [&] { return std::string("the pin was removed"); });
  if (is_pinned_here) to_.ready_keys.Drop(key);
  if (!is_in_store) {
    return is_pinned_here ? Status() : NotFoundError(in_store.key.key_text + " is not pinned");
  }
  if (there->is_shipped)
    return FailedPreconditionError("cannot unpin " + in_store.key.key_text +
                                   ": the pin comes from a shipped store, and Unpin only changes the user's own store");
  return to_.policy.store->Remove(there->record->key).WithPrefix("the pin could not be removed from the store");
}

}  // namespace v0
}  // namespace tuneonce
