#ifndef TUNEONCE_LIB_STORE_SQLITE_CONNECTION_H_
#define TUNEONCE_LIB_STORE_SQLITE_CONNECTION_H_

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/mutex.h"
#include "store/sqlite.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A connection to the database file that currently has the store's name. It is reopened if the file was moved, removed
/// or replaced, and a corrupt file is renamed. No call waits longer than `busy_timeout_ms` for other processes. Once
/// that was too short, every call fails at once until the next attempt. The tables' contents are the callers' concern.
/// Thread rule: any thread; calls run one at a time.
class SqliteConnection {
 public:
  explicit SqliteConnection(SqliteStoreOptions options);
  ~SqliteConnection() { Close(); }
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  /// Opens the store's file. Returns OK also while others lock it, and then later calls try again.
  Status Open();
  /// A database in memory that is a copy of these bytes.
  Status Deserialize(const void* bytes, std::size_t size);

  /// An empty database in memory.
  Status OpenInMemory();
  /// A copy of a database in memory, as the bytes of a file.
  Result<std::string> Serialize();
  bool in_memory() const { return in_memory_; }

  /// Runs `work` alone; it returns an SQLite result and may run more than once.
  Status Read(const char* what, const std::function<int(sqlite3*)>& work);
  /// Runs `work` in a transaction. OK means that every process that opens the store's path from now on finds what was
  /// written.
  Status Write(const char* what, const std::function<int(sqlite3*)>& work);

  const SqliteStoreOptions& options() const { return options_; }
  /// FailedPrecondition in a forked child: the connection, its locks and its memory are the parent's.
  Status CheckOwner() const;
  /// Returns whether others lock the file, and it is not yet time to try again.
  bool IsOut();

 private:
  using Clock = std::chrono::steady_clock;

  Status Run(const char* what, bool writes, const std::function<int(sqlite3*)>& work);
  /// Once, from opening to the acknowledgement.
  Status Attempt(const char* what, bool writes, const std::function<int(sqlite3*)>& work, bool* must_repeat)
      TUNEONCE_REQUIRES(mutex_);
  int Transaction(const std::function<int(sqlite3*)>& work) TUNEONCE_REQUIRES(mutex_);
  /// Lets statements wait for other processes until `deadline_`.
  void WaitUntilDeadline() TUNEONCE_REQUIRES(mutex_);

  /// Opens the file with the store's name unless it is open.
  Status Connect() TUNEONCE_REQUIRES(mutex_);
  Status ConnectForReading() TUNEONCE_REQUIRES(mutex_);
  Status ConnectUnderLock() TUNEONCE_REQUIRES(mutex_);
  int OpenDatabase() TUNEONCE_REQUIRES(mutex_);
  int OpenFile(int flags, const char* parameters) TUNEONCE_REQUIRES(mutex_);
  /// Makes the tables, unless there are some. REQUIRES: the file has no version.
  int CreateSchema() TUNEONCE_REQUIRES(mutex_);
  bool IsOfOlderVersion() TUNEONCE_REQUIRES(mutex_);
  Status CheckVersion() TUNEONCE_REQUIRES(mutex_);
  void Close() TUNEONCE_REQUIRES(mutex_);
  /// Returns whether the open file still has the store's name.
  bool IsCurrent() const TUNEONCE_REQUIRES(mutex_);

  int Execute(const char* sql) TUNEONCE_REQUIRES(mutex_) {
    return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  }
  std::int64_t Pragma(const char* sql) TUNEONCE_REQUIRES(mutex_);
  /// Converts an SQLite result to an error with a message, and records an outage if others lock the file.
  Status StatusOf(int result, const std::string& what) TUNEONCE_REQUIRES(mutex_);
  Status Outage() TUNEONCE_REQUIRES(mutex_);

  const SqliteStoreOptions options_;
  const pid_t owner_ = getpid();
  Mutex mutex_;
  sqlite3* database_ TUNEONCE_GUARDED_BY(mutex_) = nullptr;
  std::string path_ TUNEONCE_GUARDED_BY(mutex_);         // Without links above the last folder.
  bool in_memory_ = false;                               // Set before it is shared.
  unsigned long inode_ TUNEONCE_GUARDED_BY(mutex_) = 0;  // Identifies the open file together with its device.
  unsigned long device_ TUNEONCE_GUARDED_BY(mutex_) = 0;
  /// SQLite's message about the first error of a transaction, from before its rollback.
  std::string error_ TUNEONCE_GUARDED_BY(mutex_);
  Clock::time_point deadline_ TUNEONCE_GUARDED_BY(mutex_);
  /// Above 0 in an outage: how long after its last attempt the next one is made.
  std::chrono::milliseconds retry_after_ TUNEONCE_GUARDED_BY(mutex_){0};
  Clock::time_point retry_at_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_SQLITE_CONNECTION_H_
