#ifndef TUNEONCE_PLUGIN_SQLITE_STORE_H_
#define TUNEONCE_PLUGIN_SQLITE_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// Options of a SqliteStore.
struct SqliteStoreOptions {
  /// The database file. Its folder is created (mode 0700) if it is missing. Required. The user's own store is
  /// Runtime::store, not an empty path.
  std::string path;
  /// Whether to open the file without writing, for a store that an application ships or a tool inspects. The file must
  /// exist, and its folder may be read-only. Default false.
  bool read_only = false;
  /// Limit of the artifacts' total size in bytes. The least recently used ones are removed when it is exceeded. Default
  /// 1 GiB.
  std::int64_t max_artifact_bytes = std::int64_t{1} << 30;
  /// How long one call waits while other processes lock the file, and therefore how long a launch may be delayed. After
  /// that, calls fail at once and a TunedKernel continues from memory. Default 250 ms. A tool can wait longer.
  std::chrono::milliseconds busy_timeout{250};
  /// How long after a failure the store is tried again. The time doubles with each failure, up to a minute. Default one
  /// second. With 0 the next call tries again.
  std::chrono::milliseconds first_retry = std::chrono::seconds(1);
};

/// Records and artifacts in one SQLite file (WAL), shared by any number of processes.
///
/// Each row has a checksum, and a row whose checksum does not match is a miss. The store changes only files that carry
/// its mark. If SQLite reports one of those as corrupt, it is renamed with its -wal and -shm to
/// FILE.corrupt-TIME-PID[-N], never deleted, and a new file is created. Any other file is refused and stays unchanged.
/// If the file is moved, removed or replaced while it is open, the store continues with the file that then has its
/// name. Leases are byte-range locks (OFD) on FILE.lock, which end with the process that holds them. **A stored cubin
/// is executable code** (tileiras embeds an object that the driver runs), so the store refuses a folder or file that is
/// a symbolic link (links above the folder are allowed) or that others own or can write.
///
/// While another process locks the file, calls return Unavailable. Records that were put meanwhile serve this process
/// from memory, and are written when the file is free.
///
/// Thread rule: any thread. A store cannot be used after fork: in the child process every call returns an error, so
/// open another one there.
class TUNEONCE_API SqliteStore final : public RecordStore {
 public:
  /// Opens the store. It succeeds also while other processes lock the file. Errors: FailedPrecondition (permissions,
  /// owner, symbolic link, a network file system, a file that is not a store or was written by a newer version),
  /// Unavailable (cannot be opened or created), NotFound (`read_only`, and the file does not exist). Each error names
  /// the path and what to do.
  static Result<std::shared_ptr<SqliteStore>> Open(SqliteStoreOptions options = {});
  ~SqliteStore() override;

  /// Opens a copy of a store file's bytes in memory, for a store that was embedded into a program. Nothing is written.
  /// Errors: InvalidArgument if the bytes are not a store, or one of another format than this version's.
  static Result<std::shared_ptr<SqliteStore>> FromBytes(const void* bytes, std::size_t size);

  /// Makes an empty store without a file, to be filled and then saved with Bytes.
  static Result<std::shared_ptr<SqliteStore>> InMemory();
  /// Returns the whole store as the bytes of one file that needs no log, index or lock file. It can be read by
  /// FromBytes, or be opened `read_only`, also in a folder that cannot be written. It does not contain removed data.
  /// Errors: Unavailable; FailedPrecondition for a store that has a file (use one from InMemory).
  Result<std::string> Bytes() const;

  /// Returns the path of the database file, as text for people if the store has no file.
  const std::string& path() const;

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;

  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override;
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override;
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override;

  /// Returns the keys of all artifacts, damaged ones included. Errors: the store cannot be read.
  Result<std::vector<Fingerprint>> ArtifactKeys() const;
  /// Reads and checks every row, and runs SQLite's integrity check. Damage is listed in StoreReport::problems and is
  /// not an error. Errors: the store cannot be read.
  Result<StoreReport> Verify() const;

 private:
  struct TUNEONCE_LOCAL Impl;
  explicit SqliteStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_SQLITE_STORE_H_
