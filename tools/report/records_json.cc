#include "report/records_json.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/counter_fields.h"
#include "store/checksummed_artifact.h"
#include "store/record_fields.h"
#include "store/stored_enums.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/report.h"

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

using Json = nlohmann::ordered_json;

/// As deep as a piece of code lies: what is nested deeper is not built.
constexpr int kDeepestCode = 16;

std::optional<Fingerprint> ParseKey(const Json& json) {
  constexpr std::size_t kDigits = 16;
  std::string text = json.is_string() ? json.get<std::string>() : "";
  if (text.size() != 2 * kDigits || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return std::nullopt;
  }
  auto word = [&](std::size_t at) { return std::stoull(text.substr(at, kDigits), nullptr, 16); };
  return Fingerprint{word(0), word(kDigits)};
}

Result<RecordedCode> PieceOf(const Json& json) {
  if (!json.is_object() || json.size() != 2 || !json.contains("key") || !json.contains("bytes")) {
    return InvalidArgumentError("the entry must be an object with 'key' and 'bytes'");
  }
  std::optional<Fingerprint> key = ParseKey(json["key"]);
  if (!key) return InvalidArgumentError("field 'key' must be a string of 32 hexadecimal digits");
  std::string bytes;
  if (!json["bytes"].is_string() || !absl::Base64Unescape(json["bytes"].get<std::string>(), &bytes)) {
    return InvalidArgumentError("field 'bytes' must be a string of base64");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, DecodeChecksummedArtifact(*key, bytes));
  return RecordedCode{*key, std::move(artifact)};
}

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

std::string CountersJson(const Counters& counters) {
  nlohmann::ordered_json json;
  auto add = [&](const char* name, auto value) { json[name] = value; };
  VisitFields(add, counters);
  return json.dump(2);
}

std::string WithCode(const std::string& records_json, const std::vector<RecordedCode>& code) {
  Json json = Json::parse(records_json);
  json["code"] = Json::array();
  for (const RecordedCode& each : code) {
    json["code"].push_back({{"key", each.key.ToString()},
                            {"bytes", absl::Base64Escape(EncodeChecksummedArtifact(each.key, each.artifact))}});
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Result<std::vector<RecordedCode>> CodeFromJson(const std::string& text) {
  bool is_too_deep = false;
  auto keep = [&](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kDeepestCode;
    return depth <= kDeepestCode;
  };
  Json json = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (is_too_deep || !json.is_object()) return InvalidArgumentError("the file is not a file of records");
  std::vector<RecordedCode> code;
  auto list = json.find("code");
  if (list == json.end()) return code;
  if (!list->is_array()) return InvalidArgumentError("\"code\" must be an array");
  for (const Json& each : *list) {
    Result<RecordedCode> piece = PieceOf(each);
    if (!piece.ok()) return piece.status().WithPrefix(absl::StrCat("code ", code.size()));
    code.push_back(*std::move(piece));
  }
  return code;
}

}  // namespace v0
}  // namespace tuneonce
