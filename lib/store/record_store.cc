#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

RecordMatch MatchKeys(const TuningKey& stored, const TuningKey& wanted) {
  if (!stored.SameKernel(wanted)) return RecordMatch::kNotFound;
  if (!stored.SameDevice(wanted)) return RecordMatch::kOtherDevice;
  return stored.driver_version == wanted.driver_version ? RecordMatch::kExact : RecordMatch::kOtherDriver;
}

bool RecordStore::IsNews(const std::string& warning) const {
  constexpr std::size_t kMostKept = 100;  // Words that differ each time are no reason to grow.
  std::lock_guard<std::mutex> lock(said_mutex_);
  return said_.size() >= kMostKept ? said_.count(warning) == 0 : said_.insert(warning).second;
}

}  // namespace v0
}  // namespace tuneonce
