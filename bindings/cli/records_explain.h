#ifndef TUNEONCE_BINDINGS_CLI_RECORDS_EXPLAIN_H_
#define TUNEONCE_BINDINGS_CLI_RECORDS_EXPLAIN_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuneonce/plugin/record_store.h"
#include "tuneonce/result.h"
#include "tuneonce/tuned_kernel.h"
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

/// What a launch on this machine's `device_name` would run with the store.
struct SelectionHere {
  std::string device;
  LaunchPlan plan;
};

/// Answers for the bundle `kernel`, at its example's shape with the changes of `shape` ("M=64"). Nothing is tuned,
/// compiled or loaded. Errors: InvalidArgument for an invalid shape; a missing bundle or device.
Result<SelectionHere> AskHere(const std::string& kernel, const std::string& device_name,
                              const std::vector<std::string>& shape, std::shared_ptr<RecordStore> store);

nlohmann::ordered_json SelectionHereJson(const SelectionHere& here);
void PrintSelectionHere(const SelectionHere& here);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_RECORDS_EXPLAIN_H_
