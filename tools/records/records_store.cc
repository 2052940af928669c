#include "records/records_store.h"

#include <ctime>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/mutex.h"
#include "base/short_list.h"
#include "console/output.h"
#include "report/records_json.h"
#include "store/default_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"
#ifdef TUNEONCE_WITH_REDIS
#include "tuneonce/redis_store.h"
#endif

namespace tuneonce {
inline namespace v0 {
namespace {

/// How long a command waits for others that hold the store.
constexpr int kPatienceMs = 5000;

#ifdef TUNEONCE_WITH_REDIS
Result<std::shared_ptr<AnyStore>> OpenFleet(const std::string& address, bool for_reading) {
  const Environment& environment = Runtime::Default()->environment();
  RedisStoreOptions options;
  TUNEONCE_ASSIGN_OR_RETURN(options.redis, RedisOptions::Parse(address));
  if (options.redis.password.empty()) options.redis.password = environment.redis_password;
  if (!environment.fleet_keys.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(options.keys, ReadSigningKeys(environment.fleet_keys));
  }
  options.redis.timeout_ms = kPatienceMs;
  options.first_retry_ms = 0;
  options.read_only = for_reading;
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<RedisStore> store, RedisStore::Open(std::move(options)));
  return std::make_shared<AnyStore>(store->place(), store);
}
#else
Result<std::shared_ptr<AnyStore>> OpenFleet(const std::string& address, bool) {
  return UnimplementedError("this tuneonce was built without Redis (TUNEONCE_WITH_REDIS): it cannot open " +
                            address.substr(0, address.find("://")) + "://...");
}
#endif

void NoteDamagedCode(const AnyStore& store) {
  const std::string note = absl::StrCat("cannot read all of ", store.path(), ": ", kDamagedCode);
  if (store.IsNews(note)) PrintNote(note);
}

}  // namespace

Result<std::shared_ptr<AnyStore>> OpenStore(const std::string& path, bool for_reading) {
  if (IsFleetAddress(path)) return OpenFleet(path, for_reading);
  SqliteStoreOptions where;
  where.path = path;
  if (where.path.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(where.path, DefaultStorePath(Runtime::Default()->environment()));
  }
  where.read_only = for_reading;
  where.busy_timeout = std::chrono::milliseconds(kPatienceMs);
  Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(where);
  // Nothing was tuned yet: the user's own store has no records, and is made now.
  if (for_reading && path.empty() && store.status().code() == StatusCode::kNotFound) {
    return OpenStore(path, /*for_reading=*/false);
  }
  TUNEONCE_RETURN_IF_ERROR(store.status());
  return std::make_shared<AnyStore>((*store)->path(), *store);
}

Result<std::vector<TuningRecord>> Records(const AnyStore& store, const std::string& kernel) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> all, store.List());
  std::vector<TuningRecord> records;
  std::set<std::string> kernels;
  for (TuningRecord& record : all) {
    kernels.insert(record.key.kernel);
    if (kernel.empty() || record.key.kernel == kernel) records.push_back(std::move(record));
  }
  if (records.empty() && !kernel.empty()) {
    return NotFoundError(
        "no record of kernel '" + kernel + "' in '" + store.path() + "', which " +
        (kernels.empty() ? "is empty" : "has records of: " + ShortList({kernels.begin(), kernels.end()}, kernel)));
  }
  return records;
}

Result<WholeStore> ReadWhole(const std::string& path) {
  WholeStore whole;
  whole.path = path;
  TUNEONCE_ASSIGN_OR_RETURN(whole.store, OpenStore(path, /*for_reading=*/true));
  TUNEONCE_ASSIGN_OR_RETURN(whole.records, whole.store->List());
  TUNEONCE_ASSIGN_OR_RETURN(StoreReport report, whole.store->Verify());
  whole.problems = std::move(report.problems);
  whole.are_records_whole = report.are_records_whole;
  return whole;
}

std::vector<std::string> RecordProblems(const WholeStore& whole) {
  if (!whole.are_records_whole) return whole.problems;
  if (!whole.problems.empty()) NoteDamagedCode(*whole.store);
  return {};
}

Result<std::optional<Artifact>> ReadCode(const AnyStore& store, const Fingerprint& key) {
  Result<std::optional<Artifact>> artifact = store.GetArtifact(key);
  if (artifact.status().code() != StatusCode::kInternal) return artifact;  // SqliteStore's of a damaged file.
  NoteDamagedCode(store);
  return std::optional<Artifact>();
}

std::string KeyLine(const TuningKey& key) {
  std::string driver = key.driver_version == 0 ? "any driver"
                                               : "driver " + std::to_string(key.driver_version / 1000) + "." +
                                                     std::to_string(key.driver_version % 1000 / 10);
  return key.kernel + "  " + key.key_text + "  " + key.device_name + ", " + driver;
}

std::string Brief(const TuningRecord& record) {
  std::string text = "{" + record.best.config.ToString() + "}";
  if (!record.nearest_dim.empty()) text = "a table by " + record.nearest_dim;
  if (record.best.measurement.num_samples > 0) text += " " + std::to_string(record.best.measurement.mean_us) + " us";
  if (record.is_pinned) text += ", pinned";
  if (record.is_imported()) text += ", imported";
  if (record.num_not_measured > 0) text += ", " + record.SearchedText();
  return text + (record.is_complete ? "" : ", incomplete");
}

std::string DateOf(std::int64_t unix_seconds) {
  auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm date{};
  if (gmtime_r(&seconds, &date) == nullptr) return "no date";  // A year that no int holds.
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &date);
  return text;
}

/// The last error of writing.
struct TuneStore::Failure {
  Mutex mutex;
  Status status TUNEONCE_GUARDED_BY(mutex);
};

TuneStore::TuneStore(std::shared_ptr<RecordStore> store, bool serves)
    : ForwardingStore(std::move(store)), serves_(serves), failure_(std::make_unique<Failure>()) {}
TuneStore::~TuneStore() = default;

Result<RecordLookup> TuneStore::Lookup(const TuningKey& key) const {
  return serves_ ? store_->Lookup(key) : RecordLookup();
}

Status TuneStore::Put(const TuningRecord& record) {
  Result<RecordLookup> there = store_->Lookup(record.key);
  bool is_pinned = there.ok() && there->match == RecordMatch::kExact && there->record->is_pinned;
  Status status = is_pinned ? FailedPreconditionError("the key is pinned in the store: unpin it, or prune the record")
                            : store_->Put(record);
  MutexLock lock(failure_->mutex);
  if (!status.ok()) failure_->status = status.WithPrefix("the selections could not be stored");
  return Status();
}

Status TuneStore::failure() const {
  MutexLock lock(failure_->mutex);
  return failure_->status;
}

}  // namespace v0
}  // namespace tuneonce
