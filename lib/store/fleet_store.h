#ifndef TUNEONCE_LIB_STORE_FLEET_STORE_H_
#define TUNEONCE_LIB_STORE_FLEET_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/memory_store.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// A machine's store over its fleet's: see MakeFleetStore. Thread rule: any thread.
class FleetStore final : public RecordStore {
 public:
  FleetStore(std::shared_ptr<RecordStore> machine, std::shared_ptr<RecordStore> fleet, FleetUse use);

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  /// The machine's, then those that only the fleet has.
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;

  /// Returns the machine's artifact, or copies the fleet's to the machine.
  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override;
  /// Puts the artifact into the machine's store, or into this process's memory if that store refuses it. The fleet's
  /// store gets only artifacts that a record names, with the record.
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override { return KeepCode(key, artifact); }
  /// Leases from the machine's store, or among this process's threads if that store cannot lock.
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override;

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
  mutable MemoryStore kept_;  // Records that the fleet's store has yet to accept, artifacts that the machine's refused.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_FLEET_STORE_H_
