#include "store/record_list.h"

#include <utility>

#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint64_t kVersion = 0x74756e656f330001;  // "tuneo3", format 1.

}  // namespace

std::string EncodeRecords(const std::vector<TuningRecord>& records) {
  Encoder encoder;
  encoder.Add(kVersion).Add(static_cast<std::uint64_t>(records.size()));
  for (const TuningRecord& record : records) encoder.Add(std::string_view(EncodeRecord(record)));
  return encoder.Finish();
}

Result<std::vector<TuningRecord>> DecodeRecords(std::string_view bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(Decoder decoder, Decoder::Open(bytes, "a list of shipped decisions"));
  if (decoder.Word() != kVersion) return InvalidArgumentError("a list of shipped decisions is of another version");
  std::vector<TuningRecord> records;
  std::uint64_t count = decoder.Word();
  for (std::uint64_t i = 0; i < count && decoder.remaining() > 0; ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(TuningRecord record, DecodeRecord(decoder.Text()));
    records.push_back(std::move(record));
  }
  if (!decoder.Ended() || records.size() != count) {
    return InvalidArgumentError("a list of shipped decisions is not well formed");
  }
  return records;
}

}  // namespace v0
}  // namespace tuneonce
