#ifndef TUNEONCE_LIB_STORE_RECORD_LIST_H_
#define TUNEONCE_LIB_STORE_RECORD_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// Records as bytes with a checksum: what KernelDefinition::ShippedDecisions takes.
TUNEONCE_API std::string EncodeRecords(const std::vector<TuningRecord>& records);
/// Errors: InvalidArgument if the bytes are cut or changed, or a record is of another version.
TUNEONCE_API Result<std::vector<TuningRecord>> DecodeRecords(std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_RECORD_LIST_H_
