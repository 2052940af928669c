// A stored record of any content: the checksum is made right, or nothing but the checksum would be tested.
#include <cstdio>
#include <cstdlib>

#include "base/encoding.h"
#include "tuneonce/tuning_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(tuneonce::DecodeRecord(bytes));
  tuneonce::Result<tuneonce::TuningRecord> record = tuneonce::DecodeRecord(tuneonce::WithChecksum(std::string(bytes)));
  if (!record.ok()) return 0;
  // What was read is written and read again as the same bytes.
  std::string once = tuneonce::EncodeRecord(*record);
  tuneonce::Result<tuneonce::TuningRecord> again = tuneonce::DecodeRecord(once);
  if (!again.ok() || tuneonce::EncodeRecord(*again) != once) {
    std::fprintf(stderr, "a record that was read cannot be written and read again\n");
    std::abort();
  }
  return 0;
}
