#include "worker/idle_workers.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

namespace tuneonce {
inline namespace v0 {

IdleWorkers::~IdleWorkers() {
  std::thread watcher;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    watcher = std::move(watcher_);
    changed_.NotifyAll();
  }
  if (watcher.joinable()) watcher.join();
}

std::optional<IdleWorkers::Worker> IdleWorkers::Take(const std::string& device) {
  MutexLock lock(mutex_);
  auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) { return idle.device == device; });
  if (found == idle_.rend()) return std::nullopt;
  Worker worker = std::move(found->worker);
  idle_.erase(std::next(found).base());
  changed_.NotifyAll();
  return worker;
}

bool IdleWorkers::Has(const std::string& device) const {
  MutexLock lock(mutex_);
  return std::any_of(idle_.begin(), idle_.end(), [&](const Idle& idle) { return idle.device == device; });
}

void IdleWorkers::Put(const std::string& device, Worker worker) {
  MutexLock lock(mutex_);
  if (is_over_) return;  // Ends it.
  if (!is_watched_) {
    if (watcher_.joinable()) watcher_.join();  // It is past its last look at what this lock guards.
    try {
      watcher_ = std::thread([this] { Watch(); });
    } catch (const std::system_error&) {
      return;  // Nobody would end it later: it ends now.
    }
    is_watched_ = true;
  }
  idle_.push_back(Idle{device, std::move(worker), Clock::now() + linger_});
  changed_.NotifyAll();
}

void IdleWorkers::Watch() {
  std::list<Idle> ended;  // Ended without the lock, since that may take a while.
  MutexLock lock(mutex_);
  while (!is_over_) {
    const Clock::time_point now = Clock::now();
    while (!idle_.empty() && idle_.front().ends <= now) ended.splice(ended.end(), idle_, idle_.begin());
    if (!ended.empty()) {
      lock.Unlock();
      ended.clear();
      lock.Lock();
      continue;
    }
    if (idle_.empty()) break;
    changed_.WaitFor(lock, idle_.front().ends - now);
  }
  if (is_over_) ended.splice(ended.end(), idle_);
  is_watched_ = false;
  lock.Unlock();
}

}  // namespace v0
}  // namespace tuneonce
