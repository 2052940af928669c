#ifndef TUNEONCE_LIB_STORE_FLEET_STORE_H_
#define TUNEONCE_LIB_STORE_FLEET_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/memory_store.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// A machine's store over its fleet's: see MakeFleetStore. Thread rule: any thread.
class FleetStore final : public RecordStore, public ArtifactCache {
 public:
  FleetStore(std::shared_ptr<RecordStore> machine, std::shared_ptr<RecordStore> fleet, FleetUse use);

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  /// The machine's, then those that only the fleet has.
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;
  ArtifactCache* artifacts() override { return near_code_ != nullptr || far_code_ != nullptr ? this : nullptr; }

  Result<std::optional<Artifact>> Get(const Fingerprint& key) override;
  /// Into the machine's store, or into this process's memory if that takes none: the fleet gets what a record names.
  Status Put(const Fingerprint& key, const Artifact& artifact) override;
  Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) override;

 private:
  /// Returns the better of two lookups, and copies the fleet's exact record to the machine.
  RecordLookup Better(RecordLookup near, RecordLookup far) const;
  /// Writes a record to the fleet's store, after its code. What the fleet does not accept now is kept for later.
  Status SendUp(const TuningRecord& record) const;
  Status SendCodeUp(const Fingerprint& key) const;
  /// Sends what could not go before.
  void CatchUp() const;
  void Say(const Status& status) const;
  /// Code that the machine or this process has.
  Result<std::optional<Artifact>> NearCode(const Fingerprint& key) const;
  Status KeepCode(const Fingerprint& key, const Artifact& artifact) const;

  const std::shared_ptr<RecordStore> machine_, fleet_;
  const FleetUse use_;
  ArtifactCache* const near_code_;  // May be null, both.
  ArtifactCache* const far_code_;
  mutable MemoryArtifactCache kept_code_;  // Artifacts that the machine's store does not keep.
  mutable MemoryStore unsent_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_FLEET_STORE_H_
