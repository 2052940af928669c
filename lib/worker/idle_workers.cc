#include "worker/idle_workers.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

namespace tuneonce {
inline namespace v0 {

IdleWorkers::~IdleWorkers() {
  if (getpid() != host_) {
    // In a child of fork() the thread does not exist, its lock may stay locked, and a condition that it waits on cannot
    // be destroyed.
    static_cast<void>(state_.release());
    return;
  }
  std::thread watcher;
  {
    MutexLock lock(state_->mutex);
    state_->is_over = true;
    watcher = std::move(state_->watcher);
    state_->changed.NotifyAll();
  }
  if (watcher.joinable()) watcher.join();
}

std::optional<IdleWorkers::Worker> IdleWorkers::Take(const std::string& device) {
  State& state = *state_;
  MutexLock lock(state.mutex);
  auto found =
      std::find_if(state.idle.rbegin(), state.idle.rend(), [&](const Idle& idle) { return idle.device == device; });
  if (found == state.idle.rend()) return std::nullopt;
  Worker worker = std::move(found->worker);
  state.idle.erase(std::next(found).base());
  state.changed.NotifyAll();
  return worker;
}

bool IdleWorkers::Has(const std::string& device) const {
  const State& state = *state_;
  MutexLock lock(state.mutex);
  return std::any_of(state.idle.begin(), state.idle.end(), [&](const Idle& idle) { return idle.device == device; });
}

void IdleWorkers::Put(const std::string& device, Worker worker) {
  State& state = *state_;
  MutexLock lock(state.mutex);
  if (state.is_over) return;  // Ends it.
  if (!state.watcher.joinable()) {
    try {
      state.watcher = std::thread([&state] { Watch(state); });
    } catch (const std::system_error&) {
      return;  // No thread would end the worker later, so it ends now.
    }
  }
  state.idle.push_back(Idle{device, std::move(worker), Clock::now() + linger_});
  state.changed.NotifyAll();
}

void IdleWorkers::Watch(State& state) {
  std::list<Idle> ended;  // Ended without the lock, since that may take a while.
  MutexLock lock(state.mutex);
  while (!state.is_over) {
    const Clock::time_point now = Clock::now();
    while (!state.idle.empty() && state.idle.front().ends <= now) {
      ended.splice(ended.end(), state.idle, state.idle.begin());
    }
    if (!ended.empty()) {
      lock.Unlock();
      ended.clear();
      lock.Lock();
      continue;
    }
    if (state.idle.empty()) {
      state.changed.Wait(lock);
    } else {
      state.changed.WaitFor(lock, state.idle.front().ends - now);
    }
  }
  ended.splice(ended.end(), state.idle);
  lock.Unlock();
}

}  // namespace v0
}  // namespace tuneonce
