#include "tuneonce/store/sqlite_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/encoding.h"
#include "compile/keyed_lock.h"
#include "store/sqlite.h"
#include "store/store_file.h"
#include "tuneonce/base/environment.h"
#include "tuneonce/store/memory_store.h"

namespace tuneonce {
namespace {

constexpr int kApplicationId = 0x74756e65;  // "tune"
constexpr int kSchemaVersion = 1;
/// How wrong an artifact's time of use may be (also because the clock was set back): so that a Get seldom writes.
constexpr std::int64_t kUseGranularitySeconds = 3600;

constexpr char kSchema[] = R"(
CREATE TABLE records(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kernel_key BLOB NOT NULL, body BLOB NOT NULL);
CREATE INDEX records_by_kernel ON records(kernel_key);
CREATE TABLE artifacts(key BLOB PRIMARY KEY, size INTEGER NOT NULL, used INTEGER NOT NULL, body BLOB NOT NULL)
  WITHOUT ROWID;
CREATE INDEX artifacts_by_use ON artifacts(used, key, size);
)";

/// The newest first.
constexpr char kRecordsOfKernel[] = "SELECT body FROM records WHERE kernel_key = ? ORDER BY id DESC";

std::int64_t NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string Bytes(const Fingerprint& fingerprint) {
  return std::string(reinterpret_cast<const char*>(&fingerprint), sizeof(fingerprint));
}

Fingerprint KernelKey(const TuningKey& key) {
  Fingerprinter fingerprinter;
  fingerprinter.Add(key.kernel_fingerprint).Add(static_cast<std::uint64_t>(key.key_words.size()));
  for (std::uint64_t word : key.key_words) fingerprinter.Add(word);
  return fingerprinter.Finish();
}

Fingerprint FullKey(const TuningKey& key) {
  return Fingerprinter()
      .Add(KernelKey(key))
      .Add(std::string_view(key.device_name))
      .Add(static_cast<std::uint64_t>(key.capability))
      .Add(static_cast<std::uint64_t>(key.num_sms))
      .Add(static_cast<std::uint64_t>(key.driver_version))
      .Finish();
}

/// An artifact together with its key: a row that SQLite finds under a wrong key is no hit.
std::string SealArtifact(const Fingerprint& key, const Artifact& artifact) {
  return Encoder().Add(key).Add(std::string_view(EncodeArtifact(artifact))).Finish();
}
Result<Artifact> UnsealArtifact(const Fingerprint& key, const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(Decoder decoder, Decoder::Open(bytes, "a stored artifact"));
  if (decoder.ReadFingerprint() != key) return InvalidArgumentError("a stored artifact is another key's");
  return DecodeArtifact(decoder.Text());
}

}  // namespace

bool IsCorrupt(int result) {
  int primary = result & 0xff;
  // SQLITE_ERROR: our statements are constant, so if one does not fit the tables, these are not what we made.
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_ERROR;
}

Status SqliteStatus(int result, sqlite3* database, const std::string& what) {
  if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return Status();
  const char* text = database == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(database);
  return Status(IsCorrupt(result) ? StatusCode::kInternal : StatusCode::kUnavailable,
                absl::StrCat("the store ", what, ": ", text, " (SQLite ", result, ")"));
}

struct SqliteStore::Impl {
  SqliteStoreOptions options;
  pid_t owner = getpid();
  mutable std::mutex mutex;
  sqlite3* database = nullptr;
  unsigned long inode = 0;
  KeyedLock locks;  // Among this process's threads: OFD locks are by open file.

  ~Impl() { Close(); }

  void Close() {
    // In a forked child the connection, its locks and its memory are the parent's: not even to be closed.
    if (database != nullptr && getpid() == owner) sqlite3_close(database);
    database = nullptr;
  }

  int Execute(const char* sql) const { return sqlite3_exec(database, sql, nullptr, nullptr, nullptr); }

  std::int64_t Pragma(const char* sql) const {
    Statement statement(database, sql);
    return statement.Step() == SQLITE_ROW ? statement.Int(0) : 0;
  }

  /// Opens the file, sets it aside if it is corrupt, and opens a new one then.
  Status Open() {
    std::shared_ptr<void> lock = options.read_only ? nullptr : LockPlace(options.path);
    int result = Connect();
    if (IsCorrupt(result) && !options.read_only) return ReplaceCorrupt();
    TUNEONCE_RETURN_IF_ERROR(SqliteStatus(result, database, options.path));
    return CheckVersion();
  }

  int Connect() {
    std::string uri =
        absl::StrCat("file:", absl::StrReplaceAll(options.path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}),
                     options.read_only ? "?immutable=1" : "");
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int result = sqlite3_open_v2(uri.c_str(), &database, flags, nullptr);
    if (result != SQLITE_OK) return result;
    sqlite3_busy_timeout(database, options.busy_timeout_ms);
    struct stat info {};
    if (stat(options.path.c_str(), &info) == 0) inode = info.st_ino;
    if (options.read_only) return Execute("SELECT count(*) FROM sqlite_master");
    // Never delete FILE-wal on close: once FILE was set aside, that name is another connection's.
    int persist = 1;
    sqlite3_file_control(database, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
    result = Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304;");
    if (result != SQLITE_OK) return result;
    return CreateSchema();
  }

  /// A database in memory that is a copy of these bytes.
  Status Deserialize(const void* bytes, std::size_t size) {
    TUNEONCE_RETURN_IF_ERROR(
        SqliteStatus(sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr),
                     database, options.path));
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(size));
    if (copy == nullptr) return ResourceExhaustedError("no memory for a copy of the store");
    std::memcpy(copy, bytes, size);
    // Bytes 18 and 19 of the header say 2 for a database in WAL mode, which one in memory cannot be; 1 is the other
    // mode (SQLite's file format, 1.3.3).
    copy[18] = copy[19] = 1;
    auto bytes_64 = static_cast<sqlite3_int64>(size);
    int result = sqlite3_deserialize(database, "main", copy, bytes_64, bytes_64,
                                     SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    if (result == SQLITE_OK) result = Execute("SELECT count(*) FROM sqlite_master");
    TUNEONCE_RETURN_IF_ERROR(SqliteStatus(result, database, options.path));
    return CheckVersion();
  }

  int CreateSchema() {
    if (Pragma("PRAGMA user_version") != 0) return SQLITE_OK;
    int result = Execute("BEGIN IMMEDIATE");
    if (result != SQLITE_OK) return result;
    // Another process may have made it meanwhile; and a database of somebody else's has tables.
    if (Pragma("PRAGMA user_version") == 0 && Pragma("SELECT count(*) FROM sqlite_master") == 0) {
      result = Execute(kSchema);
      if (result == SQLITE_OK) {
        result = Execute(
            absl::StrCat("PRAGMA application_id=", kApplicationId, "; PRAGMA user_version=", kSchemaVersion).c_str());
      }
    }
    int ended = Execute(result == SQLITE_OK ? "COMMIT" : "ROLLBACK");
    return result != SQLITE_OK ? result : ended;
  }

  Status CheckVersion() const {
    if (Pragma("PRAGMA application_id") != kApplicationId) {
      return FailedPreconditionError(absl::StrCat(options.path, " is no store of tuneonce: choose another path"));
    }
    std::int64_t version = Pragma("PRAGMA user_version");
    if (version == kSchemaVersion) return Status();
    return FailedPreconditionError(absl::StrCat(options.path, " was written by ",
                                                version > kSchemaVersion ? "a newer" : "another",
                                                " version of tuneonce (format ", version, "; this one knows ",
                                                kSchemaVersion, "): update tuneonce, or choose another path"));
  }

  /// REQUIRES: LockPlace is held.
  Status ReplaceCorrupt() {
    TUNEONCE_RETURN_IF_ERROR(SetAside(options.path, inode));
    Close();
    TUNEONCE_RETURN_IF_ERROR(SqliteStatus(Connect(), database, options.path));
    return CheckVersion();
  }

  /// Runs `work`, which returns an SQLite result, alone. A corrupt file is set aside, and the work done on a new one.
  Status Run(const char* what, const std::function<int()>& work) {
    std::lock_guard<std::mutex> lock(mutex);
    if (getpid() != owner) {
      return FailedPreconditionError("the store " + options.path +
                                     " was opened before a fork: open another one in the child");
    }
    int result = work();
    if (IsCorrupt(result) && !options.read_only) {
      std::shared_ptr<void> place = LockPlace(options.path);
      TUNEONCE_RETURN_IF_ERROR(ReplaceCorrupt());
      result = work();
    }
    return SqliteStatus(result, database, absl::StrCat(options.path, ", ", what));
  }

  /// The same in a transaction that others wait for.
  Status Write(const char* what, const std::function<int()>& work) {
    if (options.read_only) return FailedPreconditionError("the store " + options.path + " is open for reading only");
    return Run(what, [&] {
      int result = Execute("BEGIN IMMEDIATE");
      if (result != SQLITE_OK) return result;
      result = work();
      if (result == SQLITE_DONE) result = Execute("COMMIT");
      if (result != SQLITE_OK) {
        // The result to report is the first one.
        Execute("ROLLBACK");
      }
      return result;
    });
  }
};

SqliteStore::SqliteStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteStore::~SqliteStore() = default;

const std::string& SqliteStore::path() const { return impl_->options.path; }

Result<std::shared_ptr<SqliteStore>> SqliteStore::Open(SqliteStoreOptions options) {
  if (options.path.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(options.path, DefaultStorePath());
  }
  constexpr std::size_t kMaxPath = 480;  // SQLite's own limit is 512, with its suffixes.
  if (options.path.size() > kMaxPath) {
    return InvalidArgumentError(absl::StrCat("the store's path has ", options.path.size(), " characters; at most ",
                                             kMaxPath, " are possible: ", options.path.substr(0, 60), "..."));
  }
  if (!options.read_only) TUNEONCE_RETURN_IF_ERROR(CheckStorePlace(options.path));
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  TUNEONCE_RETURN_IF_ERROR(impl->Open());
  return std::shared_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

Result<std::shared_ptr<SqliteStore>> SqliteStore::FromBytes(const void* bytes, std::size_t size) {
  constexpr std::size_t kHeader = 100;  // Of an SQLite file.
  if (bytes == nullptr || size < kHeader) {
    return InvalidArgumentError(absl::StrCat("the embedded store is not an SQLite file: it has ", size, " bytes"));
  }
  auto impl = std::make_unique<Impl>();
  impl->options.path = "(embedded)";
  impl->options.read_only = true;
  if (Status opened = impl->Deserialize(bytes, size); !opened.ok()) return InvalidArgumentError(opened.message());
  return std::shared_ptr<SqliteStore>(new SqliteStore(std::move(impl)));
}

Result<RecordLookup> SqliteStore::Lookup(const TuningKey& key) const {
  RecordLookup best;
  std::string kernel_key = Bytes(KernelKey(key));
  TUNEONCE_RETURN_IF_ERROR(impl_->Run("reading a record", [&] {
    best = RecordLookup();
    Statement statement(impl_->database, kRecordsOfKernel);
    statement.Bind(std::string_view(kernel_key));
    int result = statement.Step();
    for (; result == SQLITE_ROW; result = statement.Step()) {
      Result<TuningRecord> record = DecodeRecord(statement.Blob(0));
      if (!record.ok()) continue;
      RecordMatch match = MatchKeys(record->key, key);
      if (match < best.match) best = RecordLookup{match, *std::move(record)};
    }
    return result;
  }));
  return best;
}

Status SqliteStore::Put(const TuningRecord& record) {
  std::string key = Bytes(FullKey(record.key));
  std::string kernel_key = Bytes(KernelKey(record.key));
  std::string body = EncodeRecord(record);
  return impl_->Write("writing a record", [&] {
    int result = Statement(impl_->database, "INSERT OR REPLACE INTO records(key, kernel_key, body) VALUES(?, ?, ?)")
                     .Bind(std::string_view(key))
                     .Bind(std::string_view(kernel_key))
                     .Bind(std::string_view(body))
                     .Step();
    if (result != SQLITE_DONE) return result;
    // Acknowledged means found: a damaged index takes rows that a Lookup then does not find, or stumbles over.
    Statement again(impl_->database, kRecordsOfKernel);
    result = again.Bind(std::string_view(kernel_key)).Step();
    bool found = result == SQLITE_ROW && again.Blob(0) == body;
    while (result == SQLITE_ROW) result = again.Step();
    return result == SQLITE_DONE && !found ? SQLITE_CORRUPT : result;
  });
}

Result<std::vector<TuningRecord>> SqliteStore::List() const {
  std::vector<TuningRecord> records;
  TUNEONCE_RETURN_IF_ERROR(impl_->Run("listing records", [&] {
    records.clear();
    Statement statement(impl_->database, "SELECT body FROM records ORDER BY id");
    int result = statement.Step();
    for (; result == SQLITE_ROW; result = statement.Step()) {
      Result<TuningRecord> record = DecodeRecord(statement.Blob(0));
      if (record.ok()) records.push_back(*std::move(record));
    }
    return result;
  }));
  return records;
}

Status SqliteStore::Remove(const TuningKey& key) {
  std::string bytes = Bytes(FullKey(key));
  return impl_->Write("removing a record", [&] {
    Statement statement(impl_->database, "DELETE FROM records WHERE key = ?");
    return statement.Bind(std::string_view(bytes)).Step();
  });
}

Result<std::optional<Artifact>> SqliteStore::Get(const Fingerprint& key) {
  std::string bytes = Bytes(key);
  std::string body;
  bool found = false;
  std::int64_t used = 0;
  TUNEONCE_RETURN_IF_ERROR(impl_->Run("reading an artifact", [&] {
    Statement statement(impl_->database, "SELECT body, used FROM artifacts WHERE key = ?");
    int result = statement.Bind(std::string_view(bytes)).Step();
    found = result == SQLITE_ROW;
    if (found) {
      body = statement.Blob(0);
      used = statement.Int(1);
    }
    return result;
  }));
  if (!found) return std::optional<Artifact>();
  Result<Artifact> artifact = UnsealArtifact(key, body);
  std::int64_t now = NowSeconds();
  if (!impl_->options.read_only && (!artifact.ok() || std::abs(now - used) > kUseGranularitySeconds)) {
    // If it cannot be written the artifact is good all the same.
    (void)impl_->Write("marking an artifact", [&] {
      Statement statement(impl_->database, artifact.ok() ? "UPDATE artifacts SET used = ? WHERE key = ?"
                                                         : "DELETE FROM artifacts WHERE ? AND key = ?");
      return statement.Bind(now).Bind(std::string_view(bytes)).Step();
    });
  }
  if (!artifact.ok()) return std::optional<Artifact>();
  return std::optional<Artifact>(*std::move(artifact));
}

Status SqliteStore::Put(const Fingerprint& key, const Artifact& artifact) {
  std::string bytes = Bytes(key);
  std::string body = SealArtifact(key, artifact);
  auto size = static_cast<std::int64_t>(body.size());
  if (size > impl_->options.max_artifact_bytes) {
    return ResourceExhaustedError("the artifact is larger than the whole store may be");
  }
  return impl_->Write("writing an artifact", [&] {
    int result =
        Statement(impl_->database, "INSERT OR REPLACE INTO artifacts(key, used, size, body) VALUES(?, ?, ?, ?)")
            .Bind(std::string_view(bytes))
            .Bind(NowSeconds())
            .Bind(size)
            .Bind(std::string_view(body))
            .Step();
    if (result != SQLITE_DONE) return result;
    while (impl_->Pragma("SELECT sum(size) FROM artifacts") > impl_->options.max_artifact_bytes) {
      result = Statement(impl_->database,
                         "DELETE FROM artifacts WHERE key = (SELECT key FROM artifacts INDEXED BY "
                         "artifacts_by_use WHERE key <> ? ORDER BY used LIMIT 1)")
                   .Bind(std::string_view(bytes))
                   .Step();
      if (result != SQLITE_DONE || sqlite3_changes(impl_->database) == 0) break;
    }
    return result;
  });
}

Result<TuningLease> SqliteStore::Lease(const TuningKey& key, const CompileLimits& limits) {
  return Lease(FullKey(key), limits);
}

Result<ArtifactLease> SqliteStore::Lease(const Fingerprint& key, const CompileLimits& limits) {
  TUNEONCE_ASSIGN_OR_RETURN(ArtifactLease among_threads, impl_->locks.Acquire(key, limits));
  if (impl_->options.read_only) return among_threads;
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<void> among_processes, LockKey(impl_->options.path, key, limits));
  // Both end together.
  using Both = std::pair<ArtifactLease, std::shared_ptr<void>>;
  return ArtifactLease(std::make_shared<Both>(std::move(among_threads), std::move(among_processes)));
}

Result<StoreReport> SqliteStore::Verify() const {
  StoreReport report;
  TUNEONCE_RETURN_IF_ERROR(impl_->Run("verifying", [&] {
    report = StoreReport();
    Statement check(impl_->database, "PRAGMA integrity_check");
    int result = check.Step();
    for (; result == SQLITE_ROW; result = check.Step()) {
      if (std::string line = check.Blob(0); line != "ok") report.problems.push_back("SQLite: " + line);
    }
    if (result != SQLITE_DONE) return result;
    Statement records(impl_->database, "SELECT key, body FROM records ORDER BY id");
    for (result = records.Step(); result == SQLITE_ROW; result = records.Step()) {
      ++report.num_records;
      Result<TuningRecord> record = DecodeRecord(records.Blob(1));
      if (!record.ok()) {
        report.problems.push_back(absl::StrCat("record ", report.num_records, ": ", record.status().message()));
      } else if (Bytes(FullKey(record->key)) != records.Blob(0)) {
        report.problems.push_back(absl::StrCat("record ", report.num_records, " lies under another key than its own"));
      }
    }
    if (result != SQLITE_DONE) return result;
    Statement artifacts(impl_->database, "SELECT key, body FROM artifacts ORDER BY key");
    for (result = artifacts.Step(); result == SQLITE_ROW; result = artifacts.Step()) {
      ++report.num_artifacts;
      std::string body = artifacts.Blob(1);
      report.artifact_bytes += static_cast<std::int64_t>(body.size());
      std::string key = artifacts.Blob(0);
      Fingerprint fingerprint;
      if (key.size() == sizeof(fingerprint)) std::memcpy(&fingerprint, key.data(), sizeof(fingerprint));
      if (Result<Artifact> artifact = UnsealArtifact(fingerprint, body); !artifact.ok()) {
        report.problems.push_back(absl::StrCat("artifact ", report.num_artifacts, ": ", artifact.status().message()));
      }
    }
    return result;
  }));
  return report;
}

std::shared_ptr<RecordStore> DefaultRecordStore(std::string* warning) {
  struct Default {
    std::shared_ptr<RecordStore> store;
    std::string warning;
  };
  static auto* const chosen = [] {
    auto* made = new Default;
    made->store = MemoryStore::Process();
    if (Environment::Get().store == "memory") return made;
    Result<std::shared_ptr<SqliteStore>> opened = SqliteStore::Open();
    if (opened.ok()) {
      made->store = *std::move(opened);
    } else {
      made->warning = opened.status().message() + "; records are kept in memory only";
    }
    return made;
  }();
  if (warning != nullptr) *warning = chosen->warning;
  return chosen->store;
}

}  // namespace tuneonce
