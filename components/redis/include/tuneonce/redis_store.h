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

/// A secret by which what is stored is signed (HMAC-SHA256), and its name.
struct SigningKey {
  std::string id;      ///< 1 to 64 letters, digits, '.', '_' and '-'.
  std::string secret;  ///< Bytes, at least 32, by chance. Who has them can have every host of the fleet run his code.
};

/// Of a file with a line for each key, "ID HEX"; empty lines and those with '#' are passed over. Errors: NotFound;
/// FailedPrecondition if others than its owner may read or write it, or a line is none, by its number alone.
TUNEONCE_API Result<std::vector<SigningKey>> ReadSigningKeys(const std::string& path);

struct RedisStoreOptions {
  RedisOptions redis;
  /// The first signs, all are accepted: a new one is added everywhere, then put first everywhere, then the old one is
  /// removed. Must be given.
  std::vector<SigningKey> keys;
  /// Nothing is written, and nobody kept out. Default false.
  bool read_only = false;
  /// What nobody put or looked up for so long is dropped. Default 90 days.
  int keep_days = 90;
  /// The right to tune a key ends so long after its holder was heard of last. Holders say so three times in it; a
  /// machine that is gone stops the others for so long. Default 30 s.
  int lease_ms = 30000;
  /// Larger artifacts are not kept. Default 64 MiB.
  std::int64_t max_artifact_bytes = std::int64_t{64} << 20;
  /// When a server that was away is asked again; each time twice as late, up to a minute. Default 1 s; 0: by the next
  /// call.
  int first_retry_ms = 1000;
  /// Told, on the calling thread, of what was refused and counts as missing: a signature that is none, something that
  /// was changed. The same words once. Null (default): nobody; a lookup says it as RecordLookup::detail.
  std::function<void(const std::string& words)> on_refused;
};

/// Records and artifacts of a fleet, in a Redis server. As a rule under each machine's own store: MakeFleetStore.
///
/// All is signed, together with the name that it lies under: what bears no signature of a key that is known, was
/// changed, cut, or lies where something else was signed counts as missing, with a reason, and is never run. Artifacts
/// lie by their SHA-256. A lease has a token that grows, which the record that is put under it carries: who lost his
/// lease to another cannot put a record over the other's (FailedPrecondition).
///
/// No call takes longer than RedisOptions::timeout_ms; List, ArtifactKeys and Verify take that for each step. After one
/// that got no answer all are Unavailable at once, until the server is tried again. What Put acknowledged is there
/// after the server was killed if it has `appendonly yes` and `appendfsync always`; else what the last second brought
/// may be lost.
///
/// Thread rule: any thread. A thread of the store's own, begun with the first lease, renews them. A store does not
/// cross fork: in the child every call says so.
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

  /// What artifacts there are, whole or not.
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
