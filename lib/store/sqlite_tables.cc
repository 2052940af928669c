#include "store/sqlite_tables.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/checksummed_artifact.h"
#include "store/kernel_fingerprint.h"
#include "store/record_preference.h"
#include "store/sqlite.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How wrong an artifact's time of use may be (also because the clock was set back): so that a Get seldom writes.
constexpr std::int64_t kUseGranularitySeconds = 3600;

std::int64_t NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::int64_t TotalBytes(sqlite3* database) {
  Statement sum(database, "SELECT sum(size) FROM artifacts");
  return sum.Step() == SQLITE_ROW ? sum.Int(0) : 0;
}

/// The newest first.
constexpr char kRecordsOfKernel[] = "SELECT body FROM records WHERE kernel_key = ? ORDER BY id DESC";

/// Notes in `*lookup` whether there are records of the key's kernel with other sources.
int LookForOtherSource(sqlite3* database, const TuningKey& key, const std::string& kernel_key, RecordLookup* lookup) {
  std::string shape_key = BytesOf(ShapeKey(key));
  Statement statement(database, "SELECT 1 FROM records WHERE shape_key = ? AND kernel_key <> ? LIMIT 1");
  int result = statement.Bind(shape_key).Bind(kernel_key).Step();
  if (result == SQLITE_ROW) lookup->NoteInstead(RecordMiss::kOtherSource);
  return result;
}

}  // namespace

Result<std::optional<Artifact>> ArtifactTable::Get(const Fingerprint& key) {
  std::string bytes = BytesOf(key);
  std::string body;
  bool found = false;
  std::int64_t used = 0;
  TUNEONCE_RETURN_IF_ERROR(connection_.Read("reading an artifact", [&](sqlite3* database) {
    Statement statement(database, "SELECT body, used FROM artifacts WHERE key = ?");
    int result = statement.Bind(bytes).Step();
    found = result == SQLITE_ROW;
    if (found) {
      body = statement.Blob(0);
      used = statement.Int(1);
    }
    return result;
  }));
  if (!found) return std::optional<Artifact>();
  Result<Artifact> artifact = DecodeChecksummedArtifact(key, body);
  std::int64_t now = NowSeconds();
  if (!connection_.options().read_only && (!artifact.ok() || std::abs(now - used) > kUseGranularitySeconds)) {
    // The artifact is valid even if this cannot be written.
    (void)connection_.Write("marking an artifact", [&](sqlite3* database) {
      Statement statement(database, artifact.ok() ? "UPDATE artifacts SET used = ? WHERE key = ?"
                                                  : "DELETE FROM artifacts WHERE ? AND key = ?");
      return statement.Bind(now).Bind(bytes).Step();
    });
  }
  if (!artifact.ok()) return std::optional<Artifact>();
  return std::optional<Artifact>(*std::move(artifact));
}

Result<std::vector<Fingerprint>> ArtifactTable::Keys() const {
  std::vector<Fingerprint> keys;
  TUNEONCE_RETURN_IF_ERROR(connection_.Read("listing artifacts", [&](sqlite3* database) {
    keys.clear();
    Statement statement(database, "SELECT key FROM artifacts ORDER BY key");
    int result = statement.Step();
    for (; result == SQLITE_ROW; result = statement.Step()) {
      std::string key = statement.Blob(0);
      Fingerprint fingerprint;
      if (key.size() != sizeof(fingerprint)) continue;
      std::memcpy(&fingerprint, key.data(), sizeof(fingerprint));
      keys.push_back(fingerprint);
    }
    return result;
  }));
  return keys;
}

Status ArtifactTable::Put(const Fingerprint& key, const Artifact& artifact) {
  std::string bytes = BytesOf(key);
  std::string body = EncodeChecksummedArtifact(key, artifact);
  auto size = static_cast<std::int64_t>(body.size());
  std::int64_t most = connection_.options().max_artifact_bytes;
  if (size > most) return ResourceExhaustedError("the artifact is larger than the store's size limit");
  return connection_.Write("writing an artifact", [&](sqlite3* database) {
    int result = Statement(database, "INSERT OR REPLACE INTO artifacts(key, used, size, body) VALUES(?, ?, ?, ?)")
                     .Bind(bytes)
                     .Bind(NowSeconds())
                     .Bind(size)
                     .Bind(body)
                     .Step();
    if (result != SQLITE_DONE) return result;
    while (TotalBytes(database) > most) {
      result = Statement(database,
                         "DELETE FROM artifacts WHERE id = (SELECT id FROM artifacts INDEXED BY "
                         "artifacts_by_use WHERE key <> ? ORDER BY used LIMIT 1)")
                   .Bind(bytes)
                   .Step();
      if (result != SQLITE_DONE || sqlite3_changes(database) == 0) break;
    }
    return result;
  });
}

Status ArtifactTable::Verify(StoreReport* report) const {
  const StoreReport before = *report;
  return connection_.Read("verifying artifacts", [&](sqlite3* database) {
    *report = before;
    Statement artifacts(database, "SELECT key, body FROM artifacts ORDER BY key");
    int result = artifacts.Step();
    for (; result == SQLITE_ROW; result = artifacts.Step()) {
      ++report->num_artifacts;
      std::string body = artifacts.Blob(1);
      report->artifact_bytes += static_cast<std::int64_t>(body.size());
      std::string key = artifacts.Blob(0);
      Fingerprint fingerprint;
      if (key.size() == sizeof(fingerprint)) std::memcpy(&fingerprint, key.data(), sizeof(fingerprint));
      if (Result<Artifact> artifact = DecodeChecksummedArtifact(fingerprint, body); !artifact.ok()) {
        report->problems.push_back(absl::StrCat("artifact ", report->num_artifacts, ": ", artifact.status().message()));
      }
    }
    if ((result & 0xff) != SQLITE_CORRUPT) return result;
    report->problems.push_back(absl::StrCat("cannot read the artifacts after the first ", report->num_artifacts, ": ",
                                            sqlite3_errmsg(database)));
    return SQLITE_DONE;
  });
}

Result<RecordLookup> RecordTable::Lookup(const TuningKey& key) const {
  RecordLookup best;
  std::string kernel_key = BytesOf(KernelKey(key));
  TUNEONCE_RETURN_IF_ERROR(connection_.Read("reading a record", [&](sqlite3* database) {
    best = RecordLookup();
    Statement statement(database, kRecordsOfKernel);
    statement.Bind(kernel_key);
    int result = statement.Step();
    for (; result == SQLITE_ROW; result = statement.Step()) {
      Result<TuningRecord> record = DecodeRecord(statement.Blob(0));
      if (!record.ok()) {
        best.NoteInstead(RecordMiss::kRefused, record.status().message());
        continue;
      }
      RecordLookup found;
      found.match = MatchKeys(record->key, key);
      if (found.match == RecordMatch::kNotFound) continue;
      found.record = *std::move(record);
      best.Improve(std::move(found));
    }
    if (result != SQLITE_DONE || best.record) return result;
    return LookForOtherSource(database, key, kernel_key, &best);
  }));
  return best;
}

Status RecordTable::Put(const TuningRecord& record) { return Write(record, /*is_late=*/false); }
Status RecordTable::PutLate(const TuningRecord& record) { return Write(record, /*is_late=*/true); }

Status RecordTable::Write(const TuningRecord& record, bool is_late) {
  std::string key = BytesOf(FullKey(record.key));
  std::string kernel_key = BytesOf(KernelKey(record.key));
  std::string shape_key = BytesOf(ShapeKey(record.key));
  std::string body = EncodeRecord(record);
  return connection_.Write("writing a record", [&](sqlite3* database) {
    int result = SQLITE_DONE;
    if (is_late) {
      Statement there(database, "SELECT body FROM records WHERE key = ?");
      result = there.Bind(key).Step();
      bool does_stay = false;
      if (result == SQLITE_ROW) {
        const Result<TuningRecord> found = DecodeRecord(there.Blob(0));
        does_stay = found.ok() && !PreferOf(*found, record, PreferRecord::kNewest).takes_second;
      }
      while (result == SQLITE_ROW) result = there.Step();
      if (result != SQLITE_DONE || does_stay) return result;
    }
    result = Statement(database, "INSERT OR REPLACE INTO records(key, kernel_key, shape_key, body) VALUES(?, ?, ?, ?)")
                 .Bind(key)
                 .Bind(kernel_key)
                 .Bind(shape_key)
                 .Bind(body)
                 .Step();
    if (result != SQLITE_DONE) return result;
    // Acknowledged means found: a damaged index takes rows that a Lookup then does not find, or stumbles over.
    Statement again(database, kRecordsOfKernel);
    result = again.Bind(kernel_key).Step();
    bool found = result == SQLITE_ROW && again.Blob(0) == body;
    while (result == SQLITE_ROW) result = again.Step();
    return result == SQLITE_DONE && !found ? SQLITE_CORRUPT : result;
  });
}

Result<std::vector<TuningRecord>> RecordTable::List() const {
  std::vector<TuningRecord> records;
  TUNEONCE_RETURN_IF_ERROR(connection_.Read("listing records", [&](sqlite3* database) {
    records.clear();
    Statement statement(database, "SELECT body FROM records ORDER BY id");
    int result = statement.Step();
    for (; result == SQLITE_ROW; result = statement.Step()) {
      Result<TuningRecord> record = DecodeRecord(statement.Blob(0));
      if (record.ok()) records.push_back(*std::move(record));
    }
    return result;
  }));
  return records;
}

Status RecordTable::Remove(const TuningKey& key) {
  std::string bytes = BytesOf(FullKey(key));
  return connection_.Write("removing a record", [&](sqlite3* database) {
    Statement statement(database, "DELETE FROM records WHERE key = ?");
    return statement.Bind(bytes).Step();
  });
}

Status RecordTable::Verify(StoreReport* report) const {
  const StoreReport before = *report;
  return connection_.Read("verifying records", [&](sqlite3* database) {
    *report = before;
    const std::size_t num_before = report->problems.size();
    // The rows that can be reached may not be all: what SQLite finds in this table and its indexes counts, too.
    Statement check(database, "PRAGMA integrity_check(records)");
    int checked = check.Step();
    for (; checked == SQLITE_ROW; checked = check.Step()) {
      if (check.Blob(0) != "ok") report->are_records_whole = false;
    }
    if ((checked & 0xff) == SQLITE_CORRUPT) {
      report->are_records_whole = false;
    } else if (checked != SQLITE_DONE) {
      return checked;
    }
    Statement records(database, "SELECT key, body FROM records ORDER BY id");
    int result = records.Step();
    for (; result == SQLITE_ROW; result = records.Step()) {
      ++report->num_records;
      Result<TuningRecord> record = DecodeRecord(records.Blob(1));
      if (!record.ok()) {
        report->problems.push_back(absl::StrCat("record ", report->num_records, ": ", record.status().message()));
      } else if (BytesOf(FullKey(record->key)) != records.Blob(0)) {
        report->problems.push_back(absl::StrCat("record ", report->num_records,
                                                " is stored under a key that differs from the key in the record"));
      }
    }
    report->are_records_whole &= report->problems.size() == num_before;
    return result;
  });
}

}  // namespace v0
}  // namespace tuneonce
