#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "store/guarded_store.h"
#include "store/kernel_fingerprint.h"
#include "store/memory_store.h"
#include "store/record_preference.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kResourceExhausted;
}

/// Returns whether the status means that another process tunes the key, or that the caller does not want to wait.
bool IsAnswer(const Status& status) {
  return status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kCancelled;
}

/// Not by its pointer, which need not point at anything.
bool IsHeld(const Result<TuningLease>& lease) { return lease.ok() && lease->use_count() > 0; }

/// A machine's store over its fleet's: see MakeFleetStore. Thread rule: any thread.
class FleetStore final : public RecordStore {
 public:
  FleetStore(std::shared_ptr<RecordStore> machine, std::shared_ptr<RecordStore> fleet, FleetUse use)
      : machine_(std::move(machine)), fleet_(std::move(fleet)), use_(std::move(use)) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override {
    Result<RecordLookup> near = machine_->Lookup(key);
    if (near.ok() && near->Miss() == RecordMiss::kNone && near->record->is_complete) return near;
    Result<RecordLookup> far = fleet_->Lookup(key);
    if (far.ok()) {
      CatchUp();
      return Better(near.ok() ? *std::move(near) : RecordLookup(), *std::move(far));
    }
    Say(far.status());
    // The caller gets the fleet's error, because the fleet may have the record, unless another record may serve.
    return near.ok() && near->record ? near : Result<RecordLookup>(far.status());
  }
  Status Put(const TuningRecord& record) override {
    Status near = machine_->Put(record);
    if (!use_.writes) return near;
    Status far = SendUp(record);
    if (far.ok()) CatchUp();
    if (!near.ok() && !far.ok()) return near;
    Say(near);
    Say(far);
    return Status();
  }
  /// The machine's, then those that only the fleet has.
  Result<std::vector<TuningRecord>> List() const override {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> all, machine_->List());
    Result<std::vector<TuningRecord>> far = fleet_->List();
    Say(far.status());
    if (!far.ok()) return all;
    std::set<Fingerprint> there;
    for (const TuningRecord& record : all) there.insert(FullKey(record.key));
    for (TuningRecord& record : *far) {
      if (there.count(FullKey(record.key)) == 0) all.push_back(std::move(record));
    }
    return all;
  }
  Status Remove(const TuningKey& key) override {
    const Status near = machine_->Remove(key);
    (void)kept_.Remove(key);
    const Status far = use_.writes ? fleet_->Remove(key) : CheckNotInFleet(key);
    return near.ok() ? far : near;
  }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override {
    const auto begin = std::chrono::steady_clock::now();
    Result<TuningLease> near = machine_->Lease(key, limits);
    if (IsAnswer(near.status())) return near;
    if (!use_.writes) return near;
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    WaitLimits left = limits;
    left.timeout = std::max(std::chrono::milliseconds(0), limits.timeout - spent);
    Result<TuningLease> far = fleet_->Lease(key, left);
    if (IsAnswer(far.status())) return far;
    Say(near.status());
    Say(far.status());
    if (!IsHeld(near) && !IsHeld(far)) return near;
    // Both end together.
    using Both = std::pair<TuningLease, TuningLease>;
    return TuningLease(std::make_shared<Both>(IsHeld(near) ? *near : nullptr, IsHeld(far) ? *far : nullptr));
  }

  /// Returns the machine's artifact, or copies the fleet's to the machine.
  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override {
    Result<std::optional<Artifact>> near = NearCode(key);
    if (near.ok() && *near) return near;
    Result<std::optional<Artifact>> far = fleet_->GetArtifact(key);
    if (!far.ok()) {
      Say(far.status());
      return near;  // A fleet that does not answer costs a compile at most.
    }
    if (*far) Say(KeepCode(key, **far));
    return far;
  }
  /// Puts the artifact into the machine's store, or into this process's memory if that store refuses it. The fleet's
  /// store gets only artifacts that a record names, with the record.
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override { return KeepCode(key, artifact); }
  /// Leases from the machine's store, or among this process's threads if that store cannot lock.
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override {
    Result<TuningLease> near = machine_->LeaseArtifact(key, limits);
    return near.status().code() == StatusCode::kUnavailable ? kept_.LeaseArtifact(key, limits) : near;
  }

 private:
  /// Returns the better of two lookups, and copies the fleet's exact record to the machine.
  RecordLookup Better(RecordLookup near, RecordLookup far) const {
    const bool far_is_exact = far.match == RecordMatch::kExact && far.record;
    if (far_is_exact && near.match == RecordMatch::kExact && near.record) {
      if (!PreferOf(*near.record, *far.record, PreferRecord::kBest).takes_second) return near;
      Say(machine_->Put(*far.record));
      if (!far.record->is_complete && far.complete == nullptr) far.complete = std::move(near.complete);
      return far;
    }
    if (far_is_exact) Say(machine_->Put(*far.record));
    near.Improve(std::move(far));
    return near;
  }
  /// Errors: FailedPrecondition if the fleet has a record of the key, which this machine must not remove.
  Status CheckNotInFleet(const TuningKey& key) const {
    Result<RecordLookup> far = fleet_->Lookup(key);
    Say(far.status());
    if (!far.ok() || far->match != RecordMatch::kExact) return Status();
    return FailedPreconditionError("the fleet's store has the record, and FleetUse::writes is false");
  }
  /// Writes a record to the fleet's store, after its code. What the fleet does not accept now is kept for later.
  Status SendUp(const TuningRecord& record) const {
    Status sent = SendCodeUp(record.best.artifact);
    if (sent.ok() && record.baseline) sent = SendCodeUp(record.baseline->artifact);
    if (sent.ok()) sent = fleet_->Put(record);
    if (MayPass(sent)) {
      (void)kept_.Put(record);
    } else {
      (void)kept_.Remove(record.key);
    }
    return sent;
  }
  Status SendCodeUp(const Fingerprint& key) const {
    if (key == Fingerprint()) return Status();
    Result<std::optional<Artifact>> code = NearCode(key);
    // Artifacts that the machine does not have are written by the process that compiles them.
    return code.ok() && *code ? fleet_->PutArtifact(key, **code) : Status();
  }
  /// Sends what could not go before, unless the fleet got a pin or a better record meanwhile.
  void CatchUp() const {
    if (!use_.writes) return;
    Result<std::vector<TuningRecord>> unsent = kept_.List();
    for (const TuningRecord& record : *unsent) {
      Result<RecordLookup> there = fleet_->Lookup(record.key);
      if (!there.ok()) return;
      if (there->match == RecordMatch::kExact && Stays(*there->record, record)) {
        (void)kept_.Remove(record.key);
      } else if (MayPass(SendUp(record))) {
        return;
      }
    }
  }
  static bool Stays(const TuningRecord& there, const TuningRecord& late) {
    const bool is_pin_of_fleet = there.is_pinned && !late.is_pinned;
    return is_pin_of_fleet || !PreferOf(there, late, PreferRecord::kBest).takes_second;
  }
  void Say(const Status& status) const {
    if (status.ok() || !use_.on_error || !IsNews(status.message())) return;
    (void)CallForeign("FleetUse::on_error", StatusCode::kInternal, [&] {
      use_.on_error(status.message());
      return Status();
    });
  }
  /// Code that the machine or this process has.
  Result<std::optional<Artifact>> NearCode(const Fingerprint& key) const {
    Result<std::optional<Artifact>> near = machine_->GetArtifact(key);
    if (near.ok() && *near) return near;
    Result<std::optional<Artifact>> kept = kept_.GetArtifact(key);
    return kept.ok() && *kept ? kept : near;
  }
  Status KeepCode(const Fingerprint& key, const Artifact& artifact) const {
    const Status near = machine_->PutArtifact(key, artifact);
    if (near.ok()) return near;
    // A read-only store refuses every artifact, so that this needs no report.
    if (near.code() != StatusCode::kFailedPrecondition) Say(near);
    return kept_.PutArtifact(key, artifact);
  }

  const std::shared_ptr<RecordStore> machine_, fleet_;
  const FleetUse use_;
  mutable MemoryStore kept_;  // Records that the fleet's store has yet to accept, artifacts that the machine's refused.
};

}  // namespace

std::shared_ptr<RecordStore> MakeFleetStore(std::shared_ptr<RecordStore> machine, std::shared_ptr<RecordStore> fleet,
                                            FleetUse use) {
  auto guarded = [](std::shared_ptr<RecordStore> store) {
    return std::make_shared<GuardedStore>(std::move(store), /*trace=*/nullptr);
  };
  return std::make_shared<FleetStore>(guarded(std::move(machine)), guarded(std::move(fleet)), std::move(use));
}

}  // namespace v0
}  // namespace tuneonce
