#include "runtime/tune_once.h"

#include <chrono>

#include "base/callback.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How often a waiting thread asks whether it is to go on: what a person does not notice.
constexpr std::chrono::milliseconds kInterruptPoll(20);

}  // namespace

std::shared_ptr<TuneOnce::Flight> TuneOnce::Join(const Key& key, bool* is_first) {
  auto made = std::make_shared<Flight>();  // Before there is an entry: without memory there must be none.
  MutexLock lock(mutex_);
  auto [it, is_new] = flights_.try_emplace(key, std::move(made));
  *is_first = is_new;
  return it->second;
}

TuneOutcome TuneOnce::WaitFor(Flight& flight, const std::function<bool()>& interrupted) {
  MutexLock lock(flight.mutex);
  while (!flight.landed) {
    if (!interrupted) {
      flight.landed_one.Wait(lock);
      continue;
    }
    if (flight.landed_one.WaitFor(lock, kInterruptPoll)) continue;
    lock.Unlock();
    if (IsInterrupted(interrupted)) return {CancelledError("interrupted while another thread tunes the same key")};
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
  flight.landed = true;
  flight.landed_one.NotifyAll();
}

TuneOutcome TuneOnce::Run(const Key& key, bool* waited, const std::function<bool()>& interrupted,
                          const std::function<TuneOutcome()>& work) {
  *waited = false;
  for (;;) {
    bool is_first = false;
    std::shared_ptr<Flight> flight = Join(key, &is_first);
    if (is_first) {
      TuneOutcome outcome;
      try {
        outcome = work();
      } catch (...) {  // What others wrote was caught where it was called: this is ours.
        outcome.status = StatusOfException("tuning", StatusCode::kInternal);
      }
      Land(key, *flight, outcome);
      return outcome;
    }
    *waited = true;
    TuneOutcome outcome = WaitFor(*flight, interrupted);
    bool is_takeover = outcome.status.code() == StatusCode::kCancelled && !IsInterrupted(interrupted);
    if (!is_takeover) return outcome;
  }
}

bool TuneOnce::IsBusy(const Key& key) {
  MutexLock lock(mutex_);
  return flights_.count(key) != 0;
}

}  // namespace v0
}  // namespace tuneonce
