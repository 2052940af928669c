#include "tuneonce/plugin/sqlite_store.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compile/keyed_lock.h"
#include "store/kernel_fingerprint.h"
#include "store/memory_store.h"
#include "store/sqlite_connection.h"
#include "store/sqlite_tables.h"
#include "store/store_place.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

struct SqliteStore::Impl {
  explicit Impl(SqliteStoreOptions options) : connection(std::move(options)) {}

  const SqliteStoreOptions& options() const { return connection.options(); }

  /// Writes what could not be written before, as far as that goes now. Others may have written to the keys since.
  void CatchUp() {
    Result<std::vector<TuningRecord>> waiting = unwritten.List();
    for (const TuningRecord& record : *waiting) {
      if (connection.IsOut() || !records.PutLate(record).ok()) return;
      (void)unwritten.Remove(record.key);
    }
  }

  SqliteConnection connection;
  RecordTable records{&connection};
  ArtifactTable artifacts{&connection};
  MemoryStore unwritten;  // Records that were refused with Unavailable: they serve this process meanwhile.
  KeyedLock locks;        // Among this process's threads: OFD locks are by open file.
};

SqliteStore::SqliteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteStore::~SqliteStore() {
  if (impl_->connection.CheckOwner().ok()) impl_->CatchUp();
}

const std::string& SqliteStore::path() const { return impl_->options().path; }

Result<std::shared_ptr<SqliteStore>> SqliteStore::Open(SqliteStoreOptions options) {
  if (options.path.empty()) {
    return InvalidArgumentError(
        "SqliteStoreOptions::path is empty: name the file; the user's own store is Runtime::Default()->store()");
  }
  constexpr std::size_t kMaxPath = 480;  // SQLite's own limit is 512, with its suffixes.
  std::size_t length = std::max(options.path.size(), ResolveParents(options.path).size());
  if (length > kMaxPath) {
    return InvalidArgumentError(absl::StrCat("the store's path has ", length, " characters; at most ", kMaxPath,
                                             " are possible: ", options.path.substr(0, 60), "..."));
  }
  auto impl = std::make_unique<Impl>(std::move(options));
  TUNEONCE_RETURN_IF_ERROR(impl->connection.Open());
  return std::shared_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

Result<std::shared_ptr<SqliteStore>> SqliteStore::FromBytes(const void* bytes, std::size_t size) {
  constexpr std::size_t kHeader = 100;  // Size of the header of an SQLite file.
  if (bytes == nullptr || size < kHeader) {
    return InvalidArgumentError(
        absl::StrCat("the embedded store is not an SQLite file, because it has only ", size, " bytes"));
  }
  SqliteStoreOptions options;
  options.path = "(embedded)";
  options.read_only = true;
  auto impl = std::make_unique<Impl>(std::move(options));
  if (Status opened = impl->connection.Deserialize(bytes, size); !opened.ok()) {
    return InvalidArgumentError(opened.message());
  }
  return std::shared_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

Result<std::shared_ptr<SqliteStore>> SqliteStore::InMemory() {
  SqliteStoreOptions options;
  options.path = "(in memory)";
  options.max_artifact_bytes = std::numeric_limits<std::int64_t>::max();
  auto impl = std::make_unique<Impl>(std::move(options));
  TUNEONCE_RETURN_IF_ERROR(impl->connection.OpenInMemory());
  return std::shared_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

Result<std::string> SqliteStore::Bytes() const { return impl_->connection.Serialize(); }

Result<std::vector<Fingerprint>> SqliteStore::ArtifactKeys() const { return impl_->artifacts.Keys(); }

Result<RecordLookup> SqliteStore::Lookup(const TuningKey& key) const {
  Result<RecordLookup> stored = impl_->records.Lookup(key);
  Result<RecordLookup> waiting = impl_->unwritten.Lookup(key);
  if (stored.ok()) impl_->CatchUp();
  bool is_better = stored.ok() ? waiting->match < stored->match : waiting->match != RecordMatch::kNotFound;
  return is_better ? waiting : stored;
}

Status SqliteStore::Put(const TuningRecord& record) {
  Status put = impl_->records.Put(record);
  if (put.code() == StatusCode::kUnavailable) {
    TUNEONCE_RETURN_IF_ERROR(impl_->unwritten.Put(record));
  } else if (put.ok()) {
    TUNEONCE_RETURN_IF_ERROR(impl_->unwritten.Remove(record.key));
    impl_->CatchUp();
  }
  return put;
}

Result<std::vector<TuningRecord>> SqliteStore::List() const { return impl_->records.List(); }

Status SqliteStore::Remove(const TuningKey& key) {
  TUNEONCE_RETURN_IF_ERROR(impl_->unwritten.Remove(key));
  return impl_->records.Remove(key);
}

Result<std::optional<Artifact>> SqliteStore::GetArtifact(const Fingerprint& key) const {
  return impl_->artifacts.Get(key);
}

Status SqliteStore::PutArtifact(const Fingerprint& key, const Artifact& artifact) {
  return impl_->artifacts.Put(key, artifact);
}

Result<TuningLease> SqliteStore::Lease(const TuningKey& key, const WaitLimits& limits) {
  return LeaseArtifact(FullKey(key), limits);
}

Result<TuningLease> SqliteStore::LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) {
  TUNEONCE_RETURN_IF_ERROR(impl_->connection.CheckOwner());
  auto start = std::chrono::steady_clock::now();
  Result<TuningLease> among_threads = impl_->locks.Acquire(key, limits);
  if (among_threads.status().code() == StatusCode::kDeadlineExceeded) {
    return DeadlineExceededError("another thread is working on the same key and did not finish in time");
  }
  if (!among_threads.ok() || impl_->options().read_only || impl_->connection.in_memory()) return among_threads;
  auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  WaitLimits left = limits;
  left.timeout = std::max(std::chrono::milliseconds(0), limits.timeout - spent);
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<void> among_processes,
                            LockKey(ResolveParents(impl_->options().path), key, left));
  // Both end together.
  using Both = std::pair<TuningLease, std::shared_ptr<void>>;
  return TuningLease(std::make_shared<Both>(*std::move(among_threads), std::move(among_processes)));
}

Result<StoreReport> SqliteStore::Verify() const {
  StoreReport report;
  TUNEONCE_RETURN_IF_ERROR(impl_->connection.Read("verifying", [&](sqlite3* database) {
    report = StoreReport();
    Statement check(database, "PRAGMA integrity_check");
    int result = check.Step();
    for (; result == SQLITE_ROW; result = check.Step()) {
      // May have several lines: "*** in database main ***", then the problems.
      const std::string found = check.Blob(0);
      if (found != "ok") report.problems.push_back("SQLite: " + absl::StrReplaceAll(found, {{"\n", " "}}));
    }
    if ((result & 0xff) != SQLITE_CORRUPT) return result;
    // Which table it is shows below.
    report.problems.push_back(absl::StrCat("SQLite: ", sqlite3_errmsg(database)));
    return SQLITE_DONE;
  }));
  TUNEONCE_RETURN_IF_ERROR(impl_->records.Verify(&report));
  TUNEONCE_RETURN_IF_ERROR(impl_->artifacts.Verify(&report));
  return report;
}

}  // namespace v0
}  // namespace tuneonce
