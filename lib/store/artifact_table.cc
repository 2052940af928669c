#include "store/artifact_table.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "store/checksummed_artifact.h"
#include "store/sqlite.h"
#include "tuneonce/fingerprint.h"

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

}  // namespace

Result<std::optional<Artifact>> ArtifactTable::Get(const Fingerprint& key) {
  std::string bytes = BytesOf(key);
  std::string body;
  bool found = false;
  std::int64_t used = 0;
  TUNEONCE_RETURN_IF_ERROR(connection_.Read("reading an artifact", [&](sqlite3* database) {
    Statement statement(database, "SELECT body, used FROM artifacts WHERE key = ?");
    int result = statement.Bind(std::string_view(bytes)).Step();
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
      return statement.Bind(now).Bind(std::string_view(bytes)).Step();
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
                     .Bind(std::string_view(bytes))
                     .Bind(NowSeconds())
                     .Bind(size)
                     .Bind(std::string_view(body))
                     .Step();
    if (result != SQLITE_DONE) return result;
    while (TotalBytes(database) > most) {
      result = Statement(database,
                         "DELETE FROM artifacts WHERE id = (SELECT id FROM artifacts INDEXED BY "
                         "artifacts_by_use WHERE key <> ? ORDER BY used LIMIT 1)")
                   .Bind(std::string_view(bytes))
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

}  // namespace v0
}  // namespace tuneonce
