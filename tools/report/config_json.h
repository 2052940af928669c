#ifndef TUNEONCE_TOOLS_REPORT_CONFIG_JSON_H_
#define TUNEONCE_TOOLS_REPORT_CONFIG_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tuneonce/config.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

// The form that configs, shapes and times have in all JSON for readers: results, comparisons, differences, merges. Only
// the format of records has another one, which keeps the values' types. Not in builds without JSON.

/// A config by its axes: {"TILE": 64, "backend": "tile"}.
nlohmann::ordered_json ConfigJson(const Config& config);

/// The mean time in microseconds, or null if nothing was measured.
nlohmann::ordered_json MeanJson(const Measurement& measurement);

/// The shape "M=64, N=32" as {"M": 64, "N": 32}.
nlohmann::ordered_json ShapeJson(const std::string& shape);

/// A config or a shape as text: "TILE=64, backend=tile". A value that is an array or an object is left out.
std::string SettingsText(const nlohmann::ordered_json& settings);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_CONFIG_JSON_H_
