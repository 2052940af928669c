#include "store/memory_store.h"

#include <algorithm>
#include <utility>

#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
inline namespace v0 {

Result<RecordLookup> MemoryStore::Lookup(const TuningKey& key) const {
  MutexLock lock(mutex_);
  RecordLookup best;
  for (const TuningRecord& record : records_) {
    RecordMatch match = MatchKeys(record.key, key);
    if (match != RecordMatch::kNotFound) {
      RecordLookup found;
      found.match = match;
      found.record = record;
      best.Improve(std::move(found));
    } else if (record.key.IsOtherSource(key)) {
      best.NoteInstead(RecordMiss::kOtherSource);
    }
  }
  return best;
}

Status MemoryStore::Put(const TuningRecord& record) {
  MutexLock lock(mutex_);
  auto it = std::find_if(records_.begin(), records_.end(),
                         [&](const TuningRecord& r) { return MatchKeys(r.key, record.key) == RecordMatch::kExact; });
  if (it != records_.end()) {
    *it = record;
  } else {
    records_.push_back(record);
  }
  return Status();
}

Status MemoryStore::Remove(const TuningKey& key) {
  MutexLock lock(mutex_);
  records_.erase(std::remove_if(records_.begin(), records_.end(),
                                [&](const TuningRecord& r) { return MatchKeys(r.key, key) == RecordMatch::kExact; }),
                 records_.end());
  return Status();
}

Result<std::vector<TuningRecord>> MemoryStore::List() const {
  MutexLock lock(mutex_);
  return records_;
}

Result<std::optional<Artifact>> MemoryStore::GetArtifact(const Fingerprint& key) const {
  MutexLock lock(mutex_);
  auto found = artifacts_.find(key);
  if (found == artifacts_.end()) return std::optional<Artifact>();
  Result<Artifact> artifact = DecodeArtifact(found->second.bytes);
  if (!artifact.ok()) {
    Drop(found);
    return std::optional<Artifact>();
  }
  uses_.splice(uses_.begin(), uses_, found->second.use);
  return std::optional<Artifact>(*std::move(artifact));
}

Status MemoryStore::PutArtifact(const Fingerprint& key, const Artifact& artifact) {
  std::string encoded = EncodeArtifact(artifact);
  const auto size = static_cast<std::int64_t>(encoded.size());
  if (size > max_artifact_bytes_) {
    return ResourceExhaustedError("an artifact of " + std::to_string(size) + " bytes is larger than the store's limit");
  }
  MutexLock lock(mutex_);
  if (auto replaced = artifacts_.find(key); replaced != artifacts_.end()) Drop(replaced);
  while (artifact_bytes_ + size > max_artifact_bytes_) Drop(artifacts_.find(uses_.back()));
  uses_.push_front(key);
  artifacts_.emplace(key, Encoded{std::move(encoded), uses_.begin()});
  artifact_bytes_ += size;
  return Status();
}

void MemoryStore::Drop(Artifacts::iterator artifact) const {
  artifact_bytes_ -= static_cast<std::int64_t>(artifact->second.bytes.size());
  uses_.erase(artifact->second.use);
  artifacts_.erase(artifact);
}

std::shared_ptr<RecordStore> MakeMemoryStore(std::int64_t max_artifact_bytes) {
  return std::make_shared<MemoryStore>(max_artifact_bytes);
}

}  // namespace v0
}  // namespace tuneonce
