#ifndef TUNEONCE_BINDINGS_CLI_TUNE_STORE_H_
#define TUNEONCE_BINDINGS_CLI_TUNE_STORE_H_

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "tuneonce/record_store.h"

namespace tuneonce::cli {

/// The store of `tuneonce tune --store`. `failure` returns an error of writing, which a search would only log.
/// Thread-safe.
class TuneStore final : public RecordStore {
 public:
  /// With `serves` false, lookups find nothing, so that all keys are tuned again.
  TuneStore(std::shared_ptr<RecordStore> store, bool serves) : store_(std::move(store)), serves_(serves) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override { return store_->List(); }
  Status Remove(const TuningKey& key) override { return store_->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override {
    return store_->Lease(key, limits);
  }
  ArtifactCache* artifacts() override { return store_->artifacts(); }

  Status failure() const;

 private:
  const std::shared_ptr<RecordStore> store_;
  const bool serves_;
  mutable Mutex mutex_;
  Status failure_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNE_STORE_H_
