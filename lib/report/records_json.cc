#include "tuneonce/report/records_json.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tuneonce {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "tuneonce-records";
constexpr int kVersion = 1;

std::string Hex(std::uint64_t word) { return absl::StrFormat("%016x", word); }

Json Optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json ToJson(const TuningRecord& record) {
  const TuningKey& key = record.key;
  const Measurement& m = record.measurement;
  Json words = Json::array();
  for (std::uint64_t word : key.key_words) words.push_back(Hex(word));
  Json json;
  json["kernel"] = key.kernel;
  json["kernel_fingerprint"] = key.kernel_fingerprint.ToString();
  json["key"] = key.key_text;
  json["key_words"] = words;
  json["device"] = key.device_name;
  json["capability"] = key.capability;
  json["num_sms"] = key.num_sms;
  json["driver_version"] = key.driver_version;
  json["config"] = record.config;
  json["variant"] = record.variant;
  json["baseline"] = record.baseline;
  json["speedup_over_baseline"] = Optional(record.speedup_over_baseline);
  json["mean_us"] = m.mean_us;
  json["error_margin_us"] = Optional(m.error_margin_us);
  json["num_samples"] = m.num_samples;
  json["std_us"] = m.std_us;
  json["median_us"] = m.median_us;
  json["min_us"] = m.min_us;
  json["max_us"] = m.max_us;
  json["tuned_at"] = record.tuned_at;
  json["timer"] = record.timer;
  json["is_certain"] = record.is_certain;
  json["host"] = record.host;
  json["toolchain"] = record.toolchain;
  json["unix_seconds"] = record.unix_seconds;
  json["artifact"] = record.artifact.ToString();
  return json;
}

/// Reads the fields of one record, each once; keeps the first error.
class FieldReader {
 public:
  FieldReader(const Json& json, std::size_t index) : json_(json), where_(absl::StrCat("record ", index)) {}

  void Text(const char* name, std::string* value) {
    if (const Json* field = Find(
            name, [](const Json& j) { return j.is_string(); }, "a string"))
      *value = *field;
  }
  void Number(const char* name, double* value) {
    if (const Json* field = Find(
            name, [](const Json& j) { return j.is_number(); }, "a number"))
      *value = *field;
  }
  void OptionalNumber(const char* name, std::optional<double>* value) {
    const Json* field = Find(
        name, [](const Json& j) { return j.is_number() || j.is_null(); }, "a number or null");
    if (field != nullptr && field->is_number()) *value = field->get<double>();
  }
  template <typename Int>
  void Integer(const char* name, Int* value) {
    const Json* field = Find(
        name, [](const Json& j) { return j.is_number_integer(); }, "an integer");
    if (field != nullptr) *value = field->get<Int>();
  }
  void Bool(const char* name, bool* value) {
    if (const Json* field = Find(
            name, [](const Json& j) { return j.is_boolean(); }, "a boolean"))
      *value = *field;
  }
  void Words(const char* name, std::vector<std::uint64_t>* value) {
    const Json* field = Find(
        name, [](const Json& j) { return j.is_array(); }, "an array");
    if (field == nullptr) return;
    for (const Json& word : *field) {
      value->emplace_back();
      if (!word.is_string() || !ParseHex(word.get<std::string>(), &value->back())) {
        return Fail(name, "must hold strings of 16 hexadecimal digits");
      }
    }
  }
  void Print(const char* name, Fingerprint* value) {
    std::string text;
    Text(name, &text);
    if (!status_.ok()) return;
    if (text.size() != 32 || !ParseHex(text.substr(0, 16), &value->high) || !ParseHex(text.substr(16), &value->low)) {
      Fail(name, "must be a string of 32 hexadecimal digits");
    }
  }

  Status Finish() {
    for (const auto& item : json_.items()) {
      if (known_.count(item.key()) == 0) Fail(item.key(), "is unknown");
    }
    return status_;
  }

 private:
  static bool ParseHex(const std::string& text, std::uint64_t* value) {
    if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
    *value = std::stoull(text, nullptr, 16);
    return true;
  }
  void Fail(const std::string& name, const std::string& why) {
    if (status_.ok()) status_ = InvalidArgumentError(absl::StrCat(where_, ": field '", name, "' ", why));
  }
  const Json* Find(const char* name, bool (*fits)(const Json&), const char* what) {
    known_[name] = true;
    auto field = json_.find(name);
    if (field == json_.end()) {
      Fail(name, "is missing");
    } else if (!fits(*field)) {
      Fail(name, absl::StrCat("must be ", what));
    } else {
      return &*field;
    }
    return nullptr;
  }

  const Json& json_;
  std::string where_;
  std::map<std::string, bool> known_;
  Status status_;
};

Result<TuningRecord> FromJson(const Json& json, std::size_t index) {
  if (!json.is_object()) return InvalidArgumentError(absl::StrCat("record ", index, " must be an object"));
  TuningRecord record;
  TuningKey& key = record.key;
  Measurement& m = record.measurement;
  FieldReader reader(json, index);
  reader.Text("kernel", &key.kernel);
  reader.Print("kernel_fingerprint", &key.kernel_fingerprint);
  reader.Text("key", &key.key_text);
  reader.Words("key_words", &key.key_words);
  reader.Text("device", &key.device_name);
  reader.Integer("capability", &key.capability);
  reader.Integer("num_sms", &key.num_sms);
  reader.Integer("driver_version", &key.driver_version);
  reader.Text("config", &record.config);
  reader.Text("variant", &record.variant);
  reader.Text("baseline", &record.baseline);
  reader.OptionalNumber("speedup_over_baseline", &record.speedup_over_baseline);
  reader.Number("mean_us", &m.mean_us);
  reader.OptionalNumber("error_margin_us", &m.error_margin_us);
  reader.Integer("num_samples", &m.num_samples);
  reader.Number("std_us", &m.std_us);
  reader.Number("median_us", &m.median_us);
  reader.Number("min_us", &m.min_us);
  reader.Number("max_us", &m.max_us);
  reader.Text("tuned_at", &record.tuned_at);
  reader.Text("timer", &record.timer);
  reader.Bool("is_certain", &record.is_certain);
  reader.Text("host", &record.host);
  reader.Text("toolchain", &record.toolchain);
  reader.Integer("unix_seconds", &record.unix_seconds);
  reader.Print("artifact", &record.artifact);
  TUNEONCE_RETURN_IF_ERROR(reader.Finish());
  return record;
}

}  // namespace

std::string RecordsToJson(const std::vector<TuningRecord>& records) {
  Json json = {{"format", kFormat}, {"version", kVersion}, {"records", Json::array()}};
  for (const TuningRecord& record : records) json["records"].push_back(ToJson(record));
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<TuningRecord>> RecordsFromJson(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgumentError("this is no JSON");
  if (!json.is_object() || json.value("format", Json()) != kFormat) {
    return InvalidArgumentError(absl::StrCat("this is no file of records: \"format\" must be \"", kFormat, "\""));
  }
  if (json.value("version", Json()) != kVersion) {
    return InvalidArgumentError(absl::StrCat("\"version\" is ", json.value("version", Json()).dump(),
                                             "; this program knows version ", kVersion));
  }
  auto list = json.find("records");
  if (list == json.end() || !list->is_array()) return InvalidArgumentError("\"records\" must be an array");
  std::vector<TuningRecord> records;
  for (const Json& each : *list) {
    TUNEONCE_ASSIGN_OR_RETURN(TuningRecord record, FromJson(each, records.size()));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace tuneonce
