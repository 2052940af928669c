#ifndef TUNEONCE_LIB_STORE_MEMORY_STORE_H_
#define TUNEONCE_LIB_STORE_MEMORY_STORE_H_

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "compile/keyed_lock.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// Records and artifacts in memory, gone with the last of its owners. Thread rule: any thread.
class MemoryStore final : public RecordStore {
 public:
  static constexpr std::int64_t kDefaultMaxArtifactBytes = std::int64_t{256} << 20;

  explicit MemoryStore(std::int64_t max_artifact_bytes = kDefaultMaxArtifactBytes)
      : max_artifact_bytes_(max_artifact_bytes) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  /// Null: no other process shares the store.
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits&) override { return TuningLease(); }

  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override;
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override;
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override {
    return compiling_.Acquire(key, limits);
  }

 private:
  struct Encoded {
    std::string bytes;  // With a checksum.
    std::list<Fingerprint>::iterator use;
  };
  using Artifacts = std::map<Fingerprint, Encoded>;

  void Drop(Artifacts::iterator artifact) const TUNEONCE_REQUIRES(mutex_);

  const std::int64_t max_artifact_bytes_;
  mutable Mutex mutex_;
  std::vector<TuningRecord> records_ TUNEONCE_GUARDED_BY(mutex_);
  mutable Artifacts artifacts_ TUNEONCE_GUARDED_BY(mutex_);
  mutable std::list<Fingerprint> uses_ TUNEONCE_GUARDED_BY(mutex_);  // The most recent first.
  mutable std::int64_t artifact_bytes_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  KeyedLock compiling_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_MEMORY_STORE_H_
