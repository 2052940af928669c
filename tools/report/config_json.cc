#include "report/config_json.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tuneonce {
inline namespace v0 {

nlohmann::ordered_json ConfigJson(const Config& config) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    std::visit([&](const auto& value) { json[config.AxisName(i)] = value; }, config.values()[i]);
  }
  return json;
}

nlohmann::ordered_json MeanJson(const Measurement& measurement) {
  return measurement.num_samples > 0 ? nlohmann::ordered_json(measurement.mean_us) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json ShapeJson(const std::string& shape) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& item : absl::StrSplit(shape, ", ", absl::SkipEmpty())) {
    std::pair<std::string, std::string> entry = absl::StrSplit(item, absl::MaxSplits('=', 1));
    std::int64_t value = 0;
    if (absl::SimpleAtoi(entry.second, &value)) json[entry.first] = value;
  }
  return json;
}

std::string SettingsText(const nlohmann::ordered_json& settings) {
  std::string text;
  for (const auto& [name, value] : settings.items()) {
    if (value.is_structured()) continue;
    const std::string value_text = value.is_string() ? value.get<std::string>() : value.dump();
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=", value_text);
  }
  return text;
}

}  // namespace v0
}  // namespace tuneonce
