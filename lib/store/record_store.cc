#include "tuneonce/plugin/record_store.h"

#include <iterator>
#include <set>
#include <utility>

#include "base/mutex.h"
#include "store/record_preference.h"

namespace tuneonce {
inline namespace v0 {

struct RecordStore::Warnings {
  Mutex mutex;
  std::set<std::string> warnings TUNEONCE_GUARDED_BY(mutex);
};

RecordStore::RecordStore() : warnings_(std::make_unique<Warnings>()) {}
RecordStore::~RecordStore() = default;

RecordMatch MatchKeys(const TuningKey& stored, const TuningKey& wanted) {
  if (!stored.SameKernel(wanted)) return RecordMatch::kNotFound;
  if (!stored.SameDevice(wanted)) return RecordMatch::kOtherDevice;
  return stored.driver_version == wanted.driver_version ? RecordMatch::kExact : RecordMatch::kOtherDriver;
}

std::string_view RecordMissName(RecordMiss miss) {
  static constexpr std::string_view kNames[] = {"",       "no record", "other driver", "other device", "other source",
                                                "refused"};
  static_assert(std::size(kNames) == kNumRecordMisses);
  return kNames[static_cast<std::size_t>(miss)];
}

RecordMiss RecordLookup::Miss() const {
  switch (match) {
    case RecordMatch::kExact:
      return RecordMiss::kNone;
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
  // In the enum's order: an unusable record is more specific than another kernel's, which is more specific than none.
  if (what <= instead) return;
  instead = what;
  detail = std::move(why);
}

namespace {

bool GoesBefore(const RecordLookup& a, const RecordLookup& b) {
  if (!a.record || !b.record) return a.record.has_value();
  return a.match != b.match ? a.match < b.match : ServingRankOf(*a.record) < ServingRankOf(*b.record);
}

}  // namespace

void RecordLookup::Improve(RecordLookup found) {
  if (!found.record) return NoteInstead(found.instead, std::move(found.detail));
  std::shared_ptr<const RecordLookup> of_this = std::exchange(complete, nullptr);
  std::shared_ptr<const RecordLookup> of_found = std::exchange(found.complete, nullptr);
  if (GoesBefore(found, *this)) std::swap(*this, found);
  if (ServingRankOf(*record) != ServingRank::kCutShort) return;
  // `found` is what goes behind now.
  const bool is_complete = found.record && ServingRankOf(*found.record) == ServingRank::kComplete &&
                           found.match == RecordMatch::kOtherDriver;
  if (of_this != nullptr) {
    complete = std::move(of_this);
  } else if (is_complete) {
    complete = std::make_shared<const RecordLookup>(std::move(found));
  } else {
    complete = std::move(of_found);
  }
  if (complete != nullptr && complete->match <= match) complete = nullptr;
}

const RecordLookup& RecordLookup::BestFor(RecordMatch weakest) const {
  if (complete == nullptr) return *this;
  // A person's selection is of no driver.
  const bool is_accepted = complete->match <= weakest || complete->record->is_pinned;
  return is_accepted ? *complete : *this;
}

bool RecordStore::IsNews(const std::string& warning) const {
  constexpr std::size_t kMostKept = 100;  // Words that differ each time are no reason to grow.
  MutexLock lock(warnings_->mutex);
  std::set<std::string>& said = warnings_->warnings;
  return said.size() >= kMostKept ? said.count(warning) == 0 : said.insert(warning).second;
}

}  // namespace v0
}  // namespace tuneonce
