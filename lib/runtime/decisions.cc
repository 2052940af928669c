#include "runtime/decisions.h"

#include <algorithm>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

std::shared_ptr<const TuningRecord> Summary(const TuningRecord& record) {
  auto summary = std::make_shared<TuningRecord>(record);
  summary->candidates.clear();
  summary->candidates.shrink_to_fit();
  return summary;
}

}  // namespace

Decision DecisionOf(const TuningRecord& record, RecordMatch match, bool is_shipped) {
  Choice::From from = is_shipped ? Choice::From::kShipped : Choice::From::kStore;
  if (record.is_imported()) from = Choice::From::kImported;
  if (record.is_pinned) from = Choice::From::kPinned;
  return {from, match, Summary(record)};
}

Decision DecisionOf(const TuningRecord& record, Choice::From from) {
  return {from, RecordMatch::kExact, Summary(record)};
}

void Decisions::Note(const ResidentKey& key, Decision decision) {
  MutexLock lock(mutex_);
  decisions_[FlightOf(key)] = std::move(decision);
}

void Decisions::Forget(const ResidentKey& key) {
  MutexLock lock(mutex_);
  decisions_.erase(FlightOf(key));
}

std::optional<Decision> Decisions::Find(const ResidentKey& key) const {
  MutexLock lock(mutex_);
  auto found = decisions_.find(FlightOf(key));
  return found == decisions_.end() ? std::nullopt : std::optional<Decision>(found->second);
}

bool Decisions::IsPinned(const ResidentKey& key) const {
  std::optional<Decision> decision = Find(key);
  return decision && decision->from == Choice::From::kPinned;
}

std::int64_t Decisions::num_pinned() const {
  MutexLock lock(mutex_);
  return std::count_if(decisions_.begin(), decisions_.end(),
                       [](const auto& each) { return each.second.from == Choice::From::kPinned; });
}

}  // namespace v0
}  // namespace tuneonce
