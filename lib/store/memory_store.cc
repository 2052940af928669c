#include "store/memory_store.h"

#include <algorithm>
#include <utility>

#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

Result<RecordLookup> MemoryStore::Lookup(const TuningKey& key) const {
  MutexLock lock(mutex_);
  RecordLookup best;
  for (const TuningRecord& record : records_) {
    RecordMatch match = MatchKeys(record.key, key);
    if (match != RecordMatch::kNotFound) {
      RecordLookup found;
      found.match = match;
      found.record = record;
      best.Improve(std::move(found));
    } else if (record.key.IsOtherSource(key)) {
      best.NoteInstead(RecordMiss::kOtherSource);
    }
  }
  return best;
}

Status MemoryStore::Put(const TuningRecord& record) {
  MutexLock lock(mutex_);
  auto it = std::find_if(records_.begin(), records_.end(),
                         [&](const TuningRecord& r) { return MatchKeys(r.key, record.key) == RecordMatch::kExact; });
  if (it != records_.end()) {
    *it = record;
  } else {
    records_.push_back(record);
  }
  return Status();
}

Status MemoryStore::Remove(const TuningKey& key) {
  MutexLock lock(mutex_);
  records_.erase(std::remove_if(records_.begin(), records_.end(),
                                [&](const TuningRecord& r) { return MatchKeys(r.key, key) == RecordMatch::kExact; }),
                 records_.end());
  return Status();
}

Result<std::vector<TuningRecord>> MemoryStore::List() const {
  MutexLock lock(mutex_);
  return records_;
}

std::shared_ptr<RecordStore> MakeMemoryStore() { return std::make_shared<MemoryStore>(); }

}  // namespace v0
}  // namespace tuneonce
