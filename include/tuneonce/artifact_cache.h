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

/// The right to compile one artifact, until it is destroyed. May be held and released on different threads.
using ArtifactLease = std::shared_ptr<void>;

/// Artifacts by Toolchain::ArtifactKey. Thread rule: all of it may be called from any thread.
class TUNEONCE_API ArtifactCache {
 public:
  virtual ~ArtifactCache() = default;

  /// The artifact, or nothing. What cannot be read back whole counts as missing, and is dropped. Errors: the cache
  /// itself cannot be read.
  virtual Result<std::optional<Artifact>> Get(const Fingerprint& key) = 0;
  /// Keeps an artifact, dropping those least recently used if there is no room. Errors: it cannot be kept; nothing else
  /// is lost.
  virtual Status Put(const Fingerprint& key, const Artifact& artifact) = 0;
  /// Waits until nobody else who shares this cache (a thread, a process) compiles `key`, and keeps others from it while
  /// the lease lives. After it, ask Get again. Errors: DeadlineExceeded after `limits.timeout_ms`, Cancelled.
  virtual Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) = 0;
};

/// In memory: bounded by bytes, least recently used first, entries checksummed.
class TUNEONCE_API MemoryArtifactCache final : public ArtifactCache {
 public:
  /// Enough for thousands of cubins.
  static constexpr std::int64_t kDefaultMaxBytes = std::int64_t{256} << 20;

  explicit MemoryArtifactCache(std::int64_t max_bytes = kDefaultMaxBytes);
  ~MemoryArtifactCache() override;

  Result<std::optional<Artifact>> Get(const Fingerprint& key) override;
  Status Put(const Fingerprint& key, const Artifact& artifact) override;
  Result<ArtifactLease> Lease(const Fingerprint& key, const WaitLimits& limits) override;

  /// Bytes of all entries together.
  std::int64_t bytes() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_ARTIFACT_CACHE_H_
