#ifndef TUNEONCE_BINDINGS_CLI_RECORDS_HERE_H_
#define TUNEONCE_BINDINGS_CLI_RECORDS_HERE_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuneonce/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::cli {

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

#endif  // TUNEONCE_BINDINGS_CLI_RECORDS_HERE_H_
