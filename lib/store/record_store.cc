#include "tuneonce/record_store.h"

#include <set>
#include <utility>

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

std::string_view RecordMissName(RecordMiss miss) {
  switch (miss) {
    case RecordMiss::kNone:
      return "";
    case RecordMiss::kNoRecord:
      return "no record";
    case RecordMiss::kOtherDriver:
      return "other driver";
    case RecordMiss::kOtherDevice:
      return "other device";
    case RecordMiss::kOtherSource:
      return "other source";
    case RecordMiss::kIncomplete:
      return "incomplete";
    case RecordMiss::kRefused:
      return "refused";
  }
  return "";
}

RecordMiss RecordLookup::Miss() const {
  switch (match) {
    case RecordMatch::kExact:
      return record && record->is_complete ? RecordMiss::kNone : RecordMiss::kIncomplete;
    case RecordMatch::kOtherDriver:
      return RecordMiss::kOtherDriver;
    case RecordMatch::kOtherDevice:
      return RecordMiss::kOtherDevice;
    case RecordMatch::kNotFound:
      break;
  }
  return instead;
}

void RecordLookup::NoteInstead(RecordMiss what, std::string why) {
  // The enum's order: what cannot be used says more than what is another kernel's, and that more than nothing.
  if (what <= instead) return;
  instead = what;
  detail = std::move(why);
}

void RecordLookup::Improve(RecordLookup found) {
  if (!found.record) return NoteInstead(found.instead, std::move(found.detail));
  if (found.match > match) return;
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
