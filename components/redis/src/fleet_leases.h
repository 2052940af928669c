#ifndef TUNEONCE_COMPONENTS_REDIS_FLEET_LEASES_H_
#define TUNEONCE_COMPONENTS_REDIS_FLEET_LEASES_H_

#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "fleet_server.h"

namespace tuneonce {
inline namespace v0 {

/// The leases of a RedisStore that this process holds. A thread, started with the first lease, renews them. A lease
/// that cannot be renewed ends on the server, which then refuses records put under it, by its token. Thread rule: any
/// thread. REQUIRES: it is owned by a shared_ptr, because leases refer to it.
class FleetLeases : public std::enable_shared_from_this<FleetLeases> {
 public:
  explicit FleetLeases(std::shared_ptr<FleetServer> server) : server_(std::move(server)) {}
  ~FleetLeases();

  /// Implements RecordStore::Lease.
  Result<TuningLease> Acquire(const TuningKey& key, const WaitLimits& limits);
  /// Returns the token of the key's lease if this process holds it or held it last, else 0.
  std::uint64_t TokenOf(const TuningKey& key) const;

 private:
  class Held;

  /// Null: another holds it.
  Result<TuningLease> Try(const std::string& lease);
  void Release(const std::string& lease, const std::string& value);
  void RenewUntilOver();

  struct Lease {
    std::string value;  // The value on the server.
    std::uint64_t token = 0;
  };
  const std::shared_ptr<FleetServer> server_;
  const pid_t owner_ = getpid();
  mutable Mutex mutex_;
  // Pointers, because a forked child must leave these objects undestroyed.
  std::unique_ptr<ConditionVariable> over_ = std::make_unique<ConditionVariable>();
  std::map<std::string, Lease> held_ TUNEONCE_GUARDED_BY(mutex_);     // By the lease's key.
  std::unique_ptr<std::thread> renewer_ TUNEONCE_GUARDED_BY(mutex_);  // Null: none was needed yet.
  bool is_over_ TUNEONCE_GUARDED_BY(mutex_) = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_FLEET_LEASES_H_
