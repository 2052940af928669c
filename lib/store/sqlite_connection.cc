#include "store/sqlite_connection.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/deadline.h"
#include "store/store_place.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A file of an older version is renamed, and one of a newer version is refused. Version 5 added how records were
/// verified.
constexpr int kSchemaVersion = 5;

/// Artifacts are found by an index of keys alone: of a table WITHOUT ROWID, SQLite reads a whole artifact for each key
/// that a search compares.
constexpr char kSchema[] = R"(
CREATE TABLE records(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kernel_key BLOB NOT NULL, body BLOB NOT NULL,
  shape_key BLOB);
CREATE INDEX records_by_kernel ON records(kernel_key);
CREATE INDEX records_by_shape ON records(shape_key);
CREATE TABLE artifacts(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, used INTEGER NOT NULL,
  body BLOB NOT NULL);
CREATE INDEX artifacts_by_use ON artifacts(used, key, size);
)";

/// A store that was locked is tried again after this at most, and after twice as long each time until then.
constexpr std::chrono::milliseconds kLongestRetry(60000);

/// A file that is replaced again and again is given up after this many attempts to write to it.
constexpr int kMostAttempts = 4;

bool IsBusy(int result) {
  int primary = result & 0xff;
  return primary == SQLITE_BUSY || primary == SQLITE_PROTOCOL;  // The latter: the log's locks were not to be had.
}

/// The file is damaged, as opposed to in use or out of space.
bool IsCorrupt(int result) {
  int primary = result & 0xff;
  // SQLITE_ERROR: our statements are constant, so if one does not fit the tables, these are not what we made.
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_ERROR;
}

/// Renames a damaged file, so that a new one takes its place.
Status SetDamagedAside(const std::string& path) {
  TUNEONCE_RETURN_IF_ERROR(SetAside(path, "corrupt"));
  std::fprintf(stderr,
               "tuneonce: the store %s is damaged; it was renamed to %s.corrupt-*, and its keys are tuned again\n",
               path.c_str(), path.c_str());
  return Status();
}

bool IsDone(int result) { return result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE; }

const char* WhatToDo(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return "; the disk is full: free some space, or set TUNEONCE_STORE to another path";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "; make the file and its folder writable, or set TUNEONCE_STORE to another path";
    default:
      return "";
  }
}

}  // namespace

SqliteConnection::SqliteConnection(SqliteStoreOptions options) : options_(std::move(options)) {}

Status SqliteConnection::Open() {
  MutexLock lock(mutex_);
  deadline_ = DeadlineIn(options_.busy_timeout);
  Status connected = Connect();
  return retry_after_.count() > 0 ? Status() : connected;
}

Status SqliteConnection::CheckOwner() const {
  if (getpid() == owner_) return Status();
  return FailedPreconditionError("the store " + options_.path +
                                 " was opened before a fork: open it again in the child process");
}

bool SqliteConnection::IsOut() {
  MutexLock lock(mutex_);
  return retry_after_.count() > 0 && Clock::now() < retry_at_;
}

Status SqliteConnection::Read(const char* what, const std::function<int(sqlite3*)>& work) {
  return Run(what, /*writes=*/false, work);
}

Status SqliteConnection::Write(const char* what, const std::function<int(sqlite3*)>& work) {
  if (options_.read_only) return FailedPreconditionError("the store " + options_.path + " was opened read-only");
  return Run(what, /*writes=*/true, work);
}

Status SqliteConnection::Run(const char* what, bool writes, const std::function<int(sqlite3*)>& work) {
  TUNEONCE_RETURN_IF_ERROR(CheckOwner());
  MutexLock lock(mutex_);
  Clock::time_point now = Clock::now();
  if (retry_after_.count() > 0 && now < retry_at_) return Outage();
  deadline_ = DeadlineIn(options_.busy_timeout, now);
  Status status;
  bool must_repeat = true;
  for (int attempt = 0; attempt < kMostAttempts && must_repeat; ++attempt) {
    must_repeat = false;
    status = Attempt(what, writes, work, &must_repeat);
  }
  if (status.ok()) retry_after_ = std::chrono::milliseconds(0);
  return status;
}

Status SqliteConnection::Attempt(const char* what, bool writes, const std::function<int(sqlite3*)>& work,
                                 bool* must_repeat) {
  TUNEONCE_RETURN_IF_ERROR(Connect());
  WaitUntilDeadline();
  error_.clear();
  int result = writes ? Transaction(work) : work(database_);
  if (IsCorrupt(result) && !options_.read_only && !in_memory_) {
    Result<std::shared_ptr<void>> place = LockPlace(path_, deadline_);
    if (place.status().code() == StatusCode::kDeadlineExceeded) return Outage();
    *must_repeat = true;
    bool is_current = IsCurrent();  // Else another process was first.
    Status status = StatusOf(result, absl::StrCat(path_, ", ", what));
    if (is_current) TUNEONCE_RETURN_IF_ERROR(SetDamagedAside(path_));
    Close();
    return status;
  }
  TUNEONCE_RETURN_IF_ERROR(StatusOf(result, absl::StrCat(path_, ", ", what)));
  if (!writes || IsCurrent()) return Status();
  *must_repeat = true;  // The rows were written to a file that later opens do not find.
  return UnavailableError(
      absl::StrCat("the store ", path_, ", ", what, ": the file was moved or replaced repeatedly during the call"));
}

void SqliteConnection::WaitUntilDeadline() {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  sqlite3_busy_timeout(database_, static_cast<int>(std::max<std::int64_t>(left, 1)));
}

int SqliteConnection::Transaction(const std::function<int(sqlite3*)>& work) {
  int result = Execute("BEGIN IMMEDIATE");
  if (result != SQLITE_OK) return result;
  result = work(database_);
  if (result == SQLITE_DONE) result = Execute("COMMIT");
  if (result == SQLITE_OK) return result;
  error_ = sqlite3_errmsg(database_);                               // Read now, because the rollback would replace it.
  if (sqlite3_get_autocommit(database_) == 0) Execute("ROLLBACK");  // SQLite may have done so already.
  return result;
}

Status SqliteConnection::Connect() {
  error_.clear();
  if (database_ != nullptr && (in_memory_ || options_.read_only || IsCurrent())) return Status();
  Close();
  if (options_.read_only) return ConnectForReading();
  TUNEONCE_ASSIGN_OR_RETURN(path_, PrepareStorePlace(options_.path));
  TUNEONCE_RETURN_IF_ERROR(ReadMark(path_).status());  // Before anything is made beside a file that is not ours.
  Result<std::shared_ptr<void>> place = LockPlace(path_, deadline_);
  // If no lock file can be created, neither can a store, and SQLite reports why.
  if (place.status().code() == StatusCode::kDeadlineExceeded) return Outage();
  Status connected = ConnectUnderLock();
  if (!connected.ok()) Close();
  return connected;
}

Status SqliteConnection::ConnectUnderLock() {
  TUNEONCE_ASSIGN_OR_RETURN(StoreFile there, ReadMark(path_));
  if (there == StoreFile::kOursDamaged) TUNEONCE_RETURN_IF_ERROR(SetDamagedAside(path_));
  if (there == StoreFile::kMissing || HasLogOfAnother(path_)) SetLogAside(path_);
  int result = OpenDatabase();
  if (IsCorrupt(result)) {
    Close();
    TUNEONCE_RETURN_IF_ERROR(SetDamagedAside(path_));
    result = OpenDatabase();
  } else if (result == SQLITE_OK && IsOfOlderVersion()) {
    const std::int64_t version = Pragma("PRAGMA user_version");
    Close();
    TUNEONCE_RETURN_IF_ERROR(SetAside(path_, absl::StrCat("format-", version)));
    std::fprintf(stderr,
                 "tuneonce: the store %s was written in format %lld, which is no longer supported; it was renamed, and "
                 "its keys are tuned again\n",
                 path_.c_str(), static_cast<long long>(version));
    result = OpenDatabase();
  }
  Status opened = StatusOf(result, path_);
  if (!opened.ok() && there == StoreFile::kMissing) {
    // A file that was just created and could not be written completely may have no mark, and would be refused later.
    Close();
    struct stat made {};
    bool is_cut = stat(path_.c_str(), &made) == 0 && made.st_size > 0 && !ReadMark(path_).ok();
    // If that fails too, the next attempt reports the file.
    [[maybe_unused]] int emptied = is_cut ? truncate(path_.c_str(), 0) : 0;
  }
  TUNEONCE_RETURN_IF_ERROR(opened);
  TUNEONCE_RETURN_IF_ERROR(CheckVersion());
  WriteMark(path_);
  return Status();
}

Status SqliteConnection::ConnectForReading() {
  path_ = ResolveParents(options_.path);
  TUNEONCE_ASSIGN_OR_RETURN(StoreFile there, ReadMark(path_));
  if (there == StoreFile::kMissing) return NotFoundError("no store at " + options_.path);
  // With immutable=1 SQLite reads from a folder that cannot be written, but ignores the log of a store that is in use.
  struct stat log {};
  bool has_log = stat((path_ + "-wal").c_str(), &log) == 0 && log.st_size > 0;
  int result = OpenFile(SQLITE_OPEN_READONLY, has_log ? "" : "?immutable=1");
  if (has_log && !IsDone(result) && !IsBusy(result)) {
    Close();
    return UnavailableError(absl::StrCat("the store ", path_, " has a log, ", path_,
                                         "-wal, that cannot be read in a folder that cannot be written: open the store "
                                         "once where it can be written"));
  }
  TUNEONCE_RETURN_IF_ERROR(StatusOf(result, path_));
  Status version = CheckVersion();
  if (!version.ok()) Close();
  return version;
}

/// Opens path_ and reads from it.
int SqliteConnection::OpenFile(int flags, const char* parameters) {
  std::string uri =
      absl::StrCat("file:", absl::StrReplaceAll(path_, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}), parameters);
  int result = sqlite3_open_v2(uri.c_str(), &database_,
                               flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
  if (result != SQLITE_OK) return result;
  WaitUntilDeadline();
  struct stat info {};
  if (stat(path_.c_str(), &info) == 0) {
    inode_ = info.st_ino;
    device_ = info.st_dev;
  }
  return Execute("SELECT count(*) FROM sqlite_master");
}

int SqliteConnection::OpenDatabase() {
  int result = OpenFile(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
  if (result != SQLITE_OK) return result;
  // Read once, because each read of the file is a transaction, and the opener holds the place's lock.
  const std::int64_t version = Pragma("PRAGMA user_version");
  if (version > kSchemaVersion) {  // CheckVersion refuses it: nothing is changed, no log played in.
    sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    return SQLITE_OK;
  }
  // Never delete FILE-wal on close: once FILE was set aside, that name is another connection's.
  int persist = 1;
  sqlite3_file_control(database_, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
  // Before the log is switched on: our mark must be in the file itself, whenever we are killed.
  if (version == 0) result = CreateSchema();
  if (result == SQLITE_OK) {
    result = Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=4194304;");
  }
  return result;
}

int SqliteConnection::CreateSchema() {
  if (Pragma("SELECT count(*) FROM sqlite_master") != 0) return SQLITE_OK;
  // If this process is killed meanwhile, the remaining file has the mark or is empty, so no journal on disk is needed.
  int prepared = Execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=NORMAL;");
  if (prepared != SQLITE_OK) return prepared;
  return Transaction([&](sqlite3*) TUNEONCE_REQUIRES(mutex_) {
    int result = Execute(kSchema);
    if (result != SQLITE_OK) return result;
    result = Execute(
        absl::StrCat("PRAGMA application_id=", kStoreApplicationId, "; PRAGMA user_version=", kSchemaVersion).c_str());
    return result == SQLITE_OK ? SQLITE_DONE : result;
  });
}

Status SqliteConnection::CheckVersion() {
  if (Pragma("PRAGMA application_id") != kStoreApplicationId) {
    return FailedPreconditionError(path_ + " is not a tuneonce store: choose another path");
  }
  std::int64_t version = Pragma("PRAGMA user_version");
  if (version == kSchemaVersion) return Status();
  const bool is_newer = version > kSchemaVersion;
  return FailedPreconditionError(
      absl::StrCat(path_, " was written by ", is_newer ? "a newer" : "an older", " version of tuneonce (format ",
                   version, "; this one reads ", kSchemaVersion,
                   "): ", is_newer ? "update tuneonce, or choose another path" : "tune its keys again"));
}

bool SqliteConnection::IsOfOlderVersion() {
  const std::int64_t version = Pragma("PRAGMA user_version");
  return Pragma("PRAGMA application_id") == kStoreApplicationId && version > 0 && version < kSchemaVersion;
}

void SqliteConnection::Close() {
  // In a forked child nothing of the parent's is touched, not even to be closed.
  if (database_ != nullptr && getpid() == owner_) {
    // The log beside a file that was moved may belong to another file by now, so that nothing may be written from it.
    if (!in_memory_ && !IsCurrent()) sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_close(database_);
  }
  database_ = nullptr;
}

bool SqliteConnection::IsCurrent() const {
  if (in_memory_) return true;
  struct stat info {};
  return stat(path_.c_str(), &info) == 0 && info.st_ino == inode_ && info.st_dev == device_;
}

std::int64_t SqliteConnection::Pragma(const char* sql) {
  Statement statement(database_, sql);
  return statement.Step() == SQLITE_ROW ? statement.Int(0) : 0;
}

Status SqliteConnection::StatusOf(int result, const std::string& what) {
  if (IsDone(result)) return Status();
  if (IsBusy(result)) return Outage();
  std::string text = !error_.empty()        ? error_
                     : database_ == nullptr ? sqlite3_errstr(result)
                                            : sqlite3_errmsg(database_);
  return Status(IsCorrupt(result) ? StatusCode::kInternal : StatusCode::kUnavailable,
                absl::StrCat("the store ", what, ": ", text, " (SQLite ", result, ")", WhatToDo(result)));
}

Status SqliteConnection::Outage() {
  Clock::time_point now = Clock::now();
  if (retry_after_.count() == 0 || now >= retry_at_) {
    const auto first = std::max(options_.first_retry, std::chrono::milliseconds(1));
    retry_after_ = std::min(kLongestRetry, std::max(first, 2 * retry_after_));
    retry_at_ = now + (options_.first_retry.count() == 0 ? std::chrono::milliseconds(0) : retry_after_);
  }
  // The text is the same each time, so that its warning is logged once.
  return UnavailableError(
      "the store " + options_.path +
      " is locked by another process: records are kept in memory, and the store is tried again later");
}

}  // namespace v0
}  // namespace tuneonce
