#ifndef TUNEONCE_BINDINGS_CLI_RECORDS_EXPLAIN_H_
#define TUNEONCE_BINDINGS_CLI_RECORDS_EXPLAIN_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuneonce/result.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {

/// A store's records of one key: of several devices and drivers.
struct KeyRecords {
  std::string key;  ///< "M<=64, x:float16".
  std::vector<TuningRecord> records;
};

/// Which keys.
struct KeyFilter {
  std::string kernel;
  std::string key;                 ///< The key in the records. Empty: all.
  std::vector<std::string> shape;  ///< "M=64"; of the dims of the bundle that has the kernel's name.
};

/// The records by key, those that the filter names. Errors: InvalidArgument, NotFound with the keys that there are.
Result<std::vector<KeyRecords>> KeysOf(std::vector<TuningRecord> records, const KeyFilter& filter);

/// Returns what would run for each key, why, where it comes from, how certain that is, and the alternatives.
nlohmann::ordered_json ExplanationJson(const std::vector<KeyRecords>& keys);
void PrintExplanation(const std::vector<KeyRecords>& keys);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_RECORDS_EXPLAIN_H_
