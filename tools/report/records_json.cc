#include "report/records_json.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "report/records_format.h"
#include "store/record_fields.h"
#include "store/stored_enums.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

// Values that JSON cannot express are written as objects with one field: {"bytes": "ff00"} for a text that is not
// UTF-8, and {"double": "7ff0000000000000"}, the bits, for a number that is not finite.

std::string Hex(std::uint64_t word) { return absl::StrFormat("%016x", word); }

Json TextJson(const std::string& text) {
  Json json = text;
  // dump() throws for text that is not UTF-8 unless it may leave that text out.
  Json again = Json::parse(json.dump(-1, ' ', false, Json::error_handler_t::ignore), nullptr, false);
  if (again == json) return json;
  return Json{{"bytes", absl::BytesToHexString(text)}};
}

Json NumberJson(double value) {
  if (std::isfinite(value)) return value;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return Json{{"double", Hex(bits)}};
}

Json ValueJson(const AxisValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return TextJson(*text);
  if (const auto* real = std::get_if<double>(&value)) return NumberJson(*real);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return std::get<std::int64_t>(value);
}

/// Puts fields into an object.
class FieldWriter {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    json[name] = ToJson(value);
  }

  Json json = Json::object();

 private:
  static Json ToJson(const std::string& value) { return TextJson(value); }
  static Json ToJson(double value) { return NumberJson(value); }
  static Json ToJson(const Fingerprint& value) { return value.ToString(); }
  static Json ToJson(const std::vector<std::uint64_t>& values) {
    Json json = Json::array();
    for (std::uint64_t word : values) json.push_back(Hex(word));
    return json;
  }
  static Json ToJson(const Config& config) {
    Json json = Json::array();
    for (std::size_t i = 0; i < config.values().size(); ++i) {
      json.push_back({{"axis", TextJson(config.AxisName(i))},
                      {"kind", ToJson(config.Kind(i))},
                      {"value", ValueJson(config.values()[i])}});
    }
    return json;
  }
  template <typename T>
  static Json ToJson(const std::optional<T>& value) {
    return value ? ToJson(*value) : Json(nullptr);
  }
  template <typename T>
  static Json ToJson(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(ToJson(value));
    return json;
  }
  template <typename T>
  static Json ToJson(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return std::string(FindStored(value)->word);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      FieldWriter writer;
      VisitFields(writer, value);
      return std::move(writer.json);
    }
  }
};

}  // namespace

std::string RecordsToJson(const std::vector<TuningRecord>& records) {
  Json json = {{"format", kRecordsFormat}, {"version", kRecordsVersion}, {"records", Json::array()}};
  for (const TuningRecord& record : records) {
    FieldWriter writer;
    VisitFields(writer, record);
    json["records"].push_back(std::move(writer.json));
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace v0
}  // namespace tuneonce
