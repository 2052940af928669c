#include "runtime/tune_once.h"

#include <chrono>

#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How often a waiting thread checks for an interrupt. A person does not notice this delay.
constexpr std::chrono::milliseconds kInterruptPoll(20);

}  // namespace

std::shared_ptr<TuneOnce::Flight> TuneOnce::Join(const Key& key, bool* is_first) {
  auto made = std::make_shared<Flight>();  // Made before the map has an entry, which must not exist if memory is short.
  MutexLock lock(mutex_);
  auto [it, is_new] = flights_.try_emplace(key, std::move(made));
  *is_first = is_new;
  return it->second;
}

TuneOutcome TuneOnce::WaitFor(Flight& flight, const StopToken& stop) {
  MutexLock lock(flight.mutex);
  while (!flight.is_done) {
    if (!stop.stop_possible()) {
      flight.done_changed.Wait(lock);
      continue;
    }
    if (flight.done_changed.WaitFor(lock, kInterruptPoll)) continue;
    lock.Unlock();
    if (stop.stop_requested())
      return {CancelledError("interrupted while waiting for another thread that tunes the same key")};
    lock.Lock();
  }
  return flight.outcome;
}

void TuneOnce::Land(const Key& key, Flight& flight, const TuneOutcome& outcome) noexcept {
  {
    MutexLock lock(mutex_);
    flights_.erase(key);
  }
  MutexLock lock(flight.mutex);
  flight.outcome = outcome;
  flight.is_done = true;
  flight.done_changed.NotifyAll();
}

TuneOutcome TuneOnce::Run(const Key& key, bool* waited, const StopToken& stop,
                          const std::function<TuneOutcome()>& work) {
  *waited = false;
  for (;;) {
    bool is_first = false;
    std::shared_ptr<Flight> flight = Join(key, &is_first);
    if (is_first) {
      TuneOutcome outcome;
      try {
        outcome = work();
      } catch (...) {  // User callbacks catch their own exceptions, so this one is from this library.
        outcome.status = StatusOfException("tuning", StatusCode::kInternal);
      }
      Land(key, *flight, outcome);
      return outcome;
    }
    *waited = true;
    TuneOutcome outcome = WaitFor(*flight, stop);
    bool is_takeover = outcome.status.code() == StatusCode::kCancelled && !stop.stop_requested();
    if (!is_takeover) return outcome;
  }
}

bool TuneOnce::IsBusy(const Key& key) {
  MutexLock lock(mutex_);
  return flights_.count(key) != 0;
}

}  // namespace v0
}  // namespace tuneonce
