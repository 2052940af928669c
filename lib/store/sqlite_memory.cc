// SqliteConnection's databases in memory, which have no file, and the bytes that become one.
#include <cstring>

#include "store/sqlite_connection.h"

namespace tuneonce {
inline namespace v0 {

Status SqliteConnection::Deserialize(const void* bytes, std::size_t size) {
  MutexLock lock(mutex_);
  in_memory_ = true;
  path_ = options_.path;
  int opened = sqlite3_open_v2(":memory:", &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  TUNEONCE_RETURN_IF_ERROR(StatusOf(opened, path_));
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(size));
  if (copy == nullptr) return ResourceExhaustedError("there is not enough memory to copy the store");
  std::memcpy(copy, bytes, size);
  // Bytes 18 and 19 of the header are 2 for WAL mode, which a database in memory cannot use, and 1 for the other mode
  // (SQLite's file format, 1.3.3).
  copy[18] = copy[19] = 1;
  auto bytes_64 = static_cast<sqlite3_int64>(size);
  int result = sqlite3_deserialize(database_, "main", copy, bytes_64, bytes_64,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (result == SQLITE_OK) result = Execute("SELECT count(*) FROM sqlite_master");
  TUNEONCE_RETURN_IF_ERROR(StatusOf(result, path_));
  return CheckVersion();
}

Status SqliteConnection::OpenInMemory() {
  MutexLock lock(mutex_);
  in_memory_ = true;
  path_ = options_.path;
  int result = sqlite3_open_v2(":memory:", &database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  return StatusOf(result == SQLITE_OK ? CreateSchema() : result, path_);
}

Result<std::string> SqliteConnection::Serialize() {
  if (!in_memory_) return FailedPreconditionError("the store " + options_.path + " is a file, not in memory");
  MutexLock lock(mutex_);
  TUNEONCE_RETURN_IF_ERROR(StatusOf(Execute("VACUUM"), path_));
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database_, "main", &size, 0);
  if (bytes == nullptr) return ResourceExhaustedError("there is not enough memory to copy the store");
  std::string copy(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return copy;
}

}  // namespace v0
}  // namespace tuneonce
