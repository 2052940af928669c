#ifndef TUNEONCE_SQLITE_STORE_H_
#define TUNEONCE_SQLITE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

struct SqliteStoreOptions {
  /// The database file; its folder is made (mode 0700) if it is missing. Must be named: the user's own
  /// store is Runtime::store.
  std::string path;
  /// A store shipped with an application, or one to look at: it must be there, nothing is written, and the folder may
  /// be read-only. Default false.
  bool read_only = false;
  /// Artifacts are dropped, least recently used first, beyond this. Default 1 GiB.
  std::int64_t max_artifact_bytes = std::int64_t{1} << 30;
  /// How long one call waits for other processes that hold the file locked: as long as a launch may be stopped. After
  /// that calls fail at once, and a TunedKernel goes on from memory. Default 250 ms; more for a tool that can wait.
  int busy_timeout_ms = 250;
  /// When it is tried again then; each time twice as late, up to a minute. Default 1 s; 0: by the next call.
  int first_retry_ms = 1000;
};

/// Records and artifacts in one SQLite file (WAL), shared by any number of processes.
///
/// Rows carry a checksum: one that does not fit is a miss, never a hit. Only a file that bears our mark is ever
/// changed: if SQLite calls it corrupt it is renamed to FILE.corrupt-TIME-PID[-N], with its -wal and -shm, never
/// deleted, and a new one begun; any other file is refused and left as it is. If the file is moved, removed or replaced
/// while it is open, the store goes on with what has its name then. Leases are byte-range locks (OFD) on FILE.lock:
/// they go with the process that holds them. **A stored cubin is executable code** (tileiras embeds an object that the
/// driver runs): so a folder or file is refused that is a symbolic link (links above the folder are fine), or that
/// others own or can write.
///
/// While another process holds the file locked, calls are Unavailable, records that were put serve this process from
/// memory, and are written once that is possible.
///
/// Thread rule: any thread. A store does not cross fork: in the child every call says so; open another one there.
class TUNEONCE_API SqliteStore final : public RecordStore, public ArtifactCache {
 public:
  /// OK also while others hold the file locked. Errors: FailedPrecondition (permissions, owner, symbolic link, a
  /// network file system, a file that is no store or was written by a newer version), Unavailable (cannot be opened or
  /// made), NotFound (`read_only`, and there is none), each naming the path and what to do.
  static Result<std::shared_ptr<SqliteStore>> Open(SqliteStoreOptions options = {});
  ~SqliteStore() override;

  /// A store file that was embedded into a program, say: a copy is kept in memory, and nothing is written.
  /// Errors: InvalidArgument if the bytes are no store of this version or an older one.
  static Result<std::shared_ptr<SqliteStore>> FromBytes(const void* bytes, std::size_t size);

  /// An empty one without a file, to be filled and then kept as Bytes.
  static Result<std::shared_ptr<SqliteStore>> InMemory();
  /// The whole store as the bytes of one file, which needs no log, index or lock beside it: for FromBytes, and for a
  /// file that is opened `read_only`, also in a folder that cannot be written. Compact: what was removed is not in it.
  /// Errors: Unavailable; FailedPrecondition of a store that has a file: fill one that is InMemory.
  Result<std::string> Bytes() const;

  const std::string& path() const;

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;
  ArtifactCache* artifacts() override { return this; }

  Result<std::optional<Artifact>> Get(const Fingerprint& key) override;
  Status Put(const Fingerprint& key, const Artifact& artifact) override;
  Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) override;

  /// What artifacts there are, whole or not.
  Result<std::vector<Fingerprint>> ArtifactKeys() const;
  /// Reads every row, and asks SQLite about its file.
  Result<StoreReport> Verify() const;

 private:
  struct Impl;
  explicit SqliteStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_SQLITE_STORE_H_
