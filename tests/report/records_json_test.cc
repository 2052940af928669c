#include "report/records_json.h"

#include <nlohmann/json.hpp>

#include "testing/device_test.h"
#include "testing/record_changes.h"

namespace tuneonce {
namespace {

TEST(RecordsJsonTest, EveryFieldComesBack) {
  for (const testing::RecordChange& change : testing::RecordChanges()) {
    TuningRecord record;
    change.apply(record);
    Result<std::vector<TuningRecord>> again = RecordsFromJson(RecordsToJson({record}));
    ASSERT_TRUE(again.ok()) << change.what << ": " << again.status().ToString();
    ASSERT_EQ(again->size(), 1u);
    EXPECT_EQ(EncodeRecord(again->front()), EncodeRecord(record)) << change.what;
  }
}

TEST(RecordsJsonTest, WhatIsWrongIsSaidWithItsPlace) {
  TuningRecord record;
  record.best.config = Config::Of({{"TILE", AxisKind::kStructural, std::int64_t{64}}});
  record.candidates.resize(2);
  const nlohmann::json good = nlohmann::json::parse(RecordsToJson({record}));
  struct Case {
    const char* pointer;
    nlohmann::json value;
    const char* message;
  };
  const Case cases[] = {
      {"/version", 1, "\"version\" is 1, but this program reads version 7: tune again"},
      {"/version", 8, "\"version\" is 8, but this program reads version 7"},
      {"/records/0", 5, "record 0 must be an object"},
      {"/records/0/num_sms", 1e12, "record 0: field 'num_sms' must be an integer"},
      {"/records/0/num_sms", std::int64_t{1} << 40, "record 0: field 'num_sms' must be an integer of 32 bits"},
      {"/records/0/unix_seconds", ~std::uint64_t{0}, "record 0: field 'unix_seconds' must be an integer of 64 bits"},
      {"/records/0/fencing_token", -1, "record 0: field 'fencing_token' must be an integer of 0 or more"},
      {"/records/0/inputs", "guessed", "record 0: field 'inputs' must be one of unknown, caller, repeated, fill"},
      {"/records/0/best/config", "TILE=64", "record 0, best: field 'config' must be an array of axes"},
      {"/records/0/best/config/0/kind", "soft",
       "record 0, best, config 0: field 'kind' must be one of structural, hint"},
      {"/records/0/best/config/0/value", nullptr,
       "record 0, best, config 0: field 'value' must be an integer of 64 bits, a"},
      {"/records/0/best/config/0/value", {{"bytes", "0g"}}, "record 0, best, config 0: field 'value' must be"},
      {"/records/0/candidates/1/outcome", "won", "record 0, candidates 1: field 'outcome' must be one of measured"},
      {"/records/0/candidates/1/colour", "red", "record 0, candidates 1: field 'colour' is unknown"},
      {"/records/0/best/artifact", "12", "record 0, best: field 'artifact' must be a string of 32 hexadecimal digits"},
      {"/records/0/conditions/mig_profile", 1, "record 0, conditions: field 'mig_profile' must be a string"},
  };
  for (const Case& c : cases) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(c.pointer)] = c.value;
    EXPECT_ERROR(RecordsFromJson(bad.dump()), StatusCode::kInvalidArgument, c.message);
  }
}

TEST(RecordsJsonTest, AFileOfAnotherVersionOrWithoutAFieldIsRefused) {
  TuningRecord record;
  record.key.kernel = "scale";
  nlohmann::json file = nlohmann::json::parse(RecordsToJson({record}));
  file["version"] = 3;
  EXPECT_ERROR(RecordsFromJson(file.dump()), StatusCode::kInvalidArgument, "this program reads version 7: tune again");
  file["version"] = 8;
  EXPECT_ERROR(RecordsFromJson(file.dump()), StatusCode::kInvalidArgument, "this program reads version 7");
  file["version"] = 7;
  file["records"][0].erase("verification");
  EXPECT_ERROR(RecordsFromJson(file.dump()), StatusCode::kInvalidArgument, "record 0: field 'verification' is missing");
}

TEST(RecordsJsonTest, WhatIsNestedDeepIsRefusedBeforeItIsBuilt) {
  for (const char* where : {"", "{\"format\": \"tuneonce-records\", \"version\": "}) {
    std::string deep = where + std::string(1000000, '[');
    EXPECT_ERROR(RecordsFromJson(deep), StatusCode::kInvalidArgument, "nested deeper than");
    deep += std::string(1000000, ']') + (*where == '\0' ? "" : "}");
    EXPECT_ERROR(RecordsFromJson(deep), StatusCode::kInvalidArgument, "nested deeper than");
  }
}

}  // namespace
}  // namespace tuneonce
