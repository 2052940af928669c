#include "store/shipped_selections.h"

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "store/layered_store.h"
#include "store/record_preference.h"

namespace tuneonce {
inline namespace v0 {
namespace {

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
