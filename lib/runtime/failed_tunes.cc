#include "runtime/failed_tunes.h"

#include <algorithm>

namespace tuneonce {
inline namespace v0 {

std::optional<TuneOutcome> FailedTunes::Find(const TuneOnce::Key& key, Clock::time_point now) const {
  MutexLock lock(mutex_);
  auto found = failed_.find(key);
  if (found == failed_.end()) return std::nullopt;
  const Failed& failed = found->second;
  bool may_try = IsTransient(failed.outcome.status.code()) && now >= failed.again;
  return may_try ? std::nullopt : std::optional<TuneOutcome>(failed.outcome);
}

int FailedTunes::Add(const TuneOnce::Key& key, const TuneOutcome& outcome, Clock::time_point now) {
  MutexLock lock(mutex_);
  Failed& failed = failed_[key];
  failed.outcome = outcome;
  by_age_.erase(failed.place);
  failed.place = ++last_place_;
  by_age_.emplace(failed.place, key);
  std::chrono::milliseconds pause = std::min(first_pause_, kLongestPause);
  for (int i = 0; i < failed.attempts && pause < kLongestPause; ++i) pause = std::min(2 * pause, kLongestPause);
  failed.again = now + pause;
  return ++failed.attempts;
}

void FailedTunes::Remove(const TuneOnce::Key& key) {
  MutexLock lock(mutex_);
  auto found = failed_.find(key);
  if (found == failed_.end()) return;
  by_age_.erase(found->second.place);
  failed_.erase(found);
}

void FailedTunes::DropOldest(std::size_t max_keys) {
  MutexLock lock(mutex_);
  while (failed_.size() > max_keys) {
    failed_.erase(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
  }
}

}  // namespace v0
}  // namespace tuneonce
