#include "runtime/checked_configs.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tuneonce {
inline namespace v0 {

Result<std::optional<FoundConfig>> CheckedConfigs::Find(const ConfigQuestion& question, StoreMiss* miss) {
  if (!miss->is_to_check) return std::optional<FoundConfig>();
  ConfigQuestion unchecked = question;
  unchecked.accept_unchecked = true;
  unchecked.will_check = true;
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<FoundConfig> found, stored_.Find(unchecked, miss));
  if (!found) return found;
  const char* kind = found->record->is_imported() ? "imported" : "stored";
  Status checked = Check(question, &*found);
  if (checked.ok()) return found;
  to_.announcer.Warn(question.key.key.key_text + ": the " + kind + " {" + found->config.ToString() +
                     "} is not used: " + checked.message());
  *miss = {RecordMiss::kRefused, checked.message()};
  return std::optional<FoundConfig>();
}

Status CheckedConfigs::Check(const ConfigQuestion& question, FoundConfig* found) {
  TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome searched, searched_.Compare(question.request, question.key, found->config));
  TuningRecord& record = *searched.record;
  const std::vector<CandidateOutcome> successes = record.successes();
  auto it = std::find_if(successes.begin(), successes.end(),
                         [&](const CandidateOutcome& candidate) { return candidate.config == found->config; });
  if (it == successes.end()) {
    const std::vector<CandidateOutcome> failures = record.failures();
    return FailedPreconditionError(failures.empty() ? "the config does not run at these dims"
                                                    : failures.front().message);
  }
  // A selection must be faster than the baseline by this margin, so an imported one may be slower by as much.
  if (record.baseline &&
      it->measurement.mean_us > record.baseline->measurement.mean_us * (1 + to_.policy.search.baseline_margin)) {
    return FailedPreconditionError("the config is slower than the baseline");
  }
  if (record.best.config == found->config) found->loaded = std::move(searched.best);
  const bool is_imported = found->record->is_imported();
  record.best = *it;
  record.reason = is_imported ? SelectionReason::kImported : found->record->reason;
  // The old record knows as much about the other candidates.
  if (!is_imported) {
    record.candidates = std::move(found->record->candidates);
    record.is_complete = found->record->is_complete;
    record.num_not_measured = found->record->num_not_measured;
  }
  found->record = std::move(searched.record);
  found->selection =
      SelectionOf(*found->record, is_imported ? LaunchPlan::Origin::kImported : LaunchPlan::Origin::kStore);
  found->is_own = true;
  found->is_new = to_.policy.selection_group.empty();  // Another kernel's record stays that kernel's.
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
