// RecordsFromJson: records as files have them, checked field by field.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "report/records_json.h"
#include "store/record_fields.h"
#include "store/stored_enums.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

/// The nesting limit exceeds the depth of any record; a file that is nested deeper is not a file of records.
constexpr int kMaxDepth = 16;

std::optional<std::uint64_t> ParseHex(const std::string& text) {
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return std::stoull(text, nullptr, 16);
}

/// The one field of an object that has no other, if that is a string.
std::optional<std::string> OnlyField(const Json& json, const char* name) {
  if (!json.is_object() || json.size() != 1 || !json.contains(name) || !json[name].is_string()) return std::nullopt;
  return json[name].get<std::string>();
}

std::optional<std::string> ParseText(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  std::optional<std::string> hex = OnlyField(json, "bytes");
  if (!hex || hex->size() % 2 != 0 || hex->find_first_not_of("0123456789abcdef") != std::string::npos) {
    return std::nullopt;
  }
  return absl::HexStringToBytes(*hex);
}

std::optional<double> ParseNumber(const Json& json) {
  if (json.is_number()) return json.get<double>();
  std::optional<std::string> hex = OnlyField(json, "double");
  std::optional<std::uint64_t> bits = hex ? ParseHex(*hex) : std::nullopt;
  if (!bits) return std::nullopt;
  double value = 0;
  std::memcpy(&value, &*bits, sizeof(value));
  return value;
}

/// JSON tells 1 from 1.0, and both from true and "1".
std::optional<AxisValue> ParseValue(const Json& json) {
  if (json.is_boolean()) return AxisValue(json.get<bool>());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (json.is_number_integer()) return AxisValue(json.get<std::int64_t>());
  if (std::optional<double> real = ParseNumber(json)) return AxisValue(*real);
  if (std::optional<std::string> text = ParseText(json)) return AxisValue(*std::move(text));
  return std::nullopt;
}

/// Reads the fields of one object, each once; keeps the first error.
class FieldReader {
 public:
  /// Of record `index`.
  FieldReader(const Json& json, std::size_t index) : FieldReader(json, nullptr, "record", index) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    if (!status_.ok()) return;
    // Files that this library wrote have the fields in this order.
    if (next_ == json_.end() || next_.key() != name) next_ = json_.find(name);
    if (next_ == json_.end()) return Fail(name, "is missing");
    known_.push_back(name);
    const Json& field = *next_++;
    Read(name, field, &value);
  }

  Status Finish() {
    if (!status_.ok() || known_.size() == json_.size()) return status_;
    for (const auto& item : json_.items()) {
      if (std::find(known_.begin(), known_.end(), item.key()) == known_.end()) Fail(item.key(), "is unknown");
    }
    return status_;
  }

 private:
  /// Reads the field `name` of `parent`, or its element `index` if that is given.
  FieldReader(const Json& json, const FieldReader* parent, const char* name, std::optional<std::size_t> index)
      : json_(json), parent_(parent), name_(name), index_(index) {
    if (!json_.is_object()) status_ = InvalidArgumentError(Where() + " must be an object");
    next_ = json_.begin();
  }
  /// "record 3, candidates 2", for messages.
  std::string Where() const {
    return absl::StrCat(parent_ != nullptr ? parent_->Where() + ", " : "", name_,
                        index_ ? absl::StrCat(" ", *index_) : "");
  }
  void Fail(const std::string& name, const std::string& why) {
    if (status_.ok()) status_ = InvalidArgumentError(absl::StrCat(Where(), ": field '", name, "' ", why));
  }
  /// `*value` is what was parsed, or the field is wrong.
  template <typename T>
  void Take(const char* name, std::optional<T> parsed, const char* what, T* value) {
    if (!parsed) return Fail(name, absl::StrCat("must be ", what));
    *value = *std::move(parsed);
  }

  void Read(const char* name, const Json& json, std::string* value) { Take(name, ParseText(json), "a string", value); }
  void Read(const char* name, const Json& json, double* value) { Take(name, ParseNumber(json), "a number", value); }
  void Read(const char* name, const Json& json, bool* value) {
    Take(name, json.is_boolean() ? std::optional<bool>(json.get<bool>()) : std::nullopt, "a boolean", value);
  }
  void Read(const char* name, const Json& json, std::uint64_t* value) {
    Take(name, json.is_number_unsigned() ? std::optional(json.get<std::uint64_t>()) : std::nullopt,
         "an integer of 0 or more", value);
  }
  void Read(const char* name, const Json& json, std::int64_t* value) {
    std::optional<AxisValue> parsed = json.is_number_integer() ? ParseValue(json) : std::nullopt;
    Take(name, parsed ? std::optional(std::get<std::int64_t>(*parsed)) : std::nullopt, "an integer of 64 bits", value);
  }
  void Read(const char* name, const Json& json, int* value) {
    std::int64_t wide = 0;
    Read(name, json, &wide);
    *value = static_cast<int>(wide);
    if (*value != wide) Fail(name, "must be an integer of 32 bits");
  }
  void Read(const char* name, const Json& json, Fingerprint* value) {
    std::string text = json.is_string() ? json.get<std::string>() : "";
    std::optional<std::uint64_t> high = text.size() == 32 ? ParseHex(text.substr(0, 16)) : std::nullopt;
    std::optional<std::uint64_t> low = text.size() == 32 ? ParseHex(text.substr(16)) : std::nullopt;
    if (!high || !low) return Fail(name, "must be a string of 32 hexadecimal digits");
    *value = Fingerprint{*high, *low};
  }
  void Read(const char* name, const Json& json, std::vector<std::uint64_t>* values) {
    if (!json.is_array()) return Fail(name, "must be an array");
    for (const Json& each : json) {
      std::optional<std::uint64_t> word = each.is_string() ? ParseHex(each.get<std::string>()) : std::nullopt;
      if (!word) return Fail(name, "must hold strings of 16 hexadecimal digits");
      values->push_back(*word);
    }
  }
  void Read(const char* name, const Json& json, std::vector<std::string>* values) {
    if (!json.is_array()) return Fail(name, "must be an array");
    for (const Json& each : json) Read(name, each, &values->emplace_back());
  }
  void Read(const char* name, const Json& json, Config* value) {
    if (!json.is_array()) return Fail(name, "must be an array of axes");
    std::vector<Config::Setting> settings;
    for (const Json& each : json) {
      Config::Setting& setting = settings.emplace_back();
      FieldReader reader(each, this, name, settings.size() - 1);
      reader("axis", setting.axis);
      reader("kind", setting.kind);
      reader("value", setting.value);
      if (status_ = reader.Finish(); !status_.ok()) return;
    }
    *value = Config::Of(std::move(settings));
  }
  void Read(const char* name, const Json& json, AxisValue* value) {
    Take(name, ParseValue(json), "an integer of 64 bits, a number, a boolean or a string", value);
  }
  template <typename T>
  void Read(const char* name, const Json& json, std::optional<T>* value) {
    if (!json.is_null()) Read(name, json, &value->emplace());
  }
  template <typename T>
  void Read(const char* name, const Json& json, std::vector<T>* values) {
    if (!json.is_array()) return Fail(name, "must be an array");
    for (const Json& each : json) {
      if (!status_.ok()) return;
      const std::size_t index = values->size();
      ReadStruct(each, name, index, &values->emplace_back());
    }
  }
  template <typename T>
  void Read(const char* name, const Json& json, T* value) {
    if constexpr (std::is_enum_v<T>) {
      std::optional<T> known = json.is_string() ? FromWord<T>(json.get<std::string>()) : std::nullopt;
      Take(name, known, absl::StrCat("one of ", Words<T>()).c_str(), value);
    } else {
      ReadStruct(json, name, std::nullopt, value);
    }
  }
  template <typename T>
  void ReadStruct(const Json& json, const char* name, std::optional<std::size_t> index, T* value) {
    FieldReader reader(json, this, name, index);
    VisitFields(reader, *value);
    status_ = reader.Finish();
  }
  template <typename Enum>
  static std::string Words() {
    return absl::StrJoin(StoredValues(Enum()), ", ",
                         [](std::string* out, const auto& each) { out->append(each.word); });
  }

  const Json& json_;
  const FieldReader* const parent_;  // Null: of a record.
  const char* const name_;
  const std::optional<std::size_t> index_;
  Json::const_iterator next_;
  std::vector<std::string_view> known_;  // Of literals.
  Status status_;
};

/// The records of a file, each taken when it has been parsed, and forgotten as JSON: a fleet's file has gigabytes of
/// it. Records that stand before their version wait for it.
class RecordsReader {
 public:
  /// As nlohmann's parser calls it. False: the parser drops the value.
  bool Take(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    // What lies deeper is not built: copies and printing of a value recurse, as deep as it is.
    is_too_deep_ |= depth > kMaxDepth;
    if (depth > kMaxDepth) return false;
    if (event == Event::key && depth == 1) key_ = parsed.get<std::string>();
    if (event == Event::value && depth == 1 && key_ == "version") version_ = parsed;
    const bool is_whole = event == Event::value || event == Event::object_end || event == Event::array_end;
    if (!is_whole || depth != 2 || key_ != "records" || !IsKnown(version_)) return true;
    Add(parsed);
    return false;
  }

  /// Returns the records that were read. `json` is the file's content without the records, which Add has taken out.
  Result<std::vector<TuningRecord>> Finish(const Json& json) {
    if (is_too_deep_) return InvalidArgumentError(absl::StrCat("the JSON is nested deeper than ", kMaxDepth));
    if (json.is_discarded()) return InvalidArgumentError("the file is not JSON");
    if (!json.is_object() || json.value("format", Json()) != kRecordsFormat) {
      return InvalidArgumentError(
          absl::StrCat("the file is not a file of records: \"format\" must be \"", kRecordsFormat, "\""));
    }
    version_ = json.value("version", Json());
    if (!IsKnown(version_)) {
      bool is_older = version_.is_number_integer() && version_ < kRecordsVersion;
      return InvalidArgumentError(
          absl::StrCat("\"version\" is ", version_.dump(), ", but this program reads version ", kRecordsVersion,
                       is_older ? ": tune again, and export the new records" : ": update tuneonce"));
    }
    auto list = json.find("records");
    if (list == json.end() || !list->is_array()) return InvalidArgumentError("\"records\" must be an array");
    for (const Json& each : *list) Add(each);
    TUNEONCE_RETURN_IF_ERROR(status_);
    return std::move(records_);
  }

 private:
  static bool IsKnown(const Json& version) { return version.is_number_integer() && version == kRecordsVersion; }

  void Add(const Json& json) {
    if (!status_.ok()) return;
    FieldReader reader(json, records_.size());
    VisitFields(reader, records_.emplace_back());
    status_ = reader.Finish();
  }

  std::string key_;  // The file's own member that is being parsed.
  Json version_;
  std::vector<TuningRecord> records_;
  Status status_;
  bool is_too_deep_ = false;
};

}  // namespace

Result<std::vector<TuningRecord>> RecordsFromJson(const std::string& text) {
  RecordsReader reader;
  auto take = [&](int depth, Json::parse_event_t event, Json& parsed) { return reader.Take(depth, event, parsed); };
  const Json json = Json::parse(text, take, /*allow_exceptions=*/false);
  return reader.Finish(json);
}

}  // namespace v0
}  // namespace tuneonce
