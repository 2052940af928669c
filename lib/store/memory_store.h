#ifndef TUNEONCE_LIB_STORE_MEMORY_STORE_H_
#define TUNEONCE_LIB_STORE_MEMORY_STORE_H_

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// Records in memory, gone with the last of its owners.
class TUNEONCE_API MemoryStore final : public RecordStore {
 public:
  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;

 private:
  mutable Mutex mutex_;
  std::vector<TuningRecord> records_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_MEMORY_STORE_H_
