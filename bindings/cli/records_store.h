#ifndef TUNEONCE_BINDINGS_CLI_RECORDS_STORE_H_
#define TUNEONCE_BINDINGS_CLI_RECORDS_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "any_store.h"
#include "tuneonce/artifact.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {

/// The store in the file `path`, or at that address; empty: the user's. It waits for others longer than a launch would.
Result<std::shared_ptr<AnyStore>> OpenStore(const std::string& path, bool for_reading);

/// The store's records; of `kernel`, unless that is empty. Errors: NotFound, with the kernels that there are.
Result<std::vector<TuningRecord>> Records(const AnyStore& store, const std::string& kernel);

/// All of a store, and what of it cannot be read.
struct WholeStore {
  std::string path;
  std::shared_ptr<AnyStore> store;  ///< Open for reading.
  std::vector<TuningRecord> records;
  std::vector<std::string> problems;  ///< One line each.
  bool are_records_whole = true;      ///< StoreReport's.
};
Result<WholeStore> ReadWhole(const std::string& path);

/// Returns what a command that only needs records cannot read of them, one line each. If only code is damaged, it
/// returns nothing and prints a note.
std::vector<std::string> RecordProblems(const WholeStore& whole);

/// The code under `key`; none where it is damaged. Damage of the file is noted once for each store.
Result<std::optional<Artifact>> ReadCode(const AnyStore& store, const Fingerprint& key);

/// "vector_add  N=4096  NVIDIA H200, driver 13.0".
std::string KeyLine(const TuningKey& key);

/// "{TILE=64} 1.5 us, pinned".
std::string Brief(const TuningRecord& record);

/// "2026-11-22".
std::string DateOf(std::int64_t unix_seconds);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_RECORDS_STORE_H_
