#include "store/shipped_selections.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "store/guarded_store.h"
#include "store/record_preference.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

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

constexpr std::uint64_t kVersion = 0x74756e656f330002;  // "tuneo3", format 2.

class ShippedUnderUser final : public LayeredStore {
 public:
  ShippedUnderUser(std::shared_ptr<RecordStore> user, std::shared_ptr<RecordStore> shipped, RecordMatch weakest)
      : LayeredStore(std::move(user), {std::move(shipped)}), weakest_(weakest) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override {
    Result<RecordLookup> users = store_->Lookup(key);
    TUNEONCE_ASSIGN_OR_RETURN(RecordLookup shipped, shipped_.front()->Lookup(key));
    if (!shipped.record || shipped.match > RecordMatch::kOtherDriver) return users;
    if (users.ok() && Serves(users->BestFor(weakest_), shipped)) return users;
    shipped.is_shipped = shipped.serves_any_driver = true;
    return shipped;
  }

 private:
  /// Whether the user's record goes before the shipped one.
  bool Serves(const RecordLookup& users, const RecordLookup& shipped) const {
    if (!users.record || users.match > shipped.match) return false;
    bool is_decreed = users.record->is_pinned || users.record->is_imported();
    if (!is_decreed && ServingRankOf(*users.record) > ServingRankOf(*shipped.record)) return false;
    return users.match <= (is_decreed ? std::max(weakest_, RecordMatch::kOtherDriver) : weakest_);
  }

  const RecordMatch weakest_;
};

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
  if (user == nullptr) user = MakeMemoryStore();
  user = std::make_shared<GuardedStore>(std::move(user), /*trace=*/nullptr);
  shipped.erase(std::remove(shipped.begin(), shipped.end(), nullptr), shipped.end());
  for (std::shared_ptr<RecordStore>& layer : shipped) {
    layer = std::make_shared<GuardedStore>(std::move(layer), /*trace=*/nullptr);
  }
  return std::make_shared<LayeredStore>(std::move(user), std::move(shipped));
}

Result<std::shared_ptr<RecordStore>> MakeShippedStore(std::string_view selections) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, DecodeRecords(selections));
  std::shared_ptr<RecordStore> store = MakeMemoryStore();
  for (const TuningRecord& record : records) TUNEONCE_RETURN_IF_ERROR(store->Put(record));
  return store;
}

std::shared_ptr<RecordStore> StoreOverShipped(std::shared_ptr<RecordStore> user, std::shared_ptr<RecordStore> shipped,
                                              RecordMatch weakest) {
  return std::make_shared<ShippedUnderUser>(std::move(user), std::move(shipped), weakest);
}

std::string EncodeRecords(const std::vector<TuningRecord>& records) {
  Encoder encoder;
  encoder.U64(kVersion).Count(records.size());
  for (const TuningRecord& record : records) encoder.Bytes(EncodeRecord(record));
  return WithChecksum(encoder.Take());
}

Result<std::vector<TuningRecord>> DecodeRecords(std::string_view bytes) {
  constexpr EncodedWhat kWhat{"a list of shipped selections", StatusCode::kInvalidArgument};
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes, kWhat));
  Decoder decoder(body, kWhat);
  if (decoder.U64() != kVersion)
    return InvalidArgumentError(
        "cannot read a list of shipped selections: another version of tuneonce wrote it in a different format");
  std::vector<TuningRecord> records;
  for (std::size_t left = decoder.Count(sizeof(std::uint64_t)); left > 0 && decoder.ok(); --left) {
    TUNEONCE_ASSIGN_OR_RETURN(TuningRecord record, DecodeRecord(decoder.Bytes()));
    records.push_back(std::move(record));
  }
  TUNEONCE_RETURN_IF_ERROR(decoder.Done());
  return records;
}

}  // namespace v0
}  // namespace tuneonce
