#include "tuneonce/record_store.h"

#include <set>

#include "base/mutex.h"

namespace tuneonce {
inline namespace v0 {

struct RecordStore::Said {
  Mutex mutex;
  std::set<std::string> warnings TUNEONCE_GUARDED_BY(mutex);
};

RecordStore::RecordStore() : said_(std::make_unique<Said>()) {}
RecordStore::~RecordStore() = default;

RecordMatch MatchKeys(const TuningKey& stored, const TuningKey& wanted) {
  if (!stored.SameKernel(wanted)) return RecordMatch::kNotFound;
  if (!stored.SameDevice(wanted)) return RecordMatch::kOtherDevice;
  return stored.driver_version == wanted.driver_version ? RecordMatch::kExact : RecordMatch::kOtherDriver;
}

void RecordLookup::Improve(RecordLookup found) {
  if (!found.record || found.match > match) return;
  bool is_alike = found.match == match && record;
  if (is_alike && (found.record->is_imported() || !record->is_imported())) return;
  *this = std::move(found);
}

bool RecordStore::IsNews(const std::string& warning) const {
  constexpr std::size_t kMostKept = 100;  // Words that differ each time are no reason to grow.
  MutexLock lock(said_->mutex);
  std::set<std::string>& said = said_->warnings;
  return said.size() >= kMostKept ? said.count(warning) == 0 : said.insert(warning).second;
}

}  // namespace v0
}  // namespace tuneonce
