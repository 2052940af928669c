#include "runtime/pending_keys.h"

#include <utility>

namespace tuneonce {
inline namespace v0 {

bool PendingKeys::Add(Waiting waiting) {
  MutexLock lock(mutex_);
  TuneOnce::Key words = FlightOf(waiting.key);
  if (waiting_.count(words) != 0) return true;
  if (waiting_.size() >= most_) return false;
  waiting_.emplace(std::move(words), std::move(waiting));
  return true;
}

bool PendingKeys::Has(const LaunchKey& key) const {
  MutexLock lock(mutex_);
  return waiting_.count(FlightOf(key)) != 0;
}

void PendingKeys::Remove(const LaunchKey& key) {
  std::shared_ptr<const KeptInputs> inputs;  // Freed after the lock is released.
  MutexLock lock(mutex_);
  auto found = waiting_.find(FlightOf(key));
  if (found == waiting_.end()) return;
  inputs = std::move(found->second.inputs);
  waiting_.erase(found);
}

void PendingKeys::ReleaseInputs(const LaunchKey& key) {
  std::shared_ptr<const KeptInputs> inputs;
  MutexLock lock(mutex_);
  auto found = waiting_.find(FlightOf(key));
  if (found != waiting_.end()) inputs = std::move(found->second.inputs);
}

std::vector<PendingKeys::Waiting> PendingKeys::Due(const std::function<bool(const TuneOnce::Key&)>& is_due) const {
  MutexLock lock(mutex_);
  std::vector<Waiting> due;
  for (const auto& [words, waiting] : waiting_) {
    if (is_due(words)) due.push_back(waiting);
  }
  return due;
}

std::vector<PendingKeys::Waiting> PendingKeys::TakeAll() {
  std::map<TuneOnce::Key, Waiting> taken;
  {
    MutexLock lock(mutex_);  // In one step, because a key that is added meanwhile would be lost.
    taken.swap(waiting_);
  }
  std::vector<Waiting> all;
  all.reserve(taken.size());
  for (auto& [words, waiting] : taken) all.push_back(std::move(waiting));
  return all;
}

std::size_t PendingKeys::size() const {
  MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace v0
}  // namespace tuneonce
