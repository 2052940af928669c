#include "tuneonce/report/records_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tuneonce {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "tuneonce-records";
constexpr int kVersion = 1;
constexpr int kMaxDepth = 16;  // A file of records has 4.

std::string Hex(std::uint64_t word) { return absl::StrFormat("%016x", word); }

/// The fields of a record, in the file's order: the one list that both writing and reading go by. `fields` is a
/// FieldWriter with a const record, or a FieldReader.
template <typename Fields, typename Record>
void VisitFields(Fields& fields, Record& record) {
  auto& key = record.key;
  auto& m = record.measurement;
  fields.Text("kernel", &key.kernel);
  fields.Print("kernel_fingerprint", &key.kernel_fingerprint);
  fields.Text("key", &key.key_text);
  fields.Words("key_words", &key.key_words);
  fields.Text("device", &key.device_name);
  fields.Integer("capability", &key.capability);
  fields.Integer("num_sms", &key.num_sms);
  fields.Integer("driver_version", &key.driver_version);
  fields.Text("config", &record.config);
  fields.Text("variant", &record.variant);
  fields.Text("baseline", &record.baseline);
  fields.OptionalNumber("speedup_over_baseline", &record.speedup_over_baseline);
  fields.Number("mean_us", &m.mean_us);
  fields.OptionalNumber("error_margin_us", &m.error_margin_us);
  fields.Integer("num_samples", &m.num_samples);
  fields.Number("std_us", &m.std_us);
  fields.Number("median_us", &m.median_us);
  fields.Number("min_us", &m.min_us);
  fields.Number("max_us", &m.max_us);
  fields.Text("tuned_at", &record.tuned_at);
  fields.Text("timer", &record.timer);
  fields.Bool("is_certain", &record.is_certain);
  fields.Text("host", &record.host);
  fields.Text("toolchain", &record.toolchain);
  fields.Integer("unix_seconds", &record.unix_seconds);
  fields.Print("artifact", &record.artifact);
}

/// Puts the fields of one record into an object.
class FieldWriter {
 public:
  void Text(const char* name, const std::string* value) { json[name] = *value; }
  void Number(const char* name, const double* value) { json[name] = *value; }
  void OptionalNumber(const char* name, const std::optional<double>* value) {
    json[name] = *value ? Json(**value) : Json(nullptr);
  }
  template <typename Int>
  void Integer(const char* name, const Int* value) {
    json[name] = *value;
  }
  void Bool(const char* name, const bool* value) { json[name] = *value; }
  void Words(const char* name, const std::vector<std::uint64_t>* value) {
    json[name] = Json::array();
    for (std::uint64_t word : *value) json[name].push_back(Hex(word));
  }
  void Print(const char* name, const Fingerprint* value) { json[name] = value->ToString(); }

  Json json;
};

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
        name, [](const Json& j) { return j.is_number_integer() && Holds<Int>(j); },
        absl::StrCat("an integer from ", std::numeric_limits<Int>::min(), " to ", std::numeric_limits<Int>::max()));
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
  template <typename Int>
  static bool Holds(const Json& number) {
    if (number.is_number_unsigned()) {
      return number.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<Int>::max());
    }
    auto value = number.get<std::int64_t>();
    return value >= std::numeric_limits<Int>::min() && value <= std::numeric_limits<Int>::max();
  }
  const Json* Find(const char* name, bool (*fits)(const Json&), const std::string& what) {
    known_.insert(name);
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
  std::set<std::string> known_;
  Status status_;
};

Result<TuningRecord> FromJson(const Json& json, std::size_t index) {
  if (!json.is_object()) return InvalidArgumentError(absl::StrCat("record ", index, " must be an object"));
  TuningRecord record;
  FieldReader reader(json, index);
  VisitFields(reader, record);
  TUNEONCE_RETURN_IF_ERROR(reader.Finish());
  return record;
}

}  // namespace

std::string RecordsToJson(const std::vector<TuningRecord>& records) {
  Json json = {{"format", kFormat}, {"version", kVersion}, {"records", Json::array()}};
  for (const TuningRecord& record : records) {
    FieldWriter writer;
    VisitFields(writer, record);
    json["records"].push_back(std::move(writer.json));
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Result<std::vector<TuningRecord>> RecordsFromJson(const std::string& text) {
  // What lies deeper is not built: copies and printing of a value recurse, as deep as it is.
  bool is_too_deep = false;
  auto keep = [&](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kMaxDepth;
    return depth <= kMaxDepth;
  };
  Json json = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (is_too_deep) return InvalidArgumentError(absl::StrCat("it is nested deeper than ", kMaxDepth));
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
