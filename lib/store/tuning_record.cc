#include "tuneonce/tuning_record.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/field_codec.h"
#include "store/record_fields.h"
#include "store/stored_enums.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

template <typename IsWanted>
std::vector<CandidateOutcome> CandidatesOf(const TuningRecord& record, const IsWanted& is_wanted) {
  std::vector<CandidateOutcome> wanted;
  std::copy_if(record.candidates.begin(), record.candidates.end(), std::back_inserter(wanted),
               [&](const CandidateOutcome& candidate) { return is_wanted(candidate.kind); });
  return wanted;
}

/// Prints a count as people do: "17,956".
std::string WithSeparators(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

}  // namespace

bool TuningKey::SameDevice(const TuningKey& other) const {
  return device_name == other.device_name && capability == other.capability && num_sms == other.num_sms;
}

bool TuningKey::SameKernel(const TuningKey& other) const {
  return kernel_fingerprint == other.kernel_fingerprint && key_words == other.key_words;
}

bool TuningKey::IsOtherSource(const TuningKey& other) const {
  return kernel == other.kernel && key_words == other.key_words && !(kernel_fingerprint == other.kernel_fingerprint);
}

std::vector<CandidateOutcome> TuningRecord::successes() const {
  return CandidatesOf(*this, [](OutcomeKind kind) { return kind == OutcomeKind::kMeasured; });
}

std::vector<CandidateOutcome> TuningRecord::failures() const { return CandidatesOf(*this, IsFailure); }

std::vector<CandidateOutcome> TuningRecord::duplicates() const {
  return CandidatesOf(*this, [](OutcomeKind kind) { return kind == OutcomeKind::kDuplicate; });
}

std::vector<CandidateOutcome> TuningRecord::not_measured() const {
  return CandidatesOf(*this, [](OutcomeKind kind) { return kind == OutcomeKind::kNotMeasured; });
}

std::string TuningRecord::SearchedText() const {
  const auto is_tried = [](const CandidateOutcome& candidate) { return candidate.kind != OutcomeKind::kNotMeasured; };
  const std::int64_t tried =
      candidates.empty() ? num_tried : std::count_if(candidates.begin(), candidates.end(), is_tried);
  if (num_not_measured == 0) return absl::StrCat("searched all ", WithSeparators(tried));
  return absl::StrCat("searched ", WithSeparators(tried), " of ", WithSeparators(tried + num_not_measured));
}

namespace {

/// Every format begins with this word: "tuner1", with the format's number in the last 16 bits.
constexpr std::uint64_t kMark = 0x74756e6572310000;
constexpr std::uint64_t kFormatBits = 0xffff;
constexpr EncodedWhat kRecord{"a stored record", StatusCode::kInvalidArgument};

class RecordEncoder final : public FieldEncoder<RecordEncoder> {
 public:
  template <typename T>
  void operator()(const char* /*name*/, const T& value) {
    Add(value);
  }
  using FieldEncoder::Add;
  void Add(const Config& value) { encoder().Bytes(value.Canonical()); }
  template <typename T>
  void Other(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      encoder().U64(FindStored(value)->number);
    } else {
      VisitFields(*this, value);
    }
  }
};

class RecordDecoder final : public FieldDecoder<RecordDecoder> {
 public:
  using FieldDecoder::FieldDecoder;
  template <typename T>
  void operator()(const char* name, T& value) {
    bool was_ok = decoder().ok();
    Read(value);
    if (was_ok && !decoder().ok() && bad_field_.empty()) bad_field_ = name;
  }
  /// The first field that was missing or invalid. Empty if none was.
  const std::string& bad_field() const { return bad_field_; }

  using FieldDecoder::Read;
  void Read(Config& value) {
    Result<Config> config = Config::FromCanonical(decoder().Bytes(), first_config_);
    if (!config.ok()) return decoder().Refuse(config.status().message());
    if (first_config_.values().empty()) first_config_ = *config;
    value = *std::move(config);
  }
  template <typename T>
  void Other(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::optional<T> known = FromNumber<T>(decoder().U64());
      if (!known) return decoder().Refuse("a value is unknown");
      value = *known;
    } else {
      VisitFields(*this, value);
    }
  }

 private:
  std::string bad_field_;
  Config first_config_;  // The others of a record have the same axes.
};

}  // namespace

std::string EncodeRecord(const TuningRecord& record) {
  RecordEncoder fields;
  fields.encoder().U64(kMark | kRecordFormat);
  VisitFields(fields, record);
  return WithChecksum(fields.encoder().Take());
}

Result<TuningRecord> DecodeRecord(std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, WithoutChecksum(bytes, kRecord));
  RecordDecoder fields(body, kRecord);
  std::uint64_t mark = fields.decoder().U64();
  if ((mark & ~kFormatBits) != kMark) return InvalidArgumentError("a stored record was not written by tuneonce");
  const std::uint64_t format = mark & kFormatBits;
  if (format != kRecordFormat) {
    return InvalidArgumentError(absl::StrCat("a stored record has format ", format, ", but this tuneonce reads ",
                                             kRecordFormat,
                                             format > kRecordFormat ? ": update tuneonce" : ": tune its key again"));
  }
  TuningRecord record;
  VisitFields(fields, record);
  if (!fields.decoder().ok()) {
    return InvalidArgumentError(absl::StrCat("a stored record's field '", fields.bad_field(), "' is not well formed"));
  }
  TUNEONCE_RETURN_IF_ERROR(fields.decoder().Done());
  return record;
}

}  // namespace v0
}  // namespace tuneonce
