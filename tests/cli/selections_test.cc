// `tuneonce records import --selections` and `records explain`: selections of others, as a user brings them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/expect_status.h"
#include "testing/tools.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

/// As vLLM has them for its fused MoE kernel; the values are ours.
constexpr char kTable[] = R"({
    "triton_version": "3.4.0",
    "16": {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32,
           "GROUP_SIZE_M": 1, "num_warps": 4, "num_stages": 5},
    "48": {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64,
           "GROUP_SIZE_M": 16, "num_warps": 4, "num_stages": 3},
    "64": {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64,
           "GROUP_SIZE_M": 8, "num_warps": 8, "num_stages": 3}
})";
constexpr char kSelections[] = R"({
  "tuneonce_selections": 1,
  "kernel": "vector_add",
  "selections": [
    {"key": {"N": 4096}, "config": {"BLOCK": 8192, "UNROLL": 4}},
    {"key": {"N": 8192}, "config": {"BLOCK": 65536, "UNROLL": 1}}
  ]
})";
const std::vector<std::string> kMapped = {"--bundle",
                                          "matmul",
                                          "--device",
                                          "cpu",
                                          "--any-device",
                                          "--axis",
                                          "BLOCK_SIZE_M=TILE_M",
                                          "--axis",
                                          "BLOCK_SIZE_N=TILE_N",
                                          "--axis",
                                          "BLOCK_SIZE_K=TILE_K",
                                          "--ignore",
                                          "GROUP_SIZE_M",
                                          "--ignore",
                                          "num_warps",
                                          "--ignore",
                                          "num_stages",
                                          "--ignore",
                                          "E",
                                          "--shape",
                                          "K=64",
                                          "--value",
                                          "occupancy=1"};

/// With bundles of the tests' own, whose axes are those of these selections.
ProcessResult RunHere(std::vector<std::string> arguments) {
  return RunCli(std::move(arguments), "TUNEONCE_BUNDLES=" TUNEONCE_TEST_DATA "/bundles");
}

class SelectionsTest : public ::testing::Test {
 protected:
  SelectionsTest() : folder_(*testing::MakeFolder()), store_(folder_.path() + "/s/store.db") {}

  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_.path() + "/" + name;
    EXPECT_OK(WriteFile(path, text));
    return path;
  }
  ProcessResult Import(const std::string& file, std::vector<std::string> more) {
    more.insert(more.begin(), {"records", "import", "--selections", file, "--store", store_});
    return RunHere(std::move(more));
  }
  nlohmann::json Explain(std::vector<std::string> more) {
    more.insert(more.begin(), {"records", "explain", "--json", "--store", store_});
    ProcessResult result = RunHere(std::move(more));
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return nlohmann::json::parse(result.output, nullptr, false);
  }

  TemporaryFolder folder_;
  std::string store_;
};

TEST_F(SelectionsTest, ATableOfVllmsIsImportedAndItsNearestRowServes) {
  std::string file = Write("E=8,N=64,device_name=NVIDIA_H200.json", kTable);
  ProcessResult imported = Import(file, kMapped);
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_EQ(imported.output.rfind("1 tables of selections imported to", 0), 0u) << imported.output;
  nlohmann::json keys = Explain({"--kernel", "matmul", "--shape", "M=37"})["keys"];
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0]["key"], "M=nearest, N=64, K=64, a:float16, b:float16, c:float16");
  nlohmann::json record = keys[0]["records"][0];
  EXPECT_EQ(record["origin"], "imported_unchecked");
  EXPECT_EQ(record["other_driver"], "always");
  EXPECT_EQ(record["nearest_dim"], "M");
  ASSERT_EQ(record["rows"].size(), 3u);
  EXPECT_EQ(record["rows"][1]["at"], 48);
  EXPECT_EQ(record["rows"][1]["config"],
            (nlohmann::json{{"TILE_M", 64}, {"TILE_N", 128}, {"TILE_K", 64}, {"occupancy", 1}}));
  // Once more: what is there stays, unless it is to be replaced.
  EXPECT_NE(Import(file, kMapped).output.find("0 tables of selections imported"), std::string::npos);
  std::vector<std::string> replacing = kMapped;
  replacing.push_back("--replace");
  EXPECT_NE(Import(file, replacing).output.find("1 tables of selections imported"), std::string::npos);
  // It goes from store to store as a record does.
  std::string records = folder_.path() + "/records.json";
  ASSERT_EQ(RunHere({"records", "export", "--store", store_, "-o", records}).exit_code, 0);
  store_ = folder_.path() + "/s/other.db";
  ASSERT_EQ(RunHere({"records", "import", records, "--store", store_}).exit_code, 0);
  EXPECT_EQ(Explain({"--kernel", "matmul"})["keys"][0]["records"][0]["rows"].size(), 3u);
}

TEST_F(SelectionsTest, TheNearestRowIsThatOfTheBucketsBound) {
  const std::string file = Write("table.json", R"({
      "16": {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "num_warps": 4},
      "64": {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "num_warps": 8}})");
  const ProcessResult imported =
      RunCli({"records", "import", "--from", "vllm", file, "--bundle", "matmul", "--device", "cpu", "--any-device",
              "--value", "backend=tile", "--shape", "N=64", "--shape", "K=64", "--store", store_});
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  const std::string text = RunCli({"records", "explain", "--kernel", "matmul", "--shape", "M=37", "--shape", "N=64",
                                   "--shape", "K=64", "--device", "cpu", "--store", store_})
                               .output;
  EXPECT_NE(text.find("the row is used whose M is nearest to the key's, which for a bucket is its bound:\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("M<=64, "), std::string::npos) << text;
  const std::size_t gets = text.find(" gets {");
  ASSERT_NE(gets, std::string::npos) << text;
  EXPECT_EQ(text.find("TILE_M=128", gets), text.find("TILE_M=", gets)) << "16 is nearer to 37, but 64 to the bound";
}

TEST_F(SelectionsTest, ATunedKernelServesTheNearestRowOfAnImportedTable) {
  ASSERT_EQ(Import(Write("E=8,N=64,device_name=NVIDIA_H200.json", kTable), kMapped).exit_code, 0);
  Result<Device> device = OpenDevice("cpu");
  ASSERT_OK(device);
  Result<Context> context = Context::RetainPrimary(*device);
  ASSERT_OK(context);
  ScopedContext current(context->view());
  Result<Stream> stream = Stream::Create(device->api());
  ASSERT_OK(stream);
  SqliteStoreOptions options;
  options.path = store_;
  AutotunePolicy policy;
  policy.store = *SqliteStore::Open(options);
  Result<TunedKernel> kernel = TunedKernel::FromBundle(TUNEONCE_TEST_DATA "/bundles/matmul", policy);
  ASSERT_OK(kernel);
  const std::pair<std::int64_t, const char*> cases[] = {
      {1, "TILE_M=64, TILE_N=64, TILE_K=32, occupancy=1"},   {32, "TILE_M=64, TILE_N=64, TILE_K=32, occupancy=1"},
      {33, "TILE_M=64, TILE_N=128, TILE_K=64, occupancy=1"}, {56, "TILE_M=64, TILE_N=128, TILE_K=64, occupancy=1"},
      {57, "TILE_M=128, TILE_N=64, TILE_K=64, occupancy=1"}, {4096, "TILE_M=128, TILE_N=64, TILE_K=64, occupancy=1"},
  };
  for (const auto& [m, config] : cases) {
    Result<LaunchPlan> plan = kernel->Explain(stream->get(), {{"M", m}, {"N", 64}, {"K", 64}});
    ASSERT_OK(plan);
    EXPECT_EQ(plan->origin, LaunchPlan::Origin::kImported);
    ASSERT_TRUE(plan->config);
    EXPECT_EQ(plan->config->ToString(), config) << m;
  }
  EXPECT_EQ(kernel->Explain(stream->get(), {{"M", 1}, {"N", 65}, {"K", 64}})->origin, LaunchPlan::Origin::kNone);
}

TEST_F(SelectionsTest, TuningDoesNotReplaceWhatIsPinned) {
  auto tune = [&] {
    return RunHere(
        {"tune", "vector_add", "--device", "cpu", "--shape", "N=4096", "--quiet", "--retune", "--store", store_});
  };
  ASSERT_EQ(tune().exit_code, 0);
  std::string file = folder_.path() + "/records.json";
  ASSERT_EQ(RunHere({"records", "export", "--store", store_, "-o", file}).exit_code, 0);
  nlohmann::json records = nlohmann::json::parse(*ReadFile(file));
  records["records"][0]["is_pinned"] = true;
  records["records"][0]["reason"] = "pinned";
  records["records"][0]["best"]["config"][0]["value"] = 65536;
  ASSERT_OK(WriteFile(file, records.dump()));
  ASSERT_EQ(RunHere({"records", "import", file, "--replace", "--store", store_}).exit_code, 0);
  ProcessResult again = tune();
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.output.find("the selections could not be stored: the key is pinned in the store"), std::string::npos);
  nlohmann::json record = Explain({"--kernel", "vector_add"})["keys"][0]["records"][0];
  EXPECT_EQ(record["origin"], "pinned");
  EXPECT_EQ(record["config"]["BLOCK"], 65536);
  EXPECT_EQ(record["other_driver"], "always");
}

TEST_F(SelectionsTest, OurOwnFormIsImportedAndACommandsTuneGoesBeforeIt) {
  std::string file = Write("selections.json", kSelections);
  ProcessResult imported = Import(file, {"--device", "cpu", "--json"});
  ASSERT_EQ(imported.exit_code, 0) << imported.output;
  EXPECT_EQ(nlohmann::json::parse(imported.output)["imported"], 2);
  nlohmann::json keys = Explain({"--kernel", "vector_add", "--shape", "N=4096"})["keys"];
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0]["records"][0]["config"], (nlohmann::json{{"BLOCK", 8192}, {"UNROLL", 4}}));
  ASSERT_EQ(
      RunHere({"tune", "vector_add", "--device", "cpu", "--shape", "N=4096", "--quiet", "--retune", "--store", store_})
          .exit_code,
      0);
  nlohmann::json records = Explain({"--kernel", "vector_add", "--key", keys[0]["key"]})["keys"][0]["records"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1]["origin"], "search");
  EXPECT_EQ(records[1]["other_driver"], "by_policy");
  EXPECT_TRUE(records[1]["has_code"]);
  EXPECT_GT(records[1]["alternatives"].size(), 2u);
  ProcessResult text = RunHere({"records", "explain", "--kernel", "vector_add", "--store", store_});
  for (const char* part : {"why: imported; it is compared with the baseline before its first launch", "how sure: ",
                           " samples, ", "alternatives: {BLOCK=", "another driver gets the same", "driver 13.0"}) {
    EXPECT_NE(text.output.find(part), std::string::npos) << part << "\n" << text.output;
  }
}

TEST_F(SelectionsTest, WhatCannotBeMappedIsRefusedByName) {
  const std::string name = "E=8,N=64,device_name=NVIDIA_H200.json";
  auto without = [](const std::string& value) {
    std::vector<std::string> arguments = kMapped;
    auto it = std::find(arguments.begin(), arguments.end(), value);
    arguments.erase(value == "--any-device" ? it : it - 1, it + 1);
    return arguments;
  };
  auto with = [](const std::string& option, const std::string& value) {
    std::vector<std::string> arguments = kMapped;
    arguments.insert(arguments.end(), {option, value});
    return arguments;
  };
  struct Case {
    std::vector<std::string> arguments;
    std::string part;
  };
  const Case cases[] = {
      {without("matmul"), "does not name its kernel: give --bundle NAME"},
      {without("--any-device"), "was made for device 'NVIDIA_H200', but this machine has 'tuneonce CPU device"},
      {without("BLOCK_SIZE_M=TILE_M"), ".json:3: 16: BLOCK_SIZE_M is no axis of 'matmul', which has: TILE_K, TILE_M"},
      {without("num_stages"), "num_stages is no axis of 'matmul'"},
      {without("E"),
       "E is no dim of 'matmul', which has: K, M, N: translate the name with --dim E=OURS, or skip it with --ignore E"},
      {without("K=64"), "the key of 'matmul' has the dim K, which has no extent in the file: give --shape K=..."},
      {without("occupancy=1"), "the axis occupancy of 'matmul' has no value: give --value occupancy=..."},
      {with("--value", "warps=1"), "no axis 'warps'"},
      {with("--axis", "COLOUR=TILE_M"), "--axis COLOUR: the file has no such axis; it has: BLOCK_SIZE_K, BLOCK_SIZE_M"},
      {with("--dim", "Q=M"), "--dim Q: the file has no such dim; it has: E, M, N"},
      {with("--ignore", "num_wraps"), "--ignore num_wraps: the file has no such name; it has: "},
      {with("--shape", "Z=1"), "--shape Z: 'matmul' has no such dim"},
      {with("--shape", "N=1"), "the dim N has two extents"},
      {with("--dtype", "a=half"), "--dtype a=half is not a dtype"},
      {with("--bundle", "nonsense"), "--bundle"},
  };
  std::string file = Write(name, kTable);
  for (const Case& c : cases) ExpectOneLine(Import(file, c.arguments), c.part);
  ExpectOneLine(Import(Write("E=8,N=64,device_name=X,dtype=fp8_w8a8,block_shape=[128,128].json", kTable), kMapped),
                "the file's name contains block_shape=[128,128], which is not a dim");
  EXPECT_FALSE(RunHere({"records", "list", "--store", store_}).exit_code == 0) << "nothing was written";
}

TEST_F(SelectionsTest, WhatIsWrongInAFileIsSaidWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"[1]", "d.json:1: expected an object"},
      {"{}", "the file contains no selection"},
      {R"({"tuneonce_selections": 2, "selections": []})", "\"tuneonce_selections\" must be 1"},
      {R"({"tuneonce_selections": 1, "selections": []})", "selections: expected at least one selection"},
      {R"({"tuneonce_selections": 1, "colour": 1, "selections": []})", "colour"},
      {"{\"tuneonce_selections\": 1, \"selections\": [\n{\"key\": {\"N\": 0}, \"config\": {}}]}",
       "d.json:2: selections[0].key.N: expected a whole number of at least 1"},
      {R"({"tuneonce_selections": 1, "selections": [{"key": {"N": 1}}]})", "config"},
      {R"({"tuneonce_selections": 1, "selections": [{"key": {"N": 1}, "config": {"BLOCK": [1]}}]})",
       "selections[0].config.BLOCK: expected a number, a boolean or a string"},
      {R"({"tuneonce_selections": 1, "selections": [{"key": {"N": 1}, "config": {"BLOCK": 1024, "UNROLL": 2}}]})",
       "selections[0]: UNROLL=2: the axis has the values 1, 4"},
      {R"({"tuneonce_selections": 1, "selections": [{"key": {"N": 1}, "config": {"BLOCK": "x", "UNROLL": 1}}]})",
       "the value x for axis 'BLOCK' has another type than the axis's values {1024, 8192, 65536}"},
      {R"({"tuneonce_selections": 1, "selections": [{"key": {"N": 1}, "config": {"BLOCK": 1024, "UNROLL": 1}},
          {"key": {"N": 1}, "config": {"BLOCK": 8192, "UNROLL": 1}}]})",
       "d.json:2: selections[1]: another selection is for the same key, N=1"},
      {R"({"tuneonce_selections": 1, "nearest": "N", "selections": [
          {"key": {"N": 1}, "config": {"BLOCK": 1024, "UNROLL": 1}},
          {"key": {"N": 2}, "config": {"BLOCK": 1024, "UNROLL": 1}},
          {"key": {"N": 1}, "config": {"BLOCK": 8192, "UNROLL": 1}}]})",
       "d.json:4: selections[2]: another selection is for the same key, N=nearest, x:float32, y:float32, z:float32, "
       "and N=1: keep one of them"},
      {R"({"tuneonce_selections": 1, "nearest": "M", "selections": [{"key": {"N": 1}, "config": {"BLOCK": 1024,
          "UNROLL": 1}}]})",
       "M is no dim of 'vector_add'"},
      {R"({"tuneonce_selections": 1, "kernel": "matmul", "selections": [{"key": {}, "config": {}}]})",
       "is for the kernel 'matmul', not for 'vector_add'"},
      {R"({"64": {"BLOCK": 1024}, "many": {"BLOCK": 1024}})", "the file is neither a file of selections"},
      {R"({"64": 1})", "expected an object"},
      {"{", "d.json"},
  };
  for (const auto& [text, part] : cases) {
    ExpectOneLine(Import(Write("d.json", text), {"--bundle", "vector_add", "--device", "cpu"}), part);
  }
  ExpectOneLine(Import("/no/file.json", {"--bundle", "vector_add"}), "/no/file.json");
  ExpectOneLine(RunHere({"records", "import", "--store", store_}), "Exactly 1 option from [file,--selections]");
  ExpectOneLine(RunHere({"records", "import", "a.json", "--selections", "b.json"}), "xactly 1 option");
}

TEST_F(SelectionsTest, AQuestionThatNoRecordAnswersIsOneLine) {
  ASSERT_EQ(Import(Write("selections.json", kSelections), {"--device", "cpu"}).exit_code, 0);
  auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"records", "explain", "--store", store_});
    return RunHere(std::move(more));
  };
  ExpectOneLine(ask({}), "--kernel is required");
  ExpectOneLine(ask({"--kernel", "matmul"}), "no record of kernel 'matmul'");
  ExpectOneLine(ask({"--kernel", "vector_add", "--key", "N=1"}),
                "no record of 'vector_add' is for that key; its keys are: 'N=4096, x:float32");
  ExpectOneLine(ask({"--kernel", "vector_add", "--shape", "N=77"}),
                "is for that key; its keys are: 'N=4096, x:float32");
  ExpectOneLine(ask({"--kernel", "vector_add", "--shape", "M=1"}), "the key of 'vector_add' has no such dim");
  ExpectOneLine(ask({"--kernel", "vector_add", "--shape", "N=x"}), "must be a whole number");
}

}  // namespace
}  // namespace tuneonce
