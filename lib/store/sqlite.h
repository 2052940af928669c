#ifndef TUNEONCE_LIB_STORE_SQLITE_H_
#define TUNEONCE_LIB_STORE_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

inline std::string BytesOf(const Fingerprint& fingerprint) {
  return std::string(reinterpret_cast<const char*>(&fingerprint), sizeof(fingerprint));
}

/// A prepared statement for one use. Thread rule: as its database.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    result_ = sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Values are given from the first place on. Blobs must outlive the steps.
  Statement& Bind(std::string_view blob) {
    if (result_ == SQLITE_OK) {
      result_ = sqlite3_bind_blob64(statement_, ++bound_, blob.data(), blob.size(), SQLITE_STATIC);
    }
    return *this;
  }
  Statement& Bind(std::int64_t value) {
    if (result_ == SQLITE_OK) result_ = sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }

  /// SQLITE_ROW, SQLITE_DONE, or what failed, also earlier.
  int Step() { return result_ != SQLITE_OK ? result_ : sqlite3_step(statement_); }
  std::string Blob(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }
  std::int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int result_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_SQLITE_H_
