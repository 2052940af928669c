#include "tune_store.h"

namespace tuneonce::cli {

Result<RecordLookup> TuneStore::Lookup(const TuningKey& key) const {
  return serves_ ? store_->Lookup(key) : RecordLookup();
}

Status TuneStore::Put(const TuningRecord& record) {
  Result<RecordLookup> there = store_->Lookup(record.key);
  bool is_pinned = there.ok() && there->match == RecordMatch::kExact && there->record->is_pinned;
  Status status = is_pinned ? FailedPreconditionError("the key is pinned in the store: unpin it, or prune the record")
                            : store_->Put(record);
  MutexLock lock(mutex_);
  if (!status.ok()) failure_ = status.WithPrefix("the selections could not be stored");
  return Status();
}

Status TuneStore::failure() const {
  MutexLock lock(mutex_);
  return failure_;
}

}  // namespace tuneonce::cli
