#ifndef TUNEONCE_LIB_STORE_FORWARDING_STORE_H_
#define TUNEONCE_LIB_STORE_FORWARDING_STORE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// Forwards all calls to another store. Derived stores override what they change. Thread rule: as the other store.
class ForwardingStore : public RecordStore {
 public:
  /// REQUIRES: `store` is not null.
  explicit ForwardingStore(std::shared_ptr<RecordStore> store) : store_(std::move(store)) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override { return store_->Lookup(key); }
  Status Put(const TuningRecord& record) override { return store_->Put(record); }
  Result<std::vector<TuningRecord>> List() const override { return store_->List(); }
  Status Remove(const TuningKey& key) override { return store_->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override {
    return store_->Lease(key, limits);
  }

  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override {
    return store_->GetArtifact(key);
  }
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override {
    return store_->PutArtifact(key, artifact);
  }
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override {
    return store_->LeaseArtifact(key, limits);
  }

 protected:
  const std::shared_ptr<RecordStore> store_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_FORWARDING_STORE_H_
