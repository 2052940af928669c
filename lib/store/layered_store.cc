#include "store/layered_store.h"

#include <utility>

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

Result<RecordLookup> LayeredStore::Lookup(const TuningKey& key) const {
  RecordLookup best;
  Status failed;
  const auto add = [&](Result<RecordLookup> lookup, bool is_shipped) {
    if (!lookup.ok()) {
      failed = lookup.status();  // Another layer may still have it.
      return;
    }
    if (is_shipped) MarkShipped(&*lookup);
    best.Improve(*std::move(lookup));
  };
  add(store_->Lookup(key), /*is_shipped=*/false);
  for (const auto& layer : shipped_) add(layer->Lookup(key), /*is_shipped=*/true);
  if (best.match == RecordMatch::kNotFound && !failed.ok()) return failed;
  return best;
}

Result<std::vector<TuningRecord>> LayeredStore::List() const {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> all, store_->List());
  for (const auto& layer : shipped_) {
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, layer->List());
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

Result<std::optional<Artifact>> LayeredStore::GetArtifact(const Fingerprint& key) const {
  Result<std::optional<Artifact>> found = store_->GetArtifact(key);
  for (const auto& layer : shipped_) {
    if (found.ok() && found->has_value()) break;
    Result<std::optional<Artifact>> below = layer->GetArtifact(key);
    if (!below.ok() || below->has_value()) found = std::move(below);  // An error only if no layer has it.
  }
  return found;
}

std::shared_ptr<RecordStore> MakeLayeredStore(std::shared_ptr<RecordStore> user,
                                              std::vector<std::shared_ptr<RecordStore>> shipped) {
  return std::make_shared<LayeredStore>(std::move(user), std::move(shipped));
}

}  // namespace v0
}  // namespace tuneonce
