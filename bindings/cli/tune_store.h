#ifndef TUNEONCE_BINDINGS_CLI_TUNE_STORE_H_
#define TUNEONCE_BINDINGS_CLI_TUNE_STORE_H_

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "store/forwarding_store.h"
#include "tuneonce/record_store.h"

namespace tuneonce::cli {

/// The store of `tuneonce tune --store`. `failure` returns an error of writing, which a search would only log.
/// Thread-safe.
class TuneStore final : public ForwardingStore {
 public:
  /// With `serves` false, lookups find nothing, so that all keys are tuned again.
  TuneStore(std::shared_ptr<RecordStore> store, bool serves) : ForwardingStore(std::move(store)), serves_(serves) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;

  Status failure() const;

 private:
  const bool serves_;
  mutable Mutex mutex_;
  Status failure_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_TUNE_STORE_H_
