// A file of records of any content: refused in words, or written and read again as the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "report/records_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tuneonce::RecordsFromJson;
  using tuneonce::RecordsToJson;
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)tuneonce::CodeFromJson(text);
  auto records = RecordsFromJson(text);
  if (!records.ok()) return 0;
  std::string once = RecordsToJson(*records);
  auto again = RecordsFromJson(once);
  if (!again.ok() || RecordsToJson(*again) != once) {
    std::fprintf(stderr, "records that were read cannot be written and read again: %s\n",
                 again.status().ToString().c_str());
    std::abort();
  }
  return 0;
}
