#include "tuneonce/store/record_store.h"

namespace tuneonce {

RecordMatch MatchKeys(const TuningKey& stored, const TuningKey& wanted) {
  if (!stored.SameKernel(wanted)) return RecordMatch::kNotFound;
  if (!stored.SameDevice(wanted)) return RecordMatch::kOtherDevice;
  return stored.driver_version == wanted.driver_version ? RecordMatch::kExact : RecordMatch::kOtherDriver;
}

}  // namespace tuneonce
