#ifndef TUNEONCE_BINDINGS_CLI_SEARCH_TIMELINE_H_
#define TUNEONCE_BINDINGS_CLI_SEARCH_TIMELINE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tuneonce/tuning_record.h"

namespace tuneonce::cli {

/// Adds data from a search's trace (Runtime::EndTrace) to the JSON of its record's file: `timeline`, which docs/cli.md
/// describes, with the samples of each measured candidate. The size is limited, and further entries are only counted.
/// Without such events `json` does not change.
void AddTimeline(const TuningRecord& record, const std::string& trace, nlohmann::ordered_json* json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_SEARCH_TIMELINE_H_
