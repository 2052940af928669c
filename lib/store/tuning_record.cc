#include "tuneonce/store/tuning_record.h"

#include "base/encoding.h"

namespace tuneonce {
namespace {

constexpr std::uint64_t kVersion = 0x74756e6572310001;  // "tuner1", format 1.

}  // namespace

std::string EncodeRecord(const TuningRecord& record) {
  auto text = [](const std::string& value) { return std::string_view(value); };
  Encoder encoder;
  const TuningKey& key = record.key;
  encoder.Add(kVersion).Add(text(key.kernel)).Add(key.kernel_fingerprint);
  encoder.Add(static_cast<std::uint64_t>(key.key_words.size()));
  for (std::uint64_t word : key.key_words) encoder.Add(word);
  encoder.Add(text(key.key_text)).Add(text(key.device_name)).Add(key.capability).Add(key.num_sms);
  encoder.Add(key.driver_version);
  const Measurement& m = record.measurement;
  encoder.Add(text(record.config)).Add(text(record.variant)).Add(m.mean_us).Add(m.error_margin_us.value_or(-1));
  encoder.Add(m.num_samples).Add(m.std_us).Add(m.median_us).Add(m.min_us).Add(m.max_us);
  encoder.Add(record.speedup_over_baseline.value_or(-1))
      .Add(record.artifact)
      .Add(text(record.tuned_at))
      .Add(text(record.baseline));
  encoder.Add(text(record.timer)).Add(record.is_certain ? 1 : 0).Add(text(record.host)).Add(text(record.toolchain));
  encoder.Add(record.unix_seconds);
  return encoder.Finish();
}

Result<TuningRecord> DecodeRecord(std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(Decoder decoder, Decoder::Open(bytes, "a stored record"));
  if (decoder.Word() != kVersion) return InvalidArgumentError("a stored record is of another version");
  auto optional = [&]() -> std::optional<double> {
    double value = decoder.Double();
    return value < 0 ? std::nullopt : std::optional<double>(value);
  };
  TuningRecord record;
  TuningKey& key = record.key;
  key.kernel = decoder.Text();
  key.kernel_fingerprint = decoder.ReadFingerprint();
  std::uint64_t num_words = decoder.Word();
  for (std::uint64_t i = 0; i < num_words && decoder.remaining() > 0; ++i) key.key_words.push_back(decoder.Word());
  key.key_text = decoder.Text();
  key.device_name = decoder.Text();
  key.capability = static_cast<int>(decoder.Int());
  key.num_sms = static_cast<int>(decoder.Int());
  key.driver_version = static_cast<int>(decoder.Int());
  record.config = decoder.Text();
  record.variant = decoder.Text();
  Measurement& m = record.measurement;
  m.mean_us = decoder.Double();
  m.error_margin_us = optional();
  m.num_samples = static_cast<int>(decoder.Int());
  m.std_us = decoder.Double();
  m.median_us = decoder.Double();
  m.min_us = decoder.Double();
  m.max_us = decoder.Double();
  record.speedup_over_baseline = optional();
  record.artifact = decoder.ReadFingerprint();
  record.tuned_at = decoder.Text();
  record.baseline = decoder.Text();
  record.timer = decoder.Text();
  record.is_certain = decoder.Word() != 0;
  record.host = decoder.Text();
  record.toolchain = decoder.Text();
  record.unix_seconds = decoder.Int();
  if (!decoder.Ended()) return InvalidArgumentError("a stored record is not well formed");
  return record;
}

}  // namespace tuneonce
