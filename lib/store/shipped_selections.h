#ifndef TUNEONCE_LIB_STORE_SHIPPED_SELECTIONS_H_
#define TUNEONCE_LIB_STORE_SHIPPED_SELECTIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/forwarding_store.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The user's store over stores that an application ships: see MakeLayeredStore. Writes and leases are forwarded to the
/// user's store. Thread rule: any thread.
class LayeredStore : public ForwardingStore {
 public:
  /// `shipped`: the first lies over the others.
  LayeredStore(std::shared_ptr<RecordStore> user, std::vector<std::shared_ptr<RecordStore>> shipped)
      : ForwardingStore(std::move(user)), shipped_(std::move(shipped)) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  /// Returns the records of all layers, the user's first.
  Result<std::vector<TuningRecord>> List() const override;
  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override;

 protected:
  const std::vector<std::shared_ptr<RecordStore>> shipped_;
};

/// Records as bytes with a checksum: what KernelDefinition::ShippedSelections takes.
std::string EncodeRecords(const std::vector<TuningRecord>& records);
/// Errors: InvalidArgument if the bytes are cut or changed, or a record is of another version.
Result<std::vector<TuningRecord>> DecodeRecords(std::string_view bytes);

/// A store of these records. Errors: as DecodeRecords.
Result<std::shared_ptr<RecordStore>> MakeShippedStore(std::string_view selections);
/// `user` over the selections that came along with a kernel. These serve whatever the driver's version is
/// (RecordLookup::serves_any_driver), where the user's store has nothing that serves: of `weakest` or better, or
/// decided by a person.
std::shared_ptr<RecordStore> StoreOverShipped(std::shared_ptr<RecordStore> user, std::shared_ptr<RecordStore> shipped,
                                              RecordMatch weakest);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_SHIPPED_SELECTIONS_H_
