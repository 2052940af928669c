// `tuneonce records`: what was tuned, listed, exported, imported, pruned; and files that are not ours.
#include <sqlite3.h>

#include <limits>

#include "base/file.h"
#include "cli/records_fixture.h"

namespace tuneonce {
namespace {

TEST_F(RecordsTest, AShapeOfABucketIsTunedAtItsBoundAndServesTheOthersOfIt) {
  ASSERT_TRUE(folder_
                  .WriteFile("fill.cc", R"(
static void fill(const tuneonce_block&, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 1; }
TUNEONCE_CPU_KERNEL(fill);)")
                  .ok());
  ASSERT_TRUE(folder_
                  .WriteFile("manifest.json",
                             R"({"tuneonce_bundle": 1, "name": "fill", "version": "1", "dims": ["N"], "parameters": [
{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]}, {"kind": "dim", "dim": "N"}],
"key": [{"dim": "N", "buckets": [100, 1000]}],
"axes": [], "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "fill",
"grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "fill.cc"}]}]})")
                  .ok());
  for (const char* shape : {"N=300", "N=101", "N=1000"}) {
    ProcessResult tuned = RunCli({"tune", folder_.path(), "--device", "cpu", "--shape", shape, "--store", store_});
    ASSERT_EQ(tuned.exit_code, 0) << tuned.output;
  }
  nlohmann::json records = Json({"records", "list", "--store", store_})["records"];
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["tuned_at"], "N=1000");
  EXPECT_EQ(records[0]["key"], "N<=1000, y:float32");
}

TEST_F(RecordsTest, WhatIsTunedCanBeListedExportedImportedAndPruned) {
  TuneInto(store_);
  nlohmann::json list = Json({"records", "list", "--store", store_});
  ASSERT_EQ(list["records"].size(), 1u);
  nlohmann::json record = list["records"][0];
  EXPECT_EQ(record["kernel"], "vector_add");
  EXPECT_EQ(record["tuned_at"], "N=8192") << "the bound of its bucket";
  EXPECT_GT(record["best"]["mean_us"].get<double>(), 0);
  EXPECT_NE(RunCli({"records", "list", "--store", store_}).output.find("1 records in "), std::string::npos);
  EXPECT_NE(RunCli({"records", "show", "vector_add", "--store", store_}).output.find("kernel_fingerprint"),
            std::string::npos);
  EXPECT_EQ(Json({"records", "export", "-o", file_, "--store", store_})["exported"], 1);
  EXPECT_EQ(Json({"records", "import", file_, "--device", "cpu", "--store", other_})["imported"], 1);
  EXPECT_EQ(Json({"records", "import", file_, "--device", "cpu", "--store", other_})["kept"], 1);
  EXPECT_EQ(Json({"records", "import", file_, "--replace", "--store", other_})["imported"], 1);
  EXPECT_EQ(Json({"records", "list", "--store", other_}), list) << "nothing is lost on the way";
  nlohmann::json verified = Json({"records", "verify", "--store", store_});
  EXPECT_EQ(verified["records"], 1);
  EXPECT_GT(verified["artifacts"], 1) << "the code of all candidates";
  EXPECT_EQ(Json({"records", "prune", "--older-than-days", "1", "--store", other_})["removed"], 0);
  EXPECT_EQ(Json({"records", "prune", "--kernel", "vector_add", "--store", other_})["removed"], 1);
  EXPECT_TRUE(Json({"records", "list", "--store", other_})["records"].empty());
}

TEST_F(RecordsTest, LookingAtAFileChangesNothing) {
  std::string notes = folder_.path() + "/notes.txt";
  ASSERT_TRUE(WriteFile(notes, "precious").ok());
  const std::vector<std::string> before = NamesIn(folder_.path());
  for (const char* command : {"list", "verify"}) {
    ExpectOneLineError({"records", command, "--store", notes}, "notes.txt is not a tuneonce store");
  }
  ExpectOneLineError({"records", "list", "--store", folder_.path() + "/none.db"}, "no store at ");
  EXPECT_EQ(NamesIn(folder_.path()), before);
  EXPECT_EQ(*ReadFile(notes), "precious");
}

TEST_F(RecordsTest, WrongFilesAndRequestsAreOneClearLine) {
  TuneInto(store_);
  Json({"records", "export", "-o", file_, "--store", store_});
  nlohmann::json good = nlohmann::json::parse(*ReadFile(file_));
  auto import = [&](const nlohmann::json& json) {
    EXPECT_TRUE(WriteFile(file_, json.dump()).ok());
    return std::vector<std::string>{"records", "import", file_, "--device", "cpu", "--store", other_};
  };
  nlohmann::json bad = good;
  bad["version"] = 8;
  ExpectOneLineError(import(bad), "\"version\" is 8, but this program reads version 7");
  bad = good;
  bad["format"] = "other";
  ExpectOneLineError(import(bad), "the file is not a file of records");
  bad = good;
  bad["records"][0]["best"].erase("config");
  ExpectOneLineError(import(bad), "record 0, best: field 'config' is missing");
  bad = good;
  bad["records"][0]["best"]["mean_us"] = "fast";
  ExpectOneLineError(import(bad), "record 0, best: field 'mean_us' must be a number");
  bad = good;
  bad["records"][0]["colour"] = "red";
  ExpectOneLineError(import(bad), "record 0: field 'colour' is unknown");
  bad = good;
  bad["records"][0]["key_words"][0] = "xyz";
  ExpectOneLineError(import(bad), "'key_words' must hold strings of 16 hexadecimal digits");
  bad = good;
  bad["records"][0]["device"] = "H200";
  ExpectOneLineError(import(bad), "is of device 'H200'");
  EXPECT_TRUE(WriteFile(file_, "{").ok());
  ExpectOneLineError({"records", "import", file_, "--store", other_}, "the file is not JSON");
  ExpectOneLineError({"records", "import", folder_.path() + "/none.json", "--store", other_}, "none.json");
  const std::vector<std::pair<const char*, const char*>> of_selections = {
      {"--bundle", "nosuch"}, {"--axis", "A=B"},  {"--dim", "A=B"}, {"--value", "A=B"},
      {"--shape", "A=1"},     {"--dtype", "a=b"}, {"--ignore", "A"}};
  for (const auto& [option, value] : of_selections) {
    ExpectOneLineError({"records", "import", file_, option, value, "--store", other_},
                       std::string(option) + " needs --selections or --from");
  }
  ExpectOneLineError({"records", "import", file_, "--any-device", "--store", other_},
                     "--any-device needs --selections or --from");
  ExpectOneLineError({"records", "import", file_, "--operation", "x", "--store", other_}, "--operation needs --from");
  ExpectOneLineError({"records", "import", "--selections", file_, "--with-code", "--store", other_},
                     "--with-code applies to files of records, because selections have no code");
  ExpectOneLineError({"records", "show", "nothing", "--store", store_}, "which has records of: vector_add");
  ExpectOneLineError({"records", "prune", "--store", store_}, "prune needs --kernel");
  const std::string missing = store_ + ".missing";
  ExpectOneLineError({"records", "prune", "--kernel", "vector_add", "--store", missing}, "no store at " + missing);
  EXPECT_FALSE(IsRegularFile(missing));
  ExpectOneLineError({"records", "list", "--store", "/proc/nowhere/store.db"}, "/proc/nowhere");
  ExpectOneLineError({"records", "list"}, "set TUNEONCE_STORE, XDG_CACHE_HOME or HOME");
}

TEST_F(RecordsTest, ARecordThatCannotBeKeptIsAnErrorOfTheCommandThatWasToKeepIt) {
  TuneInto(store_);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(store_.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(FAIL, 'full'); END",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  ProcessResult result =
      RunCli({"tune", "vector_add", "--device", "cpu", "--shape", "N=5001", "--json", "--retune", "--store", store_});
  EXPECT_EQ(result.exit_code, 1) << result.output;
}

TEST_F(RecordsTest, NumbersOutOfRangeAndNestingWithoutEndAreOneClearLine) {
  TuneInto(store_);
  Json({"records", "export", "-o", file_, "--store", store_});
  nlohmann::json good = nlohmann::json::parse(*ReadFile(file_));
  auto expect = [&](const std::string& text, const char* part) {
    ASSERT_TRUE(WriteFile(file_, text).ok());
    ExpectOneLineError({"records", "import", file_, "--store", other_}, part);
  };
  for (const char* field : {"/capability", "/num_sms", "/driver_version", "/best/num_samples"}) {
    nlohmann::json bad = good;
    bad["records"][0][nlohmann::json::json_pointer(field)] = std::int64_t{1} << 40;
    expect(bad.dump(), "must be an integer of 32 bits");
  }
  nlohmann::json bad = good;
  bad["records"][0]["unix_seconds"] = ~std::uint64_t{0};
  expect(bad.dump(), "must be an integer of 64 bits");
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  for (const char* field : {"format", "version", "records"}) {
    bad = {{"format", "tuneonce-records"}, {"version", 1}, {"records", nlohmann::json::array()}};
    bad[field] = "DEEP";
    std::string text = bad.dump();
    text.replace(text.find("\"DEEP\""), 6, deep);
    expect(text, "nested deeper than");
  }
  expect(deep, "nested deeper than");
  expect(std::string(100000, '['), "nested deeper than");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  expect(objects + "1" + std::string(100000, '}'), "nested deeper than");
}

TEST_F(RecordsTest, AnyTimeOfARecordCanBeListedAndPruned) {
  TuneInto(store_);
  Json({"records", "export", "-o", file_, "--store", store_});
  nlohmann::json file = nlohmann::json::parse(*ReadFile(file_));
  for (std::int64_t time :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    file["records"][0]["unix_seconds"] = time;
    ASSERT_TRUE(WriteFile(file_, file.dump()).ok());
    Json({"records", "import", file_, "--replace", "--store", other_, "--device", "cpu"});
    EXPECT_EQ(RunCli({"records", "list", "--store", other_}).exit_code, 0) << time;
    std::int64_t day_0 = time == 0 ? 1 : 0, year_0 = time < 0 ? 1 : 0;  // 2^31 days are 5.9 million years.
    EXPECT_EQ(Json({"records", "prune", "--older-than-days", "2147483647", "--store", other_})["removed"], year_0);
    EXPECT_EQ(Json({"records", "prune", "--older-than-days", "1", "--store", other_})["removed"], day_0);
  }
}

TEST_F(RecordsTest, WhatAnImportedRecordSaysDoesNothingToTheTerminal) {
  TuneInto(store_);
  Json({"records", "export", "-o", file_, "--store", store_});
  nlohmann::json file = nlohmann::json::parse(*ReadFile(file_));
  const std::string hostile =
      "a\x1b[2J\x1b]0;title\x07\nforged line\xc2\x9b"
      "1m\xe2\x80\xae"
      "z";
  nlohmann::json& record = file["records"][0];
  for (const char* field : {"kernel", "key", "tuned_at", "timer", "host"}) record[field] = hostile;
  for (const char* field : {"variant", "toolchain"}) record["best"][field] = hostile;
  record["best"]["config"] = {{{"axis", hostile}, {"kind", "structural"}, {"value", hostile}}};
  record["candidates"][0]["message"] = hostile;
  ASSERT_TRUE(WriteFile(file_, file.dump()).ok());
  Json({"records", "import", file_, "--device", "cpu", "--store", other_});
  for (std::vector<std::string> command : {std::vector<std::string>{"records", "list", "--store", other_},
                                           {"records", "show", hostile, "--store", other_},
                                           {"records", "show", "other", "--store", other_},
                                           {"records", "import", file_, "--device", "cpu", "--store", other_},
                                           {"records", "list", "--json", "--store", other_},
                                           {"tune", hostile},
                                           {hostile},
                                           {"records", "prune", "--" + hostile}}) {
    std::string output = RunCli(command).output;
    EXPECT_EQ(output.find_first_of("\x1b\x07\x9b\r"), std::string::npos) << command[1] << ": " << output;
    EXPECT_EQ(output.find("\nforged line"), std::string::npos) << output;
    EXPECT_EQ(output.find("\xe2\x80\xae"), std::string::npos) << output;
  }
  EXPECT_EQ(Json({"records", "list", "--store", other_})["records"][0]["kernel"], hostile) << "JSON is exact";
  EXPECT_EQ(Json({"records", "prune", "--kernel", hostile, "--store", other_})["removed"], 1);
}

TEST_F(RecordsTest, RecordsHintsAndCubinsNeedNoDriver) {
  TuneInto(store_);
  const char* none = "TUNEONCE_CUDA_DRIVER=/no/libcuda.so";
  const std::vector<std::vector<std::string>> commands = {
      {"records", "list", "--store", store_},
      {"records", "show", "vector_add", "--store", store_},
      {"records", "export", "-o", file_, "--store", store_},
      {"records", "import", file_, "--store", other_},
      {"records", "verify", "--store", other_},
      {"records", "prune", "--kernel", "vector_add", "--store", other_},
      {"hints", "show", TUNEONCE_TEST_DATA "/tile_ir/matmul.tileir"},
      {"hints", "set", TUNEONCE_TEST_DATA "/tile_ir/matmul.tileir", "occupancy=2", "-o",
       folder_.path() + "/out.tileir"}};
  for (const std::vector<std::string>& command : commands) {
    ProcessResult result = RunCli(command, none);
    EXPECT_EQ(result.exit_code, 0) << command[0] << " " << command[1] << ": " << result.output;
  }
  ProcessResult compiled = RunCli({"compile", TUNEONCE_TEST_DATA "/ptx/softmax.ptx", "--target", "sm_90"}, none);
  EXPECT_TRUE(compiled.exit_code == 0 || compiled.output.find("ptxas was not found") != std::string::npos)
      << compiled.output;
}

}  // namespace
}  // namespace tuneonce
