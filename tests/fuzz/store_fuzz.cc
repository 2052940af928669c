// A store file of any content: refused, or read. SQLite itself is not compiled with coverage here; it has fuzzers of
// its own.
#include <cstdint>

#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/sqlite_store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto store = tuneonce::SqliteStore::FromBytes(data, size);
  if (!store.ok()) return 0;
  static_cast<void>((*store)->Verify());
  static_cast<void>((*store)->GetArtifact(tuneonce::Fingerprint{1, 2}));  // As make_seeds puts one.
  auto records = (*store)->List();
  if (records.ok() && !records->empty()) static_cast<void>((*store)->Lookup(records->front().key));
  return 0;
}
