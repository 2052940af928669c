#include "tuneonce/artifact_cache.h"

#include <chrono>
#include <list>
#include <map>
#include <utility>

#include "compile/keyed_lock.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How soon one who waits notices a cancellation.
constexpr std::chrono::milliseconds kCancelPoll(10);

}  // namespace

Result<ArtifactLease> KeyedLock::Acquire(const Fingerprint& key, const WaitLimits& limits) {
  MutexLock lock(state_->mutex);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.timeout_ms);
  while (!state_->held.insert(key).second) {
    if (limits.cancelled != nullptr && limits.cancelled->load())
      return CancelledError("cancelled while another thread or process was compiling the same code");
    if (std::chrono::steady_clock::now() >= deadline) {
      return DeadlineExceededError("another thread or process is compiling the same code and did not finish in time");
    }
    state_->released.WaitFor(lock, kCancelPoll);
  }
  return ArtifactLease(nullptr, [state = state_, key](void*) {
    MutexLock guard(state->mutex);
    state->held.erase(key);
    state->released.NotifyAll();
  });
}

struct MemoryArtifactCache::Impl {
  struct Entry {
    std::string encoded;
    std::list<Fingerprint>::iterator use;
  };

  explicit Impl(std::int64_t size_limit) : max_bytes(size_limit) {}

  void Drop(std::map<Fingerprint, Entry>::iterator entry) TUNEONCE_REQUIRES(mutex) {
    bytes -= static_cast<std::int64_t>(entry->second.encoded.size());
    uses.erase(entry->second.use);
    entries.erase(entry);
  }

  const std::int64_t max_bytes;
  Mutex mutex;
  std::map<Fingerprint, Entry> entries TUNEONCE_GUARDED_BY(mutex);
  std::list<Fingerprint> uses TUNEONCE_GUARDED_BY(mutex);  // The most recent first.
  std::int64_t bytes TUNEONCE_GUARDED_BY(mutex) = 0;
  KeyedLock locks;
};

MemoryArtifactCache::MemoryArtifactCache(std::int64_t max_bytes) : impl_(std::make_unique<Impl>(max_bytes)) {}
MemoryArtifactCache::~MemoryArtifactCache() = default;

Result<std::optional<Artifact>> MemoryArtifactCache::Get(const Fingerprint& key) {
  MutexLock lock(impl_->mutex);
  auto entry = impl_->entries.find(key);
  if (entry == impl_->entries.end()) return std::optional<Artifact>();
  Result<Artifact> artifact = DecodeArtifact(entry->second.encoded);
  if (!artifact.ok()) {
    impl_->Drop(entry);
    return std::optional<Artifact>();
  }
  impl_->uses.splice(impl_->uses.begin(), impl_->uses, entry->second.use);
  return std::optional<Artifact>(*std::move(artifact));
}

Status MemoryArtifactCache::Put(const Fingerprint& key, const Artifact& artifact) {
  std::string encoded = EncodeArtifact(artifact);
  MutexLock lock(impl_->mutex);
  if (auto entry = impl_->entries.find(key); entry != impl_->entries.end()) impl_->Drop(entry);
  auto size = static_cast<std::int64_t>(encoded.size());
  if (size > impl_->max_bytes)
    return ResourceExhaustedError("an artifact of " + std::to_string(size) + " bytes is larger than the whole cache");
  while (impl_->bytes + size > impl_->max_bytes) impl_->Drop(impl_->entries.find(impl_->uses.back()));
  impl_->uses.push_front(key);
  impl_->entries.emplace(key, Impl::Entry{std::move(encoded), impl_->uses.begin()});
  impl_->bytes += size;
  return Status();
}

Result<ArtifactLease> MemoryArtifactCache::Lease(const Fingerprint& key, const WaitLimits& limits) {
  return impl_->locks.Acquire(key, limits);
}

std::int64_t MemoryArtifactCache::bytes() const {
  MutexLock lock(impl_->mutex);
  return impl_->bytes;
}

}  // namespace v0
}  // namespace tuneonce
