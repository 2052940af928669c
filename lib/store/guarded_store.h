#ifndef TUNEONCE_LIB_STORE_GUARDED_STORE_H_
#define TUNEONCE_LIB_STORE_GUARDED_STORE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

class Trace;

/// Wraps a host's store. An exception from it becomes an error that names the function, and so does what Lookup must
/// not return; the time that it takes is traced. Thread-safe.
class GuardedStore final : public RecordStore {
 public:
  /// `trace` may be null. REQUIRES: `store` is not null, and `trace` outlives the object.
  GuardedStore(std::shared_ptr<RecordStore> store, Trace* trace) : store_(std::move(store)), trace_(trace) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;

  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override;
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override;
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override;

 private:
  const std::shared_ptr<RecordStore> store_;
  Trace* const trace_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_GUARDED_STORE_H_
