#ifndef TUNEONCE_ARTIFACT_CACHE_H_
#define TUNEONCE_ARTIFACT_CACHE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tuneonce/artifact.h"
#include "tuneonce/compile_options.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The right to compile one artifact, held until the last copy is destroyed. Other threads and processes that ask
/// ArtifactCache::Lease for the same key wait until then. Any thread may hold or release it.
using ArtifactLease = std::shared_ptr<void>;

/// Keeps artifacts by Toolchain::ArtifactKey. Thread rule: any thread may call all functions.
class TUNEONCE_API ArtifactCache {
 public:
  virtual ~ArtifactCache() = default;

  /// Returns the artifact for `key`, or nothing if the cache does not have it. An entry that is damaged counts as
  /// missing and is removed. Errors: an error status if the cache itself cannot be read.
  virtual Result<std::optional<Artifact>> Get(const Fingerprint& key) = 0;
  /// Stores an artifact, and removes the least recently used ones when the cache is full. Errors: ResourceExhausted if
  /// the artifact is larger than the whole cache, or another error of the cache's storage. The other entries stay.
  virtual Status Put(const Fingerprint& key, const Artifact& artifact) = 0;
  /// Waits until no other thread or process that shares this cache has a lease for `key`, and returns one. Call Get
  /// again after it, because the previous holder may have stored the artifact. Errors: DeadlineExceeded after
  /// `limits.timeout_ms` milliseconds, Cancelled if `limits.cancelled` became true.
  virtual Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) = 0;
};

/// A cache in the memory of this process with a limit in bytes. It removes the least recently used entries first, and
/// each entry has a checksum.
class TUNEONCE_API MemoryArtifactCache final : public ArtifactCache {
 public:
  /// Default limit of 256 MiB, which holds thousands of cubins.
  static constexpr std::int64_t kDefaultMaxBytes = std::int64_t{256} << 20;

  /// Makes an empty cache of at most `max_bytes` bytes.
  explicit MemoryArtifactCache(std::int64_t max_bytes = kDefaultMaxBytes);
  ~MemoryArtifactCache() override;

  Result<std::optional<Artifact>> Get(const Fingerprint& key) override;
  Status Put(const Fingerprint& key, const Artifact& artifact) override;
  Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) override;

  /// Returns the size of all entries together, in bytes.
  std::int64_t bytes() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_ARTIFACT_CACHE_H_
