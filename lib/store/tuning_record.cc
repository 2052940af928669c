#include "tuneonce/tuning_record.h"

#include "absl/strings/str_cat.h"
#include "base/encoding.h"
#include "store/record_fields.h"
#include "store/stored_enums.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {

bool TuningKey::SameDevice(const TuningKey& other) const {
  return device_name == other.device_name && capability == other.capability && num_sms == other.num_sms;
}

bool TuningKey::SameKernel(const TuningKey& other) const {
  return kernel_fingerprint == other.kernel_fingerprint && key_words == other.key_words;
}

bool TuningKey::IsOtherSource(const TuningKey& other) const {
  return kernel == other.kernel && key_words == other.key_words && !(kernel_fingerprint == other.kernel_fingerprint);
}
namespace {

/// Every format begins with this word: "tuner1", with the format's number in the last 16 bits.
constexpr std::uint64_t kMark = 0x74756e6572310000;
constexpr std::uint64_t kFormatBits = 0xffff;
/// Records of other formats are refused: before the first release no format is read but the current one.
constexpr std::uint64_t kFormat = 4;

class FieldEncoder {
 public:
  template <typename T>
  void operator()(const char* /*name*/, const T& value) {
    Add(value);
  }
  std::string Finish() { return encoder_.Finish(); }
  void Add(std::uint64_t value) { encoder_.Add(value); }

 private:
  void Add(std::int64_t value) { encoder_.Add(value); }
  void Add(int value) { encoder_.Add(value); }
  void Add(bool value) { encoder_.Add(std::uint64_t{value ? 1u : 0u}); }
  void Add(double value) { encoder_.Add(value); }
  void Add(const std::string& value) { encoder_.Add(std::string_view(value)); }
  void Add(const Fingerprint& value) { encoder_.Add(value); }
  void Add(const Config& value) { encoder_.Add(std::string_view(value.Canonical())); }
  template <typename T>
  void Add(const std::optional<T>& value) {
    Add(value.has_value());
    if (value) Add(*value);
  }
  template <typename T>
  void Add(const std::vector<T>& values) {
    encoder_.Add(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) Add(value);
  }
  /// An enum, or a struct of fields.
  template <typename T>
  void Add(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      encoder_.Add(FindStored(value)->number);
    } else {
      VisitFields(*this, value);
    }
  }

  Encoder encoder_;
};

class FieldDecoder {
 public:
  explicit FieldDecoder(Decoder* decoder) : decoder_(*decoder) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    bool was_ok = ok_;
    Read(&value);
    if (was_ok && !ok_ && bad_field_.empty()) bad_field_ = name;
  }
  bool ok() const { return ok_; }
  const std::string& bad_field() const { return bad_field_; }

 private:
  void Read(std::uint64_t* value) { *value = decoder_.Word(); }
  void Read(std::int64_t* value) { *value = decoder_.Int(); }
  void Read(int* value) { *value = static_cast<int>(decoder_.Int()); }
  void Read(bool* value) {
    std::uint64_t word = decoder_.Word();
    *value = word == 1;
    ok_ = ok_ && word <= 1;
  }
  void Read(double* value) { *value = decoder_.Double(); }
  void Read(std::string* value) { *value = decoder_.Text(); }
  void Read(Fingerprint* value) { *value = decoder_.ReadFingerprint(); }
  void Read(Config* value) {
    Result<Config> config = Config::FromCanonical(decoder_.Text(), first_config_);
    ok_ = ok_ && config.ok();
    if (!config.ok()) return;
    if (first_config_.values().empty()) first_config_ = *config;
    *value = *std::move(config);
  }
  template <typename T>
  void Read(std::optional<T>* value) {
    bool has_value = false;
    Read(&has_value);
    if (has_value) Read(&value->emplace());
  }
  template <typename T>
  void Read(std::vector<T>* values) {
    for (std::uint64_t left = decoder_.Word(); left > 0 && ok_ && decoder_.remaining() > 0; --left) {
      Read(&values->emplace_back());
    }
  }
  /// An enum, or a struct of fields.
  template <typename T>
  void Read(T* value) {
    if constexpr (std::is_enum_v<T>) {
      std::optional<T> known = FromNumber<T>(decoder_.Word());
      ok_ = ok_ && known.has_value();
      if (known) *value = *known;
    } else {
      VisitFields(*this, *value);
    }
  }

  Decoder& decoder_;
  bool ok_ = true;
  std::string bad_field_;
  Config first_config_;  // The others of a record have the same axes.
};

}  // namespace

std::string EncodeRecord(const TuningRecord& record) {
  FieldEncoder fields;
  fields.Add(kMark | kFormat);
  VisitFields(fields, record);
  return fields.Finish();
}

Result<TuningRecord> DecodeRecord(std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(Decoder decoder, Decoder::Open(bytes, "a stored record"));
  std::uint64_t mark = decoder.Word();
  if ((mark & ~kFormatBits) != kMark) return InvalidArgumentError("a stored record was not written by tuneonce");
  const std::uint64_t format = mark & kFormatBits;
  if (format != kFormat) {
    return InvalidArgumentError(absl::StrCat("a stored record has format ", format, ", but this tuneonce reads ",
                                             kFormat, format > kFormat ? ": update tuneonce" : ": tune its key again"));
  }
  TuningRecord record;
  FieldDecoder fields(&decoder);
  VisitFields(fields, record);
  if (!fields.ok()) {
    return InvalidArgumentError(absl::StrCat("a stored record's field '", fields.bad_field(), "' is not well formed"));
  }
  if (!decoder.Ended()) return InvalidArgumentError("a stored record is not well formed");
  return record;
}

}  // namespace v0
}  // namespace tuneonce
