#ifndef TUNEONCE_LIB_RUNTIME_GUARDED_STORE_H_
#define TUNEONCE_LIB_RUNTIME_GUARDED_STORE_H_

#include <memory>
#include <optional>

#include "tuneonce/artifact_cache.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

class Trace;

/// Wraps a host's artifact cache. An exception from it becomes an error that names it, and the time that it takes is
/// traced. Thread-safe.
class GuardedArtifactCache final : public ArtifactCache {
 public:
  /// REQUIRES: `cache` and `trace` outlive the object.
  GuardedArtifactCache(ArtifactCache& cache, Trace* trace) : cache_(cache), trace_(trace) {}

  Result<std::optional<Artifact>> Get(const Fingerprint& key) override;
  Status Put(const Fingerprint& key, const Artifact& artifact) override;
  Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) override;

 private:
  ArtifactCache& cache_;
  Trace* const trace_;
};

/// Wraps a host's record store and its artifact cache, in the same way as GuardedArtifactCache. Thread-safe.
class GuardedStore final : public RecordStore {
 public:
  GuardedStore(std::shared_ptr<RecordStore> store, Trace* trace);

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;
  ArtifactCache* artifacts() override { return artifacts_ ? &*artifacts_ : nullptr; }

 private:
  const std::shared_ptr<RecordStore> store_;
  Trace* const trace_;
  std::optional<GuardedArtifactCache> artifacts_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_GUARDED_STORE_H_
