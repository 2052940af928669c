#include "runtime/pending_keys.h"

#include <utility>

namespace tuneonce {
inline namespace v0 {

bool PendingKeys::Add(Entry entry) {
  MutexLock lock(mutex_);
  TuneOnce::Key words = FlightOf(entry.key);
  if (pending_.count(words) != 0) return true;
  if (pending_.size() >= most_) return false;
  pending_.emplace(std::move(words), std::move(entry));
  return true;
}

bool PendingKeys::Has(const LaunchKey& key) const {
  MutexLock lock(mutex_);
  return pending_.count(FlightOf(key)) != 0;
}

void PendingKeys::Remove(const LaunchKey& key) {
  std::shared_ptr<const KeptInputs> inputs;  // Freed after the lock is released.
  MutexLock lock(mutex_);
  auto found = pending_.find(FlightOf(key));
  if (found == pending_.end()) return;
  inputs = std::move(found->second.inputs);
  pending_.erase(found);
}

void PendingKeys::ReleaseInputs(const LaunchKey& key) {
  std::shared_ptr<const KeptInputs> inputs;
  MutexLock lock(mutex_);
  auto found = pending_.find(FlightOf(key));
  if (found != pending_.end()) inputs = std::move(found->second.inputs);
}

std::vector<PendingKeys::Entry> PendingKeys::Due(
    const std::function<bool(const TuneOnce::Key&, const Entry&)>& is_due) const {
  MutexLock lock(mutex_);
  std::vector<Entry> due;
  for (const auto& [words, waiting] : pending_) {
    if (is_due(words, waiting)) due.push_back(waiting);
  }
  return due;
}

std::vector<PendingKeys::Entry> PendingKeys::TakeAll() {
  std::map<TuneOnce::Key, Entry> taken;
  {
    MutexLock lock(mutex_);  // In one step, because a key that is added meanwhile would be lost.
    taken.swap(pending_);
  }
  std::vector<Entry> all;
  all.reserve(taken.size());
  for (auto& [words, waiting] : taken) all.push_back(std::move(waiting));
  return all;
}

std::size_t PendingKeys::size() const {
  MutexLock lock(mutex_);
  return pending_.size();
}

}  // namespace v0
}  // namespace tuneonce
