#ifndef TUNEONCE_REDIS_STORE_H_
#define TUNEONCE_REDIS_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuneonce/plugin/record_store.h"
#include "tuneonce/redis_options.h"

namespace tuneonce {
inline namespace v0 {

class FleetServer;  // Opaque to hosts.

/// A secret key with which a fleet signs what it stores (HMAC-SHA256), and the key's name.
struct SigningKey {
  std::string id;  ///< Name of the key: 1 to 64 letters, digits, '.', '_' and '-'.
  /// At least 32 random bytes. Anyone who has them can make every host of the fleet run any code.
  std::string secret;
};

/// Reads signing keys from a file with one line "ID HEX" for each key. Empty lines and lines that begin with '#' are
/// skipped. Errors: NotFound without the file; FailedPrecondition if the file belongs to another user (except root), if
/// its mode gives others access, if it has no key, or if a line is invalid (the message has only the line's number).
TUNEONCE_API Result<std::vector<SigningKey>> ReadSigningKeys(const std::string& path);

/// Options of a RedisStore.
struct RedisStoreOptions {
  RedisOptions redis;
  /// The fleet's signing keys. The first one signs, and signatures of all of them are accepted. To replace a key, add
  /// the new one on all machines, then put it first on all machines, then remove the old one. Required.
  std::vector<SigningKey> keys;
  /// Whether the store only reads. If true, it writes nothing, and its leases do not keep other machines from tuning.
  /// Default false.
  bool read_only = false;
  /// Records and artifacts are deleted after this many days without a put or a lookup. At least 1. Default 90.
  int keep_days = 90;
  /// A lease ends this many milliseconds after its holder was last seen. Holders renew it three times in that period,
  /// so a machine that fails blocks the others for that long. Default 30 s.
  int lease_ms = 30000;
  /// Maximum size of an artifact in bytes. Larger ones are not stored. Default 64 MiB.
  std::int64_t max_artifact_bytes = std::int64_t{64} << 20;
  /// How long after a failure the server is tried again, in milliseconds. The time doubles with each failure, up to a
  /// minute. Default 1 s. With 0 the next call tries again.
  int first_retry_ms = 1000;
  /// Called on the thread that uses the store, when data was refused and counts as missing: it has an invalid signature
  /// or was changed. The same text is reported once. Null (default): not reported, except by RecordLookup::detail.
  std::function<void(const std::string& words)> on_refused;
};

/// Records and artifacts of a fleet in a Redis server. It is usually combined with each machine's own store by
/// MakeFleetStore.
///
/// All values are signed together with the name that they are stored under. A value without a signature of a known key,
/// or one that was changed, truncated or stored under another name, counts as missing with a reason and is never run.
/// Artifacts are named by their SHA-256. A lease has an increasing token, which is stored in records that are put under
/// it: a host that lost its lease cannot replace the record of the next holder (FailedPrecondition).
///
/// No call takes longer than RedisOptions::timeout_ms, except that List, ArtifactKeys and Verify may take as long for
/// each step, and Lease waits as long as its limits allow. After a call without an answer all calls return Unavailable
/// at once until the server is tried again. What Put acknowledged survives a crash of the server if it has `appendonly
/// yes` and `appendfsync always`. Otherwise the last second may be lost.
///
/// Thread rule: any thread. A thread of the store, started with the first lease, renews leases. A store cannot be used
/// after fork: in the child process every call returns an error.
class TUNEONCE_API RedisStore final : public RecordStore {
 public:
  /// Opens the store. It succeeds also if the server does not answer, which is then tried again later. Errors:
  /// InvalidArgument for invalid options; Unavailable if the host's name cannot be resolved.
  static Result<std::shared_ptr<RedisStore>> Open(RedisStoreOptions options);
  ~RedisStore() override;

  /// Returns the server's address as RedisOptions::ToString does: "redis://HOST:PORT/NAME".
  std::string place() const;

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;

  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override;
  Status PutArtifact(const Fingerprint& key, const Artifact& artifact) override;
  /// Waits until no other thread of this process compiles `key`, and blocks them while the lease lives. Other processes
  /// and machines are not blocked, and may compile the same artifact. Errors: DeadlineExceeded, Cancelled.
  Result<TuningLease> LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) override;

  /// Returns the keys of all artifacts, damaged ones included. Errors: the server cannot be read.
  Result<std::vector<Fingerprint>> ArtifactKeys() const;
  /// Reads all records and artifacts, and checks their signatures. Damage is listed in StoreReport::problems and is not
  /// an error. Errors: the server cannot be read.
  Result<StoreReport> Verify() const;

 private:
  struct Impl;
  explicit RedisStore(std::shared_ptr<FleetServer> server);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REDIS_STORE_H_
