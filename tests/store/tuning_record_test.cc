// A record as bytes: every field comes back, and what is no record of a known format is refused.
#include "tuneonce/tuning_record.h"

#include <set>

#include "base/encoding.h"
#include "store/stored_enums.h"
#include "testing/device_test.h"
#include "testing/record_changes.h"

namespace tuneonce {
namespace {

TEST(TuningRecordTest, EveryFieldComesBack) {
  std::set<std::string> all;
  std::vector<testing::RecordChange> changes = testing::RecordChanges();
  for (const testing::RecordChange& change : changes) {
    TuningRecord record;
    change.apply(record);
    std::string bytes = EncodeRecord(record);
    all.insert(bytes);
    Result<TuningRecord> again = DecodeRecord(bytes);
    ASSERT_OK(again);
    EXPECT_EQ(EncodeRecord(*again), bytes) << change.what;
  }
  // Two changes are none: the enums' first values, kUnknown.
  EXPECT_EQ(all.size(), changes.size() - 1) << "a field is not written: two records have the same bytes";
}

TEST(TuningRecordTest, ANewerFormatIsSaidToBeNewerAndAnOlderOneToBeOlder) {
  std::string of_format_1 = WithChecksum(Encoder().U64(0x74756e6572310001).Take());
  std::string of_format_9 = WithChecksum(Encoder().U64(0x74756e6572310009).Take());
  std::string of_nobody = WithChecksum(Encoder().U64(1).Take());
  EXPECT_ERROR(DecodeRecord(of_format_1), StatusCode::kInvalidArgument, "format 1, but this tuneonce reads 7: tune");
  EXPECT_ERROR(DecodeRecord(of_format_9), StatusCode::kInvalidArgument, "format 9, but this tuneonce reads 7: update");
  EXPECT_ERROR(DecodeRecord(of_nobody), StatusCode::kInvalidArgument, "was not written by tuneonce");
}

template <typename Enum>
void CheckTable() {
  std::set<std::uint64_t> numbers;
  std::set<std::string_view> words;
  for (const auto& each : StoredValues(Enum())) {
    EXPECT_TRUE(numbers.insert(each.number).second) << each.word;
    EXPECT_TRUE(words.insert(each.word).second) << each.word;
    EXPECT_EQ(FromNumber<Enum>(each.number), each.value);
    EXPECT_EQ(FromWord<Enum>(each.word), each.value);
  }
  EXPECT_FALSE(FromNumber<Enum>(12345).has_value());
  EXPECT_FALSE(FromWord<Enum>("nothing").has_value());
}

TEST(StoredEnumsTest, ANumberAndAWordMeanOneValue) {
  CheckTable<AxisKind>();
  CheckTable<TunedInputs>();
  CheckTable<SelectionReason>();
  CheckTable<OutcomeKind>();
}

}  // namespace
}  // namespace tuneonce
