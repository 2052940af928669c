// The command line as a user meets it: what it prints, its exit code, one clear line for bad input.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "tuneonce/base/environment.h"

namespace tuneonce {
namespace {

/// Runs `tuneonce` with these arguments in this process's environment, but for `extra`.
ProcessResult RunCli(std::vector<std::string> arguments, const std::string& extra = "A=B") {
  ProcessOptions options;
  options.arguments = {TUNEONCE_CLI};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.environment = {"PATH=" + Environment::Get().path, extra};
  options.max_output_bytes = 1 << 20;
  Result<ProcessResult> result = RunProcess(options);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? *result : ProcessResult{-1, ""};
}

void ExpectOneLineError(const std::vector<std::string>& arguments, const std::string& part,
                        const std::string& extra = "A=B") {
  ProcessResult result = RunCli(arguments, extra);
  EXPECT_NE(result.exit_code, 0) << part;
  EXPECT_LT(result.exit_code, 128) << "no crash: " << result.output;
  EXPECT_EQ(result.output.rfind("tuneonce: ", 0), 0u) << result.output;
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
  EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
}

class TuneExample : public ::testing::TestWithParam<std::pair<const char*, std::vector<std::string>>> {};

TEST_P(TuneExample, PrintsAResultThatWasChecked) {
  auto [example, shape] = GetParam();
  std::vector<std::string> arguments = {"tune", example, "--device", "cpu", "--json"};
  for (const std::string& setting : shape) arguments.insert(arguments.end(), {"--shape", setting});
  ProcessResult result = RunCli(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  auto json = nlohmann::json::parse(result.output);
  for (const char* field :
       {"kernel", "device", "shape", "baseline", "best", "successes", "failures", "speedup_over_baseline", "cost"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["kernel"], example);
  EXPECT_NE(json["device"].get<std::string>().find("CPU device"), std::string::npos) << "never presented as a GPU";
  EXPECT_GE(json["speedup_over_baseline"].get<double>(), 1.0);
  EXPECT_TRUE(json["failures"].empty());
  EXPECT_GT(json["cost"]["compile_s"].get<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(All, TuneExample,
                         ::testing::Values(std::pair{"matmul", std::vector<std::string>{"M=100", "N=130", "K=70"}},
                                           std::pair{"rms_norm", std::vector<std::string>{"M=37", "N=301"}},
                                           std::pair{"rope", std::vector<std::string>{"M=17", "H=5", "D=48", "R=24"}},
                                           std::pair{"vector_add", std::vector<std::string>{"N=100001"}}),
                         [](const auto& param) { return std::string(param.param.first); });

TEST(CliTest, TextOutputHasATableAndTheCheck) {
  ProcessResult result = RunCli({"tune", "vector_add", "--device", "cpu", "--shape", "N=5000"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.output.find("config"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("output checked against the reference"), std::string::npos) << result.output;
}

TEST(CliTest, TheEnvironmentDoesNotStopTune) {
  ProcessResult result = RunCli({"tune", "vector_add", "--device", "cpu", "--shape", "N=5000"}, "DISABLE_AUTOTUNE=1");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("measured"), std::string::npos) << result.output;
}

TEST(CliTest, BadInputIsOneClearLine) {
  ExpectOneLineError({}, "A subcommand is required");
  ExpectOneLineError({"dance"}, "unknown command 'dance'");
  ExpectOneLineError({"tune"}, "bundle is required");
  ExpectOneLineError({"tune", "nonsense", "--device", "cpu"},
                     "unknown example 'nonsense': choose one of matmul, rms_norm, rope, vector_add");
  ExpectOneLineError({"tune", "vector_add", "--device", "tpu"}, "unknown device 'tpu'");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu:5"}, "there is no device 5");
  ExpectOneLineError({"tune", "vector_add", "--nonsense"}, "--nonsense");
  for (const char* value : {"N=x", "N=1.5", "N=0", "N=-3", "N=", "N=9223372036854775808", "N=12a", "N= 3"}) {
    ExpectOneLineError({"tune", "vector_add", "--device", "cpu", "--shape", value}, "must be a whole number from 1");
  }
  for (const char* setting : {"Q=3", "N", "", "=3", "n=3"}) {
    ExpectOneLineError({"tune", "vector_add", "--device", "cpu", "--shape", setting}, "takes K=V with K one of N");
  }
  ExpectOneLineError({"tune", "matmul", "--device", "cpu", "--shape", "M=9223372036854775807"},
                     "the shape is too large");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu", "--shape", "N=1000000000000"}, "out of memory");
  ExpectOneLineError({"tune", "rope", "--device", "cpu", "--shape", "R=3"}, "guard 'D is twice R' does not hold");
}

TEST(CliTest, MissingToolsAndDriversAreNamed) {
  ExpectOneLineError({"tune", "vector_add", "--device", "cuda"}, "--device cpu", "TUNEONCE_CUDA_DRIVER=/no/libcuda.so");
  ExpectOneLineError({"tune", "vector_add", "--device", "cuda"}, "not a CUDA driver", "TUNEONCE_CUDA_DRIVER=libm.so.6");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu"}, "not a CUDA driver", "TUNEONCE_CPU_DRIVER=libm.so.6");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu"}, "no-such-compiler", "TUNEONCE_CXX=no-such-compiler");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu"}, "/no/tmp", "TMPDIR=/no/tmp");
}

TEST(CliTest, DoctorSaysWhatIsThere) {
  ProcessResult text = RunCli({"doctor"});
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_NE(text.output.find("[ok]      device cpu:0"), std::string::npos) << text.output;
  ProcessResult json = RunCli({"doctor", "--json"});
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_TRUE(nlohmann::json::parse(json.output)["ok"].get<bool>());
  ProcessResult nothing = RunCli({"doctor"}, "TUNEONCE_CPU_DRIVER=/no/driver.so");
  EXPECT_NE(nothing.output.find("[missing] CPU driver"), std::string::npos) << nothing.output;
}

TEST(CliTest, HelpIsASuccess) {
  ProcessResult result = RunCli({"tune", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.output.find("rms_norm"), std::string::npos);
}

std::string Fixture(const std::string& name) { return std::string(TUNEONCE_TEST_DATA "/tile_ir/") + name; }

TEST(HintsTest, ShowSetMergeAndClear) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create();
  std::string out = folder->path() + "/out.tileir";
  auto hints_of = [](const std::vector<std::string>& arguments) {
    ProcessResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return nlohmann::json::parse(result.output)["entries"][0]["hints"].dump();
  };
  EXPECT_EQ(hints_of({"hints", "show", Fixture("rms_norm.hinted.tileir"), "--json"}),
            R"({"default":{"num_cta_in_cga":1,"occupancy":2},"sm_90":{"occupancy":4}})");
  EXPECT_EQ(hints_of({"hints", "set", Fixture("rms_norm.hinted.tileir"), "occupancy=4", "num_cta_in_cga=2", "-o", out,
                      "--json"}),
            R"({"default":{"num_cta_in_cga":2,"occupancy":4}})");
  EXPECT_EQ(hints_of({"hints", "set", out, "--target", "sm_90", "--merge", "occupancy=8", "-o", out, "--json"}),
            R"({"default":{"num_cta_in_cga":2,"occupancy":4},"sm_90":{"occupancy":8}})");
  EXPECT_EQ(hints_of({"hints", "clear", out, "-o", out, "--json"}), "{}");
  ProcessResult text = RunCli({"hints", "show", out});
  EXPECT_NE(text.output.find("entry rms_norm(tile<ptr<f16>>, tile<i32>"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("hints: none"), std::string::npos) << text.output;
}

TEST(HintsTest, BadInputIsOneClearLine) {
  std::string file = Fixture("matmul.tileir");
  ExpectOneLineError({"hints", "show", "/no/file"}, "cannot read /no/file");
  ExpectOneLineError({"hints", "show", TUNEONCE_CLI}, "offset 0");
  ExpectOneLineError({"hints", "set", file, "occupancy", "-o", "/tmp/x"}, "'occupancy' is no hint: write NAME=NUMBER");
  ExpectOneLineError({"hints", "set", file, "occupancy=0", "-o", "/tmp/x"}, "occupancy=0 is not within 1 to 32");
  ExpectOneLineError({"hints", "set", file, "occupancy=2", "--target", "h100", "-o", "/tmp/x"}, "'h100'");
  ExpectOneLineError({"hints", "set", file, "occupancy=2", "--entry", "gemm", "-o", "/tmp/x"}, "but matmul");
  ExpectOneLineError({"hints", "set", file, "occupancy=2", "-o", "/no/folder/x"}, "cannot write /no/folder/x");
  ExpectOneLineError({"hints", "set", file, "occupancy=2"}, "--output is required");
}

TEST(CompileTest, CompilesPtxToACubin) {
  Result<TemporaryFolder> folder = TemporaryFolder::Create();
  std::string ptx =
      *folder->WriteFile("k.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n");
  std::string out = folder->path() + "/k.cubin";
  ProcessResult result = RunCli({"compile", ptx, "--target", "sm_90", "-o", out, "--json"});
  if (result.output.find("ptxas was not found") != std::string::npos)
    GTEST_SKIP() << "NOT INSTALLED: " << result.output;
  ASSERT_EQ(result.exit_code, 0) << result.output;
  auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["kernel"], "k");
  EXPECT_GT(json["registers"], 0);
  EXPECT_EQ(json["image_bytes"], ReadFile(out)->size());
  ExpectOneLineError({"compile", ptx, "--target", "sm_90", "--hint", "occupancy=2"}, "--hint applies to .tileir files");
}

TEST(CompileTest, BadInputIsOneClearLine) {
  std::string file = Fixture("matmul.tileir");
  ExpectOneLineError({"compile", file}, "--target is required");
  ExpectOneLineError({"compile", file, "--target", "h100"}, "target 'h100' is none: write it like sm_90");
  ExpectOneLineError({"compile", "k.cpp", "--target", "sm_90"}, "none of .tileir, .ptx, .cu");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "--hint", "num_ctas=3"}, "num_cta_in_cga=3");
  ExpectOneLineError({"compile", file, "--target", "sm_90"}, "tileiras was not found at /no/tileiras",
                     "TUNEONCE_TILEIRAS=/no/tileiras");
}

class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest() : folder_(*TemporaryFolder::Create()) {}

  void TuneInto(const std::string& store) {
    ProcessResult tuned =
        RunCli({"tune", "vector_add", "--device", "cpu", "--shape", "N=5000", "--quiet", "--store", store});
    ASSERT_EQ(tuned.exit_code, 0) << tuned.output;
  }
  nlohmann::json Json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    ProcessResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return nlohmann::json::parse(result.output, nullptr, false);
  }

  TemporaryFolder folder_;
  std::string store_ = folder_.path() + "/a/store.db";
  std::string other_ = folder_.path() + "/b/store.db";
  std::string file_ = folder_.path() + "/records.json";
};

TEST_F(RecordsTest, WhatIsTunedCanBeListedExportedImportedAndPruned) {
  TuneInto(store_);
  nlohmann::json list = Json({"records", "list", "--store", store_});
  ASSERT_EQ(list["records"].size(), 1u);
  nlohmann::json record = list["records"][0];
  EXPECT_EQ(record["kernel"], "vector_add");
  EXPECT_EQ(record["tuned_at"], "N=5000");
  EXPECT_GT(record["mean_us"].get<double>(), 0);
  EXPECT_NE(RunCli({"records", "list", "--store", store_}).output.find("1 records in "), std::string::npos);
  EXPECT_NE(RunCli({"records", "show", "vector_add", "--store", store_}).output.find("kernel_fingerprint"),
            std::string::npos);
  EXPECT_EQ(Json({"records", "export", "-o", file_, "--store", store_})["exported"], 1);
  EXPECT_EQ(Json({"records", "import", file_, "--device", "cpu", "--store", other_})["imported"], 1);
  EXPECT_EQ(Json({"records", "import", file_, "--device", "cpu", "--store", other_})["kept"], 1);
  EXPECT_EQ(Json({"records", "import", file_, "--any-device", "--replace", "--store", other_})["imported"], 1);
  EXPECT_EQ(Json({"records", "list", "--store", other_}), list) << "nothing is lost on the way";
  nlohmann::json verified = Json({"records", "verify", "--store", store_});
  EXPECT_EQ(verified["records"], 1);
  EXPECT_GT(verified["artifacts"], 1) << "the code of all candidates";
  EXPECT_EQ(Json({"records", "prune", "--older-than-days", "1", "--store", other_})["removed"], 0);
  EXPECT_EQ(Json({"records", "prune", "--kernel", "vector_add", "--store", other_})["removed"], 1);
  EXPECT_TRUE(Json({"records", "list", "--store", other_})["records"].empty());
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
  bad["version"] = 3;
  ExpectOneLineError(import(bad), "\"version\" is 3; this program knows version 2");
  bad = good;
  bad["format"] = "other";
  ExpectOneLineError(import(bad), "this is no file of records");
  bad = good;
  bad["records"][0].erase("config");
  ExpectOneLineError(import(bad), "record 0: field 'config' is missing");
  bad = good;
  bad["records"][0]["mean_us"] = "fast";
  ExpectOneLineError(import(bad), "record 0: field 'mean_us' must be a number");
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
  ExpectOneLineError({"records", "import", file_, "--store", other_}, "this is no JSON");
  ExpectOneLineError({"records", "import", folder_.path() + "/none.json", "--store", other_}, "none.json");
  ExpectOneLineError({"records", "show", "nothing", "--store", store_}, "there are: vector_add");
  ExpectOneLineError({"records", "prune", "--store", store_}, "prune needs --kernel");
  ExpectOneLineError({"records", "list", "--store", "/proc/nowhere/store.db"}, "/proc/nowhere");
  ExpectOneLineError({"records", "list"}, "set TUNEONCE_STORE, XDG_CACHE_HOME or HOME");
}

}  // namespace
}  // namespace tuneonce
