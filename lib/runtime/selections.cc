#include "runtime/selections.h"

#include <algorithm>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

std::shared_ptr<const TuningRecord> Summary(const TuningRecord& record) {
  auto summary = std::make_shared<TuningRecord>(record);
  const auto is_tried = [](const CandidateOutcome& each) { return each.kind != OutcomeKind::kNotMeasured; };
  if (!record.candidates.empty()) {
    summary->num_tried = static_cast<int>(std::count_if(record.candidates.begin(), record.candidates.end(), is_tried));
  }
  summary->candidates.clear();
  summary->candidates.shrink_to_fit();
  return summary;
}

}  // namespace

Selection SelectionOf(const TuningRecord& record, RecordMatch match, bool is_shipped) {
  LaunchPlan::Origin origin = is_shipped ? LaunchPlan::Origin::kShipped : LaunchPlan::Origin::kStore;
  if (record.is_imported()) origin = LaunchPlan::Origin::kImported;
  if (record.is_pinned) origin = LaunchPlan::Origin::kPinned;
  return {origin, match, Summary(record)};
}

Selection SelectionOf(const TuningRecord& record, LaunchPlan::Origin origin) {
  return {origin, RecordMatch::kExact, Summary(record)};
}

void Selections::Note(const LaunchKey& key, Selection selection) {
  MutexLock lock(mutex_);
  selections_[FlightOf(key)] = std::move(selection);
}

void Selections::Forget(const LaunchKey& key) {
  MutexLock lock(mutex_);
  selections_.erase(FlightOf(key));
}

std::optional<Selection> Selections::Find(const LaunchKey& key) const {
  MutexLock lock(mutex_);
  auto found = selections_.find(FlightOf(key));
  return found == selections_.end() ? std::nullopt : std::optional<Selection>(found->second);
}

bool Selections::IsPinned(const LaunchKey& key) const {
  std::optional<Selection> selection = Find(key);
  return selection && selection->origin == LaunchPlan::Origin::kPinned;
}

std::int64_t Selections::num_pinned() const {
  MutexLock lock(mutex_);
  return std::count_if(selections_.begin(), selections_.end(),
                       [](const auto& each) { return each.second.origin == LaunchPlan::Origin::kPinned; });
}

}  // namespace v0
}  // namespace tuneonce
