// tuneonce compare: verdicts, exit codes, and what can be compared. Where it matters who wins, one does many times the
// other's work.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/tools.h"
#include "tuneonce/report.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

constexpr int kReverted = 3;

class CompareTest : public ::testing::Test {
 protected:
  CompareTest() : folder_(*testing::MakeFolder()) {}

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFile(Path(name), text).ok());
    return Path(name);
  }
  /// A bundle y = `value`, computed `work` times, by the statement `before` first. Its tiles of 16 do a hundred times
  /// the work of those of 4096, and its baseline is 4096.
  std::string Bundle(const std::string& name, int work, const std::string& value = "x[i] * factor",
                     const std::string& before = "") {
    mkdir(Path(name).c_str(), 0700);
    Write(name + "/scale.cc", R"(
static void scale(const tuneonce_block& block, const float* x, float* y, float factor, int n) {
  )" + before + R"(
  int begin = block.x * TILE, end = begin + TILE < n ? begin + TILE : n;
  const int work = (TILE == 16 ? 100 : 1) * )" +
                                  std::to_string(work) + R"(;
  for (int k = 0; k < work; ++k) {
    for (int i = begin; i < end; ++i) static_cast<volatile float*>(y)[i] = )" +
                                  value + R"(;
  }
}
TUNEONCE_CPU_KERNEL(scale);)");
    Write(name + "/manifest.json", R"({"tuneonce_bundle": 1, "name": "scale", "version": "1", "dims": ["N"],
"parameters": [{"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
{"name": "factor", "kind": "scalar", "dtype": "float32", "warmup": 2}, {"kind": "dim", "dim": "N"}],
"axes": [{"name": "TILE", "values": [16, 4096]}], "baseline": {"TILE": 4096},
"example": {"dims": {"N": 20000}},
"variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "scale", "defines": ["TILE"],
"parameters": ["x", "y", "factor", "N"],
"grid": {"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]}, "artifacts": [{"file": "scale.cc"}]}]})");
    return Path(name);
  }

  static std::vector<std::string> Compare(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    arguments.insert(arguments.end(), {"--device", "cpu", "--quiet"});
    return arguments;
  }
  nlohmann::json Json(std::vector<std::string> arguments, int exit_code = 0, const std::string& extra = "A=B") {
    arguments = Compare(std::move(arguments));
    arguments.push_back("--json");
    ProcessResult result = RunCli(arguments, extra);
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    const std::size_t end = result.output.rfind("\n}");  // Behind it, what stderr has.
    const std::size_t begin = result.output.find('{');
    if (end == std::string::npos || begin == std::string::npos) return {};
    return nlohmann::json::parse(result.output.substr(begin, end + 2 - begin), nullptr, false);
  }
  static std::string Selection(const std::string& bundle, int tile) {
    return R"({"tuneonce_selections": 1, "kernel": ")" + bundle + R"(", "selections": [{"key": {"N": 20000}, "config":
{"TILE": )" +
           std::to_string(tile) + "}}]}";
  }

  TemporaryFolder folder_;
};

TEST_F(CompareTest, TheVerdictAndItsExitCode) {
  const std::string a = Bundle("a", 40);
  struct Case {
    std::string b;
    const char* verdict;
    int exit_code;
  };
  for (const Case& each : {Case{Bundle("faster", 1), "accept", 0}, Case{Bundle("slower", 1600), "revert", kReverted},
                           Case{a, "no_change", 0}}) {
    nlohmann::json json = Json({a, each.b}, each.exit_code);
    ASSERT_EQ(json["shapes"].size(), 1u);
    const nlohmann::json& shape = json["shapes"][0];
    EXPECT_EQ(shape["verdict"], each.verdict) << json;
    EXPECT_EQ(json["summary"]["verdict"], each.verdict);
    EXPECT_EQ(json["summary"][each.verdict], 1);
    EXPECT_EQ(shape["correctness"], "pass");
    EXPECT_EQ(shape["is_isolated"], true);
    EXPECT_LE(shape["speedup"]["low"], shape["speedup"]["ratio"]);
    EXPECT_LE(shape["speedup"]["ratio"], shape["speedup"]["high"]);
    EXPECT_EQ(shape["a"]["num_samples"], shape["num_pairs"]);
    EXPECT_EQ(shape["b"]["num_samples"], shape["num_pairs"]);
    EXPECT_EQ(shape["b"]["memory_bytes"], 160000);
    EXPECT_EQ(shape["is_same_code"], each.b == a);
    EXPECT_EQ(shape["b"]["config"], (nlohmann::json{{"TILE", 4096}}));
    const double ms = json["summary"]["latency_ms"], us = shape["b"]["mean_us"];
    EXPECT_NEAR(ms * 1000, us, 1e-6 * us);
  }
}

TEST_F(CompareTest, WhatIsWrongIsRevertedHoweverFastItIs) {
  const std::string a = Bundle("a", 400);
  struct Case {
    std::string b;
    const char* failure;
    std::string verdict;
  };
  for (const Case& each : {Case{Bundle("wrong", 1, "x[i] * factor + 1"), "wrong result: output 'y'", "revert"},
                           Case{Bundle("crash", 1, "x[i] * factor", "__builtin_trap();"), "crash", "crash"},
                           Case{Bundle("no_cpp", 1, "x[i] * factor", "no c++;"), "compile", "crash"}}) {
    nlohmann::json json = Json({a, each.b}, kReverted);
    const nlohmann::json& shape = json["shapes"][0];
    EXPECT_EQ(shape["verdict"], each.verdict);
    EXPECT_EQ(json["summary"]["verdict"], each.verdict);
    EXPECT_EQ(json["summary"][each.verdict], 1);
    EXPECT_EQ(shape["correctness"], "fail");
    EXPECT_NE(shape["failure"].get<std::string>().find(each.failure), std::string::npos) << shape["failure"];
    EXPECT_TRUE(shape["b"].is_null());
    EXPECT_TRUE(shape["speedup"].is_null());
    EXPECT_TRUE(json["summary"]["latency_ms"].is_null());
    EXPECT_EQ(json["summary"]["correctness"], "fail");
    ProcessResult text = RunCli(Compare({a, each.b}));
    EXPECT_EQ(text.exit_code, kReverted) << text.output;
    EXPECT_NE(text.output.find("N=20000: " + each.verdict + ": B failed: "), std::string::npos) << text.output;
  }
  // A that fails says nothing about B.
  ExpectOneLineError(Compare({Bundle("no_cpp", 1, "x[i] * factor", "no c++;"), a}), "A: ");
}

TEST_F(CompareTest, TextSaysWhoRanWhatAndHowSureThatIs) {
  ProcessResult result = RunCli(Compare({Bundle("a", 400), Bundle("b", 1), "--shape", "N=5000"}));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const char* part : {"B, ", ", compared with A, ", "CPU device", "N=5000: B is ", " times as fast (", "): accept",
                           "  A: ", " us by {TILE=4096}, cpu\n", "  B: "}) {
    EXPECT_NE(result.output.find(part), std::string::npos) << part << "\n" << result.output;
  }
}

TEST_F(CompareTest, ManyShapesHaveAGeometricMeanAndOneThatCannotRunHasNoVerdict) {
  const std::string a = Bundle("a", 400), b = Bundle("b", 1);
  const std::string file = Write("shapes", "N=3000\nscale N=6000 factor=3\nother N=1\n");
  nlohmann::json json = Json({a, b, "--shapes", file});
  ASSERT_EQ(json["shapes"].size(), 2u);
  EXPECT_EQ(json["shapes"][0]["shape"], (nlohmann::json{{"N", 3000}}));
  EXPECT_EQ(json["shapes"][1]["shape"], (nlohmann::json{{"N", 6000}}));
  const double first = json["shapes"][0]["speedup"]["ratio"], second = json["shapes"][1]["speedup"]["ratio"];
  const double mean = json["summary"]["speedup"]["ratio"];
  EXPECT_NEAR(mean * mean, first * second, 1e-6 * first * second);
  EXPECT_EQ(json["summary"]["accept"], 2);
  json = Json({a, b, "--shapes", Write("with_a_wrong_one", "N=3000\nM=3\nN=0\n")}, 1);
  EXPECT_EQ(json["summary"]["not_compared"], 2);
  EXPECT_EQ(json["summary"]["accept"], 1);
  EXPECT_NE(json["shapes"][1]["error"].get<std::string>().find("no dim, scalar or tensor 'M'"), std::string::npos);
  const std::string ledger = Path("ledger");
  ProcessResult text = RunCli(Compare({a, b, "--shapes", Path("with_a_wrong_one"), "--ledger", ledger}));
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_NE(text.output.find("tuneonce: Internal: 2 of 3 shapes were not compared"), std::string::npos) << text.output;
  EXPECT_FALSE(ReadFile(ledger).ok()) << "what was not compared is no row";
}

TEST_F(CompareTest, BadInputIsOneClearLine) {
  const std::string a = Bundle("a", 1);
  ExpectOneLineError({"compare"}, "a is required");
  ExpectOneLineError({"compare", "vector_add"}, "b is required");
  EXPECT_EQ(RunCli({"compare", "vector_add"}).exit_code, 2);
  ExpectOneLineError(Compare({a, "nonsense"}), "no bundle 'nonsense'");
  ExpectOneLineError(Compare({a, "vector_add:"}), "write it as matmul:tile");
  ExpectOneLineError(Compare({a, a + ":cuda"}),
                     "has neither a back end nor a variant named 'cuda' for cpu; it has (BACKEND:VARIANT): cpu:cpu");
  ExpectOneLineError(Compare({a, "vector_add"}),
                     "argument 2 is 'y' (out tensor, float32 [N]) in A, and 'y' (in tensor");
  ExpectOneLineError(Compare({a, a, "--shape", "M=1"}), "no dim, scalar or tensor 'M'");
  ExpectOneLineError(Compare({a, a, "--bundle", a}), "--bundle is only for comparing stores");
  ExpectOneLineError(Compare({a, a, "--change", "tiles"}), "--change needs --ledger FILE");
  ExpectOneLineError(Compare({a, a, "--isolation", "required"}), "/no/worker", "TUNEONCE_WORKER=/no/worker");
  ExpectOneLineError({"compare", a, a, "--device", "cuda", "--quiet"}, "tuneonce doctor shows what was looked for",
                     "TUNEONCE_CUDA_DRIVER=/none/libcuda.so.1");
  ExpectOneLineError(Compare({a, Write("result.json", "{}")}), "is a bundle, and B, ");
  for (bool is_first : {false, true}) {
    std::vector<std::string> both = {Write("result.json", "{}"), "none.db"};
    if (is_first) std::swap(both[0], both[1]);
    ExpectOneLineError(Compare(both), "'none.db' was not found: ");
  }
}

TEST_F(CompareTest, WithoutIsolationItRunsHere) {
  nlohmann::json json = Json({Bundle("a", 400), Bundle("b", 1), "--isolation", "off"});
  EXPECT_EQ(json["shapes"][0]["is_isolated"], false);
  EXPECT_EQ(json["shapes"][0]["verdict"], "accept");
}

TEST_F(CompareTest, BundlesThatWereCompiledAheadNeedNoCompiler) {
  for (const auto& [name, work] : {std::pair("a", 400), std::pair("b", 1)}) {
    ProcessResult made =
        RunCli({"bundle", "compile", Bundle(name, work), "--target", "cpu", "-o", Path(std::string(name) + "_ahead")});
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  nlohmann::json json = Json({Path("a_ahead"), Path("b_ahead")}, 0, "TUNEONCE_CXX=/none/c++");
  EXPECT_EQ(json["shapes"][0]["verdict"], "accept");
  // Without a compiler nothing can be said of sources; that is no verdict on B.
  ExpectOneLineError(Compare({Path("a_ahead"), Path("b")}), "B: ", "TUNEONCE_CXX=/none/c++");
}

TEST_F(CompareTest, StoresAreComparedByWhatEachWouldRun) {
  const std::string bundle = Bundle("scale", 2);
  const std::string a = Path("sa/store.db"), b = Path("sb/store.db");
  const std::string found = "TUNEONCE_BUNDLES=" + folder_.path();
  const std::vector<std::string> tune = {"tune", bundle, "--device", "cpu", "--quiet", "--store"};
  for (const char* shape : {"N=20000", "N=300"}) {
    std::vector<std::string> into_a = tune;
    into_a.insert(into_a.end(), {a, "--shape", shape});
    ASSERT_EQ(RunCli(into_a).exit_code, 0);
  }
  for (const auto& [store, tile] : {std::pair(b, 16), std::pair(Path("sc/store.db"), 4096)}) {
    const std::string selections = Write("selections.json", Selection("scale", tile));
    ProcessResult imported = RunCli(
        {"records", "import", "--selections", selections, "--bundle", bundle, "--device", "cpu", "--store", store});
    ASSERT_EQ(imported.exit_code, 0) << imported.output;
  }
  nlohmann::json json = Json({a, b}, kReverted, found);
  ASSERT_EQ(json["shapes"].size(), 1u) << "of N=300 one alone has a record";
  EXPECT_EQ(json["shapes"][0]["shape"], (nlohmann::json{{"N", 20000}}));
  EXPECT_EQ(json["shapes"][0]["a"]["config"], (nlohmann::json{{"TILE", 4096}}));
  EXPECT_EQ(json["shapes"][0]["b"]["config"], (nlohmann::json{{"TILE", 16}}));
  EXPECT_EQ(Json({b, a, "--bundle", bundle})["summary"]["verdict"], "accept");
  json = Json({a, Path("sc/store.db"), "--bundle", bundle, "--shape", "N=20000"});
  EXPECT_EQ(json["shapes"][0]["is_same_code"], true);
  EXPECT_EQ(json["summary"]["verdict"], "no_change");
  ExpectOneLineError(Compare({a, b, "--bundle", bundle, "--shape", "N=300"}), "B has no usable record for N=300");
  ExpectOneLineError(Compare({a, b}), "no bundle 'scale'");
  ExpectOneLineError(Compare({a, b, "--shape", "N=300"}), "needs --bundle");
  ExpectOneLineError(Compare({a, b, "--bundle", "vector_add"}), "no key of 'vector_add' in common");
  ExpectOneLineError(Compare({a, bundle}), "is a store, and B, ");
}

TEST_F(CompareTest, ResultsAreComparedByTheirIntervals) {
  auto result = [&](const std::string& name, double mean_us, double margin_us, const std::string& shape = "4096") {
    TuningRecord record;
    record.key.kernel = "k";
    record.key.device_name = "H200";
    record.tuned_at = "N=" + shape;
    record.timer = "cupti";
    record.best.config = Config::Of(
        {{"TILE", AxisKind::kStructural, std::int64_t{64}}, {"backend", AxisKind::kStructural, std::string("tile")}});
    record.best.kind = OutcomeKind::kMeasured;
    record.best.variant = "tile";
    record.best.measurement = {mean_us, margin_us, 40};
    if (margin_us < 0) record.best.measurement.error_margin_us.reset();
    return Write(name, RecordsToJson({record}));
  };
  const std::string a = result("a.json", 100, .1);
  struct Case {
    double mean_us, margin_us;
    const char* verdict;
    bool is_conclusive;
  };
  for (const Case& each :
       {Case{90, .1, "accept", true}, Case{97, .1, "minor", true}, Case{99, .1, "no_change", true},
        Case{90, 20, "no_change", false}, Case{97, 1.5, "minor", false}, Case{103, .1, "revert", true}}) {
    const std::string b = result("b.json", each.mean_us, each.margin_us);
    const int exit_code = std::string(each.verdict) == "revert" ? kReverted : 0;
    nlohmann::json json = Json({a, b}, exit_code, "TUNEONCE_CPU_DRIVER=/none");
    EXPECT_EQ(json["summary"]["verdict"], each.verdict) << each.mean_us;
    EXPECT_EQ(json["shapes"][0]["is_conclusive"], each.is_conclusive) << each.mean_us;
    EXPECT_NEAR(json["summary"]["speedup"]["ratio"].get<double>(), 100 / each.mean_us, 1e-9);
    EXPECT_EQ(json["shapes"][0]["correctness"], "not_compared");
    EXPECT_EQ(json["shapes"][0]["b"]["config"], (nlohmann::json{{"TILE", 64}, {"backend", "tile"}}));
    EXPECT_EQ(json["device"], "H200");
  }
  ExpectOneLineError(Compare({a, result("other.json", 1, .1, "8")}), "A has the shape N=4096, and B has N=8");
  ExpectOneLineError(Compare({a, a, "--shape", "N=8"}), "remove --shape, --shapes and --scalar");
  ExpectOneLineError(Compare({a, result("single.json", 1, -1)}), "a time without an interval");
  ExpectOneLineError(Compare({a, result("zero.json", 0, .1)}), "has no time of the selected config");
  for (const auto& [text, part] :
       {std::pair("", "the file is not JSON"), std::pair("[1]", "the file is not a file of records"),
        std::pair(R"({"keys": []})", "the file is not a file of records"),
        std::pair(R"({"format": "tuneonce-records", "version": 7, "records": []})", "compare two stores")}) {
    ExpectOneLineError(Compare({a, Write("wrong.json", text)}), part);
  }
  const std::string deep(100000, '[');
  ExpectOneLineError(Compare({a, Write("wrong.json", deep)}), "the JSON is nested deeper than");
}

TEST_F(CompareTest, ResultsOfTuneAreRead) {
  for (const auto& [name, work] : {std::pair("a", 400), std::pair("b", 1)}) {
    std::string manifest = *ReadFile(Bundle(name, work) + "/manifest.json");
    manifest.replace(manifest.find("16,"), 3, "8192,");  // One as good as the other: so there is more than one sample.
    Write(std::string(name) + "/manifest.json", manifest);
    // On a busy machine the other may leave after its first run, and then there is one sample.
    bool has_interval = false;
    for (int attempt = 0; attempt < 20 && !has_interval; ++attempt) {
      ProcessResult tuned = RunCli({"tune", Path(name), "--device", "cpu", "--json"});
      ASSERT_EQ(tuned.exit_code, 0) << tuned.output;
      has_interval = !nlohmann::json::parse(tuned.output)["records"][0]["best"]["error_margin_us"].is_null();
      Write(std::string(name) + ".json", tuned.output);
    }
    ASSERT_TRUE(has_interval);
  }
  nlohmann::json json = Json({Path("a.json"), Path("b.json")});
  EXPECT_EQ(json["summary"]["verdict"], "accept");
  EXPECT_EQ(json["shapes"][0]["shape"], (nlohmann::json{{"N", 20000}}));
}

}  // namespace
}  // namespace tuneonce
