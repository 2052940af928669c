#include "tuneonce/artifact_cache.h"

#include <chrono>

#include "compile/keyed_lock.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How soon one who waits notices a cancellation.
constexpr std::chrono::milliseconds kCancelPoll(10);

}  // namespace

Result<ArtifactLease> KeyedLock::Acquire(const Fingerprint& key, const WaitLimits& limits) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.timeout_ms);
  while (!state_->held.insert(key).second) {
    if (limits.cancelled != nullptr && limits.cancelled->load()) return CancelledError("cancelled while waiting");
    if (std::chrono::steady_clock::now() >= deadline) {
      return DeadlineExceededError("another thread or process works on the same and did not end in time");
    }
    state_->released.wait_for(lock, kCancelPoll);
  }
  return ArtifactLease(nullptr, [state = state_, key](void*) {
    std::lock_guard<std::mutex> guard(state->mutex);
    state->held.erase(key);
    state->released.notify_all();
  });
}

MemoryArtifactCache::MemoryArtifactCache(std::int64_t max_bytes)
    : max_bytes_(max_bytes), locks_(std::make_unique<KeyedLock>()) {}

MemoryArtifactCache::~MemoryArtifactCache() = default;

void MemoryArtifactCache::Drop(std::map<Fingerprint, Entry>::iterator entry) {
  bytes_ -= static_cast<std::int64_t>(entry->second.encoded.size());
  uses_.erase(entry->second.use);
  entries_.erase(entry);
}

Result<std::optional<Artifact>> MemoryArtifactCache::Get(const Fingerprint& key) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto entry = entries_.find(key);
  if (entry == entries_.end()) return std::optional<Artifact>();
  Result<Artifact> artifact = DecodeArtifact(entry->second.encoded);
  if (!artifact.ok()) {
    Drop(entry);
    return std::optional<Artifact>();
  }
  uses_.splice(uses_.begin(), uses_, entry->second.use);
  return std::optional<Artifact>(*std::move(artifact));
}

Status MemoryArtifactCache::Put(const Fingerprint& key, const Artifact& artifact) {
  std::string encoded = EncodeArtifact(artifact);
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto entry = entries_.find(key); entry != entries_.end()) Drop(entry);
  auto size = static_cast<std::int64_t>(encoded.size());
  if (size > max_bytes_) return ResourceExhaustedError("the artifact is larger than the whole cache");
  while (bytes_ + size > max_bytes_) Drop(entries_.find(uses_.back()));
  uses_.push_front(key);
  entries_.emplace(key, Entry{std::move(encoded), uses_.begin()});
  bytes_ += size;
  return Status();
}

Result<ArtifactLease> MemoryArtifactCache::Lease(const Fingerprint& key, const WaitLimits& limits) {
  return locks_->Acquire(key, limits);
}

std::int64_t MemoryArtifactCache::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace v0
}  // namespace tuneonce
