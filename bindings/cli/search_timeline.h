#ifndef TUNEONCE_BINDINGS_CLI_SEARCH_TIMELINE_H_
#define TUNEONCE_BINDINGS_CLI_SEARCH_TIMELINE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tuneonce/tuning_result.h"

namespace tuneonce::cli {

/// Adds to the JSON of a result what a trace of its search (Runtime::EndTrace) knows beyond: to each of its `successes`
/// `samples`, and `timeline`. docs/cli.md describes both. Bounded: what is too much is counted. Leaves `json` as it is
/// where the trace has nothing.
void AddTimeline(const TuningResult& result, const std::string& trace, nlohmann::ordered_json* json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_SEARCH_TIMELINE_H_
