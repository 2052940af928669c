#include "store/layered_store.h"

#include <algorithm>
#include <utility>

#include "tuneonce/artifact_cache.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

void MarkShipped(RecordLookup* lookup) {
  lookup->is_shipped = true;
  if (lookup->complete == nullptr) return;
  RecordLookup complete = *lookup->complete;
  complete.is_shipped = true;
  lookup->complete = std::make_shared<const RecordLookup>(std::move(complete));
}

}  // namespace

LayeredStore::LayeredStore(std::shared_ptr<RecordStore> user, std::vector<std::shared_ptr<RecordStore>> shipped)
    : layers_(std::move(shipped)) {
  layers_.insert(layers_.begin(), std::move(user));
}

Result<RecordLookup> LayeredStore::Lookup(const TuningKey& key) const {
  RecordLookup best;
  Status failed;
  for (const auto& layer : layers_) {
    Result<RecordLookup> lookup = layer->Lookup(key);
    if (!lookup.ok()) {
      failed = lookup.status();  // Another layer may still have it.
    } else {
      if (layer != layers_.front()) MarkShipped(&*lookup);
      best.Improve(*std::move(lookup));
    }
  }
  if (best.match == RecordMatch::kNotFound && !failed.ok()) return failed;
  return best;
}

Result<std::vector<TuningRecord>> LayeredStore::List() const {
  std::vector<TuningRecord> all;
  for (const auto& layer : layers_) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, layer->List());
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

ArtifactCache* LayeredStore::artifacts() {
  const bool any_keeps_code =
      std::any_of(layers_.begin(), layers_.end(), [](const auto& layer) { return layer->artifacts() != nullptr; });
  return any_keeps_code ? this : nullptr;
}

ArtifactCache& LayeredStore::UsersCode() {
  ArtifactCache* users = layers_.front()->artifacts();
  return users != nullptr ? *users : kept_code_;
}

Result<std::optional<Artifact>> LayeredStore::Get(const Fingerprint& key) {
  Status failed;
  for (const auto& layer : layers_) {
    ArtifactCache* code = layer == layers_.front() ? &UsersCode() : layer->artifacts();
    if (code == nullptr) continue;
    Result<std::optional<Artifact>> artifact = code->Get(key);
    if (!artifact.ok()) {
      failed = artifact.status();
    } else if (artifact->has_value()) {
      return artifact;
    }
  }
  if (!failed.ok()) return failed;
  return std::optional<Artifact>();
}

Status LayeredStore::Put(const Fingerprint& key, const Artifact& artifact) { return UsersCode().Put(key, artifact); }

Result<ArtifactLease> LayeredStore::Lease(const Fingerprint& key, const WaitLimits& limits) {
  return UsersCode().Lease(key, limits);
}

std::shared_ptr<RecordStore> MakeLayeredStore(std::shared_ptr<RecordStore> user,
                                              std::vector<std::shared_ptr<RecordStore>> shipped) {
  return std::make_shared<LayeredStore>(std::move(user), std::move(shipped));
}

}  // namespace v0
}  // namespace tuneonce
