#ifndef TUNEONCE_REDIS_STORE_H_
#define TUNEONCE_REDIS_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuneonce/record_store.h"
#include "tuneonce/redis_options.h"

namespace tuneonce {
inline namespace v0 {

class FleetServer;  // Opaque to hosts.

/// A secret that signs what is stored (HMAC-SHA256), and its name.
struct SigningKey {
  std::string id;      ///< 1 to 64 letters, digits, '.', '_' and '-'.
  std::string secret;  ///< At least 32 random bytes. Anyone who has them can make every host of the fleet run his code.
};

/// Reads a file with a line "ID HEX" for each key. Empty lines and lines with '#' are skipped. Errors: NotFound;
/// FailedPrecondition if others than the owner may read or write the file, or a line is invalid (the message has only
/// its number).
TUNEONCE_API Result<std::vector<SigningKey>> ReadSigningKeys(const std::string& path);

struct RedisStoreOptions {
  RedisOptions redis;
  /// The first signs, all are accepted: a new one is added everywhere, then put first everywhere, then the old one is
  /// removed. Must be given.
  std::vector<SigningKey> keys;
  /// Whether the store only reads. It then writes nothing and its leases exclude no one. Default false.
  bool read_only = false;
  /// Records and artifacts are dropped after this many days without a put or a lookup. Default 90.
  int keep_days = 90;
  /// A lease ends this many milliseconds after its holder was last seen. Holders renew it three times in that period,
  /// so a machine that fails blocks the others for that long. Default 30 s.
  int lease_ms = 30000;
  /// Larger artifacts are not kept. Default 64 MiB.
  std::int64_t max_artifact_bytes = std::int64_t{64} << 20;
  /// When a server that was away is asked again; each time twice as late, up to a minute. Default 1 s; 0: by the next
  /// call.
  int first_retry_ms = 1000;
  /// Called on the calling thread when data was refused and counts as missing: it has an invalid signature or was
  /// changed. The same text is reported once. Null (default): not reported, except by RecordLookup::detail.
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
/// No call takes longer than RedisOptions::timeout_ms, and List, ArtifactKeys and Verify take up to that for each step.
/// After a call without an answer all calls return Unavailable at once until the server is tried again. What Put
/// acknowledged survives a crash of the server if it has `appendonly yes` and `appendfsync always`. Otherwise the last
/// second may be lost.
///
/// Thread rule: any thread. A thread of the store, started with the first lease, renews leases. A store cannot be used
/// after fork: in the child process every call returns an error.
class TUNEONCE_API RedisStore final : public RecordStore, public ArtifactCache {
 public:
  /// OK also if the server is away: it is tried again later. Errors: InvalidArgument; Unavailable: the host has no
  /// address.
  static Result<std::shared_ptr<RedisStore>> Open(RedisStoreOptions options);
  ~RedisStore() override;

  /// "redis://HOST:PORT/NAME".
  std::string place() const;

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  Status Put(const TuningRecord& record) override;
  Result<std::vector<TuningRecord>> List() const override;
  Status Remove(const TuningKey& key) override;
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override;
  ArtifactCache* artifacts() override { return this; }

  Result<std::optional<Artifact>> Get(const Fingerprint& key) override;
  Status Put(const Fingerprint& key, const Artifact& artifact) override;
  /// Each machine compiles for itself: keeps out this process's threads alone.
  Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) override;

  /// Returns the keys of all artifacts, damaged ones included.
  Result<std::vector<Fingerprint>> ArtifactKeys() const;
  /// Reads everything, and checks its signatures.
  Result<StoreReport> Verify() const;

 private:
  struct Impl;
  explicit RedisStore(std::shared_ptr<FleetServer> server);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REDIS_STORE_H_
