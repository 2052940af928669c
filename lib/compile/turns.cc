#include "compile/turns.h"

#include <algorithm>
#include <chrono>

namespace tuneonce {
inline namespace v0 {
namespace {

/// How soon one who waits notices a cancellation.
constexpr std::chrono::milliseconds kPoll(10);

}  // namespace

Turns::Turn Turns::Take(const std::string& key, const std::atomic<bool>* cancelled) {
  MutexLock lock(mutex_);
  if (waiting_.empty() && (at_work_ == 0 || key_ == key)) {
    key_ = key;
    ++at_work_;
  } else {
    Waiting self{key, false};
    waiting_.push_back(&self);
    while (!self.has_turn && !(cancelled != nullptr && cancelled->load())) changed_.WaitFor(lock, kPoll);
    if (!self.has_turn) {
      waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &self));
      return nullptr;
    }
  }
  lock.Unlock();
  return Turn(this, [](Turns* turns) { turns->End(); });
}

std::size_t Turns::num_waiting() {
  MutexLock lock(mutex_);
  return waiting_.size();
}

void Turns::End() {
  MutexLock lock(mutex_);
  if (--at_work_ > 0 || waiting_.empty()) return;
  key_ = waiting_.front()->key;
  auto rest = std::stable_partition(waiting_.begin(), waiting_.end(), [&](Waiting* each) { return each->key == key_; });
  at_work_ = static_cast<int>(rest - waiting_.begin());
  std::for_each(waiting_.begin(), rest, [](Waiting* each) { each->has_turn = true; });
  waiting_.erase(waiting_.begin(), rest);
  changed_.NotifyAll();
}

}  // namespace v0
}  // namespace tuneonce
