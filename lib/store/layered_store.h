#ifndef TUNEONCE_LIB_STORE_LAYERED_STORE_H_
#define TUNEONCE_LIB_STORE_LAYERED_STORE_H_

#include <memory>
#include <vector>

#include "tuneonce/artifact_cache.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// The user's store over stores that an application ships. A lookup returns the best match of all layers, and the upper
/// layer's among equals. Writes go to the user's store. Thread rule: any thread.
class TUNEONCE_API LayeredStore : public RecordStore, public ArtifactCache {
 public:
  /// `shipped`: the first lies over the others.
  LayeredStore(std::shared_ptr<RecordStore> user, std::vector<std::shared_ptr<RecordStore>> shipped);

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override { return layers_.front()->Put(record); }
  /// Returns the records of all layers, the user's first.
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override { return layers_.front()->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override {
    return layers_.front()->Lease(key, limits);
  }
  /// Null if no layer keeps code. Of layers that do, the code is found whatever the user's store keeps.
  ArtifactCache* artifacts() override;

  Result<std::optional<Artifact>> Get(const Fingerprint& key) override;
  /// Into the user's store, or into this process's memory if that keeps no code.
  Status Put(const Fingerprint& key, const Artifact& artifact) override;
  Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) override;

 protected:
  std::vector<std::shared_ptr<RecordStore>> layers_;

 private:
  ArtifactCache& UsersCode();

  MemoryArtifactCache kept_code_;  // Artifacts compiled here, if the user's store keeps none.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_LAYERED_STORE_H_
