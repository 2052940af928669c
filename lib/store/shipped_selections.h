#ifndef TUNEONCE_LIB_STORE_SHIPPED_SELECTIONS_H_
#define TUNEONCE_LIB_STORE_SHIPPED_SELECTIONS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/record_store.h"
#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Records as bytes with a checksum: what KernelDefinition::ShippedSelections takes.
TUNEONCE_API std::string EncodeRecords(const std::vector<TuningRecord>& records);
/// Errors: InvalidArgument if the bytes are cut or changed, or a record is of another version.
TUNEONCE_API Result<std::vector<TuningRecord>> DecodeRecords(std::string_view bytes);

/// A store of these records. Errors: as DecodeRecords.
TUNEONCE_API Result<std::shared_ptr<RecordStore>> MakeShippedStore(std::string_view selections);
/// `user` over the selections that came along with a kernel. These serve whatever the driver's version is
/// (RecordLookup::serves_any_driver), where the user's store has nothing that serves: of `weakest` or better, or
/// decided by a person.
TUNEONCE_API std::shared_ptr<RecordStore> StoreOverShipped(std::shared_ptr<RecordStore> user,
                                                           std::shared_ptr<RecordStore> shipped, RecordMatch weakest);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_SHIPPED_SELECTIONS_H_
