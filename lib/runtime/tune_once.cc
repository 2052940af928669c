#include "runtime/tune_once.h"

namespace tuneonce {

Status TuneOnce::Run(const Key& key, bool* waited, const std::function<Status()>& work) {
  std::shared_ptr<Flight> flight;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [it, is_first] = flights_.try_emplace(key);
    *waited = !is_first;
    if (is_first) it->second = std::make_shared<Flight>();
    flight = it->second;
  }
  if (*waited) {
    std::unique_lock<std::mutex> lock(flight->mutex);
    flight->landed_one.wait(lock, [&] { return flight->landed; });
    return flight->status;
  }
  Status status = work();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    flights_.erase(key);
  }
  std::lock_guard<std::mutex> lock(flight->mutex);
  flight->landed = true;
  flight->status = status;
  flight->landed_one.notify_all();
  return status;
}

bool TuneOnce::IsBusy(const Key& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  return flights_.count(key) != 0;
}

}  // namespace tuneonce
