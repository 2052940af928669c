// `tuneonce records import --from TUNER`: what other tuners selected. The files are ours, after their public formats.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/expect_status.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

constexpr char kRows[] = R"json({
    "triton_version": "3.4.0",
    "16": {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 1, "num_warps": 4,
           "num_stages": 5},
    "32": {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 1, "num_warps": 4,
           "num_stages": 5},
    "64": {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "num_warps": 8,
           "num_stages": 3}
})json";
constexpr char kTriton[] = R"json({"key": [64, 48, 32, "torch.float16", "torch.float16"], "configs_timings": [
  [{"kwargs": {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, "num_warps": 4, "num_ctas": 1, "num_stages": 3,
    "maxnreg": null, "pre_hook": null, "ir_override": null}, [0.031, 0.030, 0.033]],
  [{"kwargs": {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}, "num_warps": 8, "num_ctas": 1, "num_stages": 4,
    "maxnreg": null, "pre_hook": null, "ir_override": null}, [0.020, 0.019, 0.022]],
  [{"kwargs": {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}, "num_warps": 8, "num_ctas": 1, "num_stages": 4,
    "maxnreg": null, "pre_hook": null, "ir_override": null}, [Infinity, Infinity, Infinity]]]})json";
constexpr char kTilegym[] = R"json({
  "('matmul', (64, 48, 32, torch.float16))": {
    "best_config": "namespace(TILE_SIZE_M=128, TILE_SIZE_N=64, TILE_SIZE_K=64, num_ctas=1, occupancy=2)",
    "best_ms": 0.5, "n_tested": 12},
  "('rms_norm', (64, 48))": {"best_config": "namespace(TILE=64)", "best_ms": 0.1, "n_tested": 3}
})json";
constexpr char kFlashinfer[] = R"json({
  "_metadata": {"flashinfer_version": "0.6.0", "cuda_version": "13.0", "gpu": "NVIDIA H200"},
  "('gemm', 'OurRunner', ((64, 32), (32, 48)), ())": ["OurRunner", [64, [128, 64]]],
  "('gemm', 'OurRunner', ((1, 32), (32, 48)), ())": ["OurRunner", -1]
})json";

class TunerTablesTest : public ::testing::Test {
 protected:
  TunerTablesTest() : folder_(*testing::MakeFolder()), store_(folder_.path() + "/store.db") {}

  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_.path() + "/" + name;
    EXPECT_OK(WriteFile(path, text));
    return path;
  }
  ProcessResult Import(const std::string& tuner, const std::string& file, std::vector<std::string> more,
                       const std::string& bundle = "matmul") {
    more.insert(more.begin(),
                {"records", "import", "--from", tuner, file, "--store", store_, "--device", "cpu", "--bundle", bundle});
    return RunCli(std::move(more), "TUNEONCE_BUNDLES=" TUNEONCE_TEST_DATA "/bundles");
  }
  /// The only record that was imported.
  nlohmann::json Record() {
    const ProcessResult result = RunCli({"records", "explain", "--json", "--store", store_, "--kernel", "matmul"});
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const nlohmann::json keys = nlohmann::json::parse(result.output, nullptr, false)["keys"];
    EXPECT_EQ(keys.size(), 1u) << keys;
    nlohmann::json record = keys[0]["records"][0];
    record["key"] = keys[0]["key"];
    EXPECT_EQ(record["origin"], "imported_unchecked") << "verified before it runs, and no measurement";
    return record;
  }
  static nlohmann::json Config(int m, int n, int k, int occupancy) {
    return {{"TILE_M", m}, {"TILE_N", n}, {"TILE_K", k}, {"occupancy", occupancy}};
  }
  static void ExpectParts(const ProcessResult& result, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
  }

  TemporaryFolder folder_;
  std::string store_;
};

const std::vector<std::string> kOfRows = {"--any-device", "--shape", "K=64", "--value", "occupancy=1"};
const std::vector<std::string> kOfKey = {"--dim", "key0=M", "--dim", "key1=N", "--dim", "key2=K"};

TEST_F(TunerTablesTest, ATableByRowsNeedsNoTranslation) {
  for (const char* tuner : {"vllm", "sglang"}) {
    store_ = folder_.path() + "/" + tuner + ".db";
    const ProcessResult imported =
        Import(tuner, Write("E=8,N=64,device_name=NVIDIA_H200,dtype=fp8_w8a8.json", kRows), kOfRows);
    ASSERT_EQ(imported.exit_code, 0) << imported.output;
    ExpectParts(imported, {"1 tables of selections imported", "GROUP_SIZE_M was dropped: 'matmul' has no such axis",
                           "num_warps was dropped", "num_stages was dropped", "the extent E was dropped",
                           "dtype=fp8_w8a8 in the file's name was not checked",
                           ".json:5: 32: 'matmul' has no config with TILE_M=16"});
    const nlohmann::json record = Record();
    ASSERT_EQ(record["rows"].size(), 2u) << "one row has no config here";
    EXPECT_EQ(record["rows"][0]["config"], Config(64, 64, 32, 1));
    EXPECT_EQ(record["rows"][1]["config"], Config(128, 64, 64, 1));
  }
}

TEST_F(TunerTablesTest, TritonsFastestConfigOfAKeyIsProposed) {
  std::vector<std::string> arguments = kOfKey;
  arguments.insert(arguments.end(), {"--value", "occupancy=2"});
  const ProcessResult imported = Import("triton-cache", Write("gemm.autotune.json", kTriton), arguments);
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  ExpectParts(imported, {"1 selections imported", "num_ctas was dropped"});
  EXPECT_EQ(imported.output.find("maxnreg"), std::string::npos) << "it was not set";
  const nlohmann::json record = Record();
  EXPECT_EQ(record["config"], Config(64, 128, 64, 2));
  EXPECT_EQ(record["key"], "M=64, N=48, K=32, a:float16, b:float16, c:float16");
}

TEST_F(TunerTablesTest, TilegymsNamespacesAreConfigs) {
  std::vector<std::string> arguments = kOfKey;
  const std::string file = Write("stats.json", kTilegym);
  ExpectOneLine(Import("tilegym", file, arguments),
                "several operations: give --operation with one of: matmul, rms_norm");
  arguments.insert(arguments.end(), {"--operation", "matmul"});
  const ProcessResult imported = Import("tilegym", file, arguments);
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_EQ(Record()["config"], Config(128, 64, 64, 2));
}

TEST_F(TunerTablesTest, FlashinfersTacticsAreAxesThatTheUserNames) {
  std::vector<std::string> arguments = {"--dim",  "key0=M",         "--dim",          "key1=K",     "--dim",
                                        "key3=N", "--axis",         "tactic0=TILE_M", "--axis",     "tactic1=TILE_N",
                                        "--axis", "tactic2=TILE_K", "--value",        "occupancy=1"};
  const std::string file = Write("tactics.json", kFlashinfer);
  ExpectOneLine(Import("flashinfer", file, arguments), "was made for device 'NVIDIA H200'");
  arguments.push_back("--any-device");
  const ProcessResult imported = Import("flashinfer", file, arguments);
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  ExpectParts(imported, {"tactic -1 is the fallback of its runner", "the extent key2 was dropped"});
  const nlohmann::json record = Record();
  EXPECT_EQ(record["config"], Config(64, 128, 64, 1));
  EXPECT_EQ(record["key"], "M=64, N=48, K=32, a:float16, b:float16, c:float16");
}

TEST_F(TunerTablesTest, OptionsOfACompilerAreDroppedWhereNoConfigHasThem) {
  const ProcessResult imported =
      Import("vllm",
             Write("N=4096,K=4096,device_name=NVIDIA_H200.json",
                   R"json({"64": {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "num_warps": 4,
                               "num_stages": 3}})json"),
             {"--any-device", "--value", "backend=tile", "--value", "occupancy=1", "--value", "num_ctas=1"},
             TUNEONCE_TEST_DATA "/../../bundles/matmul");
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  ExpectParts(imported, {"num_warps was dropped where 'matmul' has no config with the file's value",
                         "num_stages was dropped where"});
  const nlohmann::json config = Record()["rows"][0]["config"];
  EXPECT_EQ(config["num_warps"], 0);
  EXPECT_EQ(config["TILE_N"], 128);
}

TEST_F(TunerTablesTest, APositionOfAKeyIsTheSameWhateverTheOtherEntriesAre) {
  const auto expect_same = [&](const char* tuner, std::string text, const std::string& old_key, const std::string& key,
                               const std::vector<std::string>& others) {
    store_ = folder_.path() + "/" + tuner + key.substr(0, 2) + ".db";
    text.replace(text.find(old_key), old_key.size(), key);
    std::vector<std::string> arguments = {"--dim", "key1=M", "--dim", "key3=N", "--dim", "key5=K"};
    arguments.insert(arguments.end(), others.begin(), others.end());
    const ProcessResult imported = Import(tuner, Write("f.autotune.json", text), arguments);
    EXPECT_EQ(imported.exit_code, 0) << imported.output;
    EXPECT_EQ(Record()["key"], "M=64, N=48, K=32, a:float16, b:float16, c:float16") << key;
  };
  for (const char* key : {"[0, 64, true, 48, 32.5, 32,", "[3, 64, false, 48, null, 32,", "[-1, 64, 1, 48, 2, 32,"}) {
    expect_same("triton-cache", kTriton, "[64, 48, 32,", key, {"--value", "occupancy=2"});
  }
  for (const char* key : {"0, 64, True, 48, 1e-05, 32,", "3, 64, False, 48, None, 32,", "-1, 64, 1, 48, 1e+16, 32,"}) {
    expect_same("tilegym", kTilegym, "64, 48, 32,", key, {"--operation", "matmul"});
  }
  std::string zero = kTriton;
  zero.replace(zero.find("[64, 48, 32,"), 12, "[0, 48, 32,");
  std::vector<std::string> arguments = kOfKey;
  arguments.insert(arguments.end(), {"--value", "occupancy=2"});
  ExpectOneLine(Import("triton-cache", Write("f.autotune.json", zero), arguments),
                "the dim M is 0: give a whole number");
}

TEST_F(TunerTablesTest, SeveralFilesAreImportedAtOnce) {
  std::vector<std::string> arguments = kOfKey;
  std::string other = kTriton;
  other.replace(other.find("[64, 48, 32"), 11, "[65, 48, 32");
  arguments.insert(arguments.begin(), Write("b.autotune.json", other));
  arguments.insert(arguments.end(), {"--value", "occupancy=2"});
  const ProcessResult imported = Import("triton-cache", Write("a.autotune.json", kTriton), arguments);
  EXPECT_EQ(imported.exit_code, 0) << imported.output;
  ExpectParts(imported, {"2 selections imported"});
}

TEST_F(TunerTablesTest, TheFirstSelectionOfAKeyInAFileServes) {
  std::string rows = kRows;
  rows.replace(rows.find("\"32\": {\"BLOCK_SIZE_M\": 16"), 25, "\"016\": {\"BLOCK_SIZE_M\": 128");
  const ProcessResult imported = Import("vllm", Write("N=64,device_name=NVIDIA_H200.json", rows), kOfRows);
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  ExpectParts(imported, {"skipped: ", ".json:5: 016: another selection is for the same key, M=nearest, N=64, K=64, ",
                         "and M=16: keep one of them"});
  const nlohmann::json record = Record();
  ASSERT_EQ(record["rows"].size(), 2u);
  EXPECT_EQ(record["rows"][0]["config"], Config(64, 64, 32, 1));
  EXPECT_EQ(record["rows"][1]["config"], Config(128, 64, 64, 1));
}

TEST_F(TunerTablesTest, TwoFilesOfOneKeyAreAnError) {
  std::vector<std::string> arguments = kOfRows;
  const std::string first = Write("E=1,N=64,device_name=NVIDIA_H200.json", kRows);
  arguments.insert(arguments.begin(), first);
  ExpectOneLine(Import("vllm", Write("E=2,N=64,device_name=NVIDIA_H200.json", kRows), arguments),
                first + ": the same key, M=nearest, N=64, K=64, ");
  EXPECT_FALSE(IsRegularFile(store_)) << "nothing was imported";
}

TEST_F(TunerTablesTest, WhatCannotBeReadIsOneLine) {
  struct Case {
    const char* tuner;
    const char* text;
    const char* part;
  };
  for (const Case& each :
       {Case{"vllm", R"json({"many": {}})json", "whose keys are numbers of rows"}, Case{"vllm", "{}", "no selection"},
        Case{"triton-cache", R"json({"key": [1]})json", "configs_timings"},
        Case{"triton-cache", R"json({"key": [1], "configs_timings": []})json", "no config has a time"},
        Case{"triton-cache", R"json({"key": [1], "configs_timings": [[{}, [Infinity]]]})json", "no config has a time"},
        Case{"triton-cache", R"json({"key": [1], "configs_timings": [[{}]]})json", "expected a config and its times"},
        Case{"triton-cache", R"json({"key": [1], "configs_timings": [["BLOCK: 1", 0.1]]})json", "expected an object"},
        Case{"tilegym", R"json({"('a', (1,))": {}})json", "best_config"},
        Case{"tilegym", R"json({"('a', (1,))": {"best_config": "none"}})json", "best_config has no values"},
        Case{"flashinfer", R"json({"('a', 'R', ())": [1]})json", "expected a runner and its tactic"},
        Case{"flashinfer", R"json({"('a', 'R', ())": ["R", -1]})json", "no selection"},
        Case{"flashinfer", R"json({"('a', 'R', ())": ["R", {}]})json", "expected a number"}}) {
    ExpectOneLine(Import(each.tuner, Write("f.json", each.text), {}), each.part);
  }
  ExpectOneLine(Import("vllm", Write("f.json", kRows), {"--operation", "x"}), "--operation is for files of");
  ExpectOneLine(Import("tilegym", Write("f.json", kTilegym), {"--operation", "x"}),
                "no operation 'x'; it has: matmul, rms_norm");
  ExpectOneLine(Import("autotvm", Write("f.json", "{}"), {}), "--from");
  // An axis that nobody knows is a question, and no note.
  ExpectOneLine(Import("triton-cache",
                       Write("f.json", R"json({"key": [1], "configs_timings": [[{"kwargs": {"ROWS": 1}}, 0.1]]})json"),
                       {"--dim", "key0=M"}),
                "ROWS is no axis of 'matmul'");
}

}  // namespace
}  // namespace tuneonce
