// The command line as a user meets it: what it prints, its exit code, one clear line for bad input.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "report/records_json.h"
#include "testing/expect_status.h"
#include "testing/tools.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
namespace {

/// Runs `command`, in which $1 is `tuneonce`, by a shell.
ProcessResult RunShell(const std::string& command) { return Run({"/bin/sh", "-c", command, "sh", TUNEONCE_CLI}); }

class TuneByName : public ::testing::TestWithParam<std::pair<const char*, std::vector<std::string>>> {};

TEST_P(TuneByName, PrintsAResultThatWasChecked) {
  auto [bundle, shape] = GetParam();
  std::vector<std::string> arguments = {"tune", bundle, "--device", "cpu", "--json"};
  for (const std::string& setting : shape) arguments.insert(arguments.end(), {"--shape", setting});
  ProcessResult result = RunCli(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  Result<std::vector<TuningRecord>> records = RecordsFromJson(result.output);
  ASSERT_OK(records);
  ASSERT_EQ(records->size(), 1u);
  auto json = nlohmann::json::parse(result.output)["records"][0];
  EXPECT_EQ(json["kernel"], bundle);
  EXPECT_NE(json["device"].get<std::string>().find("CPU device"), std::string::npos) << "never presented as a GPU";
  EXPECT_GE(json["speedup_over_baseline"].get<double>(), 1.0);
  EXPECT_FALSE(json["best"]["largest_difference"].is_null()) << "compared with the baseline's output";
  EXPECT_TRUE(records->front().failures().empty());
  EXPECT_GT(json["cost"]["compile_seconds"].get<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(
    All, TuneByName,
    ::testing::Values(std::pair{"matmul", std::vector<std::string>{"M=100", "N=130", "K=70"}},
                      std::pair{"rms_norm", std::vector<std::string>{"M=37", "N=301"}},
                      std::pair{"persistent_matmul", std::vector<std::string>{"M=1", "N=70", "K=90"}},
                      std::pair{"softmax", std::vector<std::string>{"M=1", "N=16384"}},
                      std::pair{"silu_and_mul", std::vector<std::string>{"M=3", "N=4001", "N2=8002"}},
                      std::pair{"rope", std::vector<std::string>{"T=17", "H=5"}},
                      std::pair{"attention", std::vector<std::string>{"S=33", "T=50", "H=6"}},
                      std::pair{"decode_attention", std::vector<std::string>{"B=3", "C=100", "H=6"}},
                      std::pair{"dual_gemm", std::vector<std::string>{"M=100", "N=130", "K=70"}},
                      std::pair{"elementwise", std::vector<std::string>{"N=100001"}},
                      std::pair{"fp8_block_matmul",
                                std::vector<std::string>{"M=100", "N=130", "K=170", "NB=2", "KB=2"}},
                      std::pair{"fp8_matmul", std::vector<std::string>{"M=100", "N=130", "K=70"}},
                      std::pair{"grouped_gemm", std::vector<std::string>{"T=100", "E=7", "OFFSETS=8", "N=130", "K=70"}},
                      std::pair{"grouped_gemm_pointers", std::vector<std::string>{"M=20", "E=7", "N=130", "K=70"}},
                      std::pair{"varlen_attention", std::vector<std::string>{"T=100", "OFFSETS=9", "H=6"}},
                      std::pair{"paged_attention", std::vector<std::string>{"T=50", "H=6", "PAGES=70"}},
                      std::pair{"split_k_matmul", std::vector<std::string>{"M=20", "N=131", "K=600", "COUNTERS=6"}},
                      std::pair{"layer_norm", std::vector<std::string>{"M=37", "N=301"}},
                      std::pair{"vector_add", std::vector<std::string>{"N=100001"}}),
    [](const auto& param) { return std::string(param.param.first); });

TEST(CliTest, TextOutputHasATableAndTheCheck) {
  ProcessResult result = RunCli({"tune", "vector_add", "--device", "cpu", "--shape", "N=5000"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.output.find("config"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("outputs were compared with the baseline's"), std::string::npos) << result.output;
}

TEST(CliTest, ABundleIsTunedOnWhatItDeclares) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_TRUE(folder.ok());
  // Outside of 0 to n - 1, an index is a fault.
  ASSERT_TRUE(folder
                  ->WriteFile("gather.cc", R"(
static void gather(const tuneonce_block&, const float* x, const int* index, float* y, bool twice, int n) {
  for (int i = 0; i < n; ++i) y[i] = *(x + 1000000000000L * (index[i] < 0 || index[i] >= n)) * (twice ? 2 : 1);
}
TUNEONCE_CPU_KERNEL(gather);)")
                  .ok());
  auto tune = [&](const std::string& fill, const std::string& twice) {
    std::string manifest = R"({"tuneonce_bundle": 1, "name": "gather", "version": "1", "dims": ["N"], "parameters": [
{"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
{"name": "index", "kind": "tensor", "access": "in", "dtype": "int32", "dims": ["N"])" +
                           fill + R"(},
{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
{"name": "twice", "kind": "scalar", "dtype": "bool")" +
                           twice + R"(}, {"kind": "dim", "dim": "N"}],
"axes": [], "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "gather",
"grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "gather.cc"}]}]})";
    EXPECT_TRUE(folder->WriteFile("manifest.json", manifest).ok());
    return std::vector<std::string>{"tune", folder->path(), "--device", "cpu", "--shape", "N=50"};
  };
  ExpectOneLineError(tune("", R"(, "warmup": true)"), "parameter 'index' (int32 tensor) has no warm-up values");
  ExpectOneLineError(tune(R"(, "warmup": 1)", ""), "parameter 'twice' (bool scalar) has no warm-up values");
  std::vector<std::string> arguments = tune(R"(, "warmup": {"uniform": [0, "N"]})", "");
  arguments.insert(arguments.end(), {"--scalar", "twice=1", "--store", folder->path() + "/cache/store.db"});
  ProcessResult result = RunCli(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  ProcessResult records = RunCli({"records", "list", "--json", "--store", folder->path() + "/cache/store.db"});
  EXPECT_NE(records.output.find("\"fill\""), std::string::npos) << records.output;
  // The same by the one option for all names.
  arguments = tune(R"(, "warmup": {"uniform": [0, "N"]})", "");
  arguments.insert(arguments.end(), {"--shape", "twice=1", "--shape", "x=float32"});
  result = RunCli(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const auto& [setting, message] : {std::pair("twice=2", "scalar 'twice': 2 must be 0 or 1"),
                                         std::pair("x=flot", "--shape x=flot: the dtype is unknown"),
                                         std::pair("x=int8", "the bundle declares the dtype float32"),
                                         std::pair("z=1", "no dim, scalar or tensor 'z'; it has: N, x, index, y")}) {
    std::vector<std::string> wrong = tune(R"(, "warmup": 1)", R"(, "warmup": true)");
    wrong.insert(wrong.end(), {"--shape", setting});
    ExpectOneLineError(wrong, message);
  }
}

TEST(CliTest, AScalarOfEachTypeCanBeGiven) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(folder
                  ->WriteFile("k.cc", R"(
static void sum(const tuneonce_block&, float* y, _Float16 h, tuneonce_bfloat16 b, signed char i, unsigned short u) {
  *y = float(h) + float(b) + i + u;
}
TUNEONCE_CPU_KERNEL(sum);)")
                  .ok());
  ASSERT_TRUE(folder
                  ->WriteFile("manifest.json", R"({"tuneonce_bundle": 1, "name": "sum", "version": "1", "dims": ["N"],
"parameters": [{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
{"name": "h", "kind": "scalar", "dtype": "float16"}, {"name": "b", "kind": "scalar", "dtype": "bfloat16"},
{"name": "i", "kind": "scalar", "dtype": "int8"}, {"name": "u", "kind": "scalar", "dtype": "uint16"}],
"axes": [], "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "sum",
"grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "k.cc"}]}]})")
                  .ok());
  auto tune = [&](const std::string& h, const std::string& i) {
    return std::vector<std::string>{"tune",   folder->path(), "--device", "cpu",      "--shape", "N=1",      "--scalar",
                                    "h=" + h, "--scalar",     "b=2.5",    "--scalar", "i=" + i,  "--scalar", "u=65535"};
  };
  ProcessResult result = RunCli(tune("-inf", "-128"));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  ExpectOneLineError(tune("1e6", "1"), "scalar 'h'");
  ExpectOneLineError(tune("1", "128"), "scalar 'i': 128 is not a number that int8 can represent");
}

TEST(CliTest, ABundleOfTheUsersOwnFolderIsFoundByNameAndTunedOnASmallerShapeOnTheCpuDevice) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  ASSERT_TRUE(folder.ok());
  ASSERT_EQ(mkdir((folder->path() + "/fill").c_str(), 0700), 0);
  ASSERT_TRUE(folder
                  ->WriteFile("fill/fill.cc", R"(
static void fill(const tuneonce_block&, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 1; }
TUNEONCE_CPU_KERNEL(fill);)")
                  .ok());
  ASSERT_TRUE(folder
                  ->WriteFile("fill/manifest.json",
                              R"({"tuneonce_bundle": 1, "name": "fill", "version": "1", "dims": ["N"], "parameters": [
{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]}, {"kind": "dim", "dim": "N"}],
"example": {"dims": {"N": 4000000000000}, "cpu_dims": {"N": 50}},
"axes": [], "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "fill",
"grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "fill.cc"}]}]})")
                  .ok());
  const std::string folders = "TUNEONCE_BUNDLES=/none:" + folder->path();
  ProcessResult result = RunCli({"tune", "fill", "--device", "cpu", "--json"}, folders);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(nlohmann::json::parse(result.output)["records"][0]["tuned_at"], "N=50");
  EXPECT_NE(RunCli({"tune", "--help"}, folders).output.find("fill, fp8_block_matmul, fp8_matmul, "), std::string::npos);
  ExpectOneLineError({"tune", "fill", "--device", "cpu"}, "no bundle 'fill'");
  ExpectOneLineError({"tune", "fill", "--device", "cpu", "--shape", "N=4000000000000"}, "out of memory", folders);
}

TEST(CliTest, TheEnvironmentDoesNotStopTune) {
  ProcessResult result = RunCli({"tune", "vector_add", "--device", "cpu", "--shape", "N=5000"}, "DISABLE_AUTOTUNE=1");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("measured"), std::string::npos) << result.output;
}

TEST(CliTest, BadInputIsOneClearLine) {
  ExpectOneLineError({}, "A subcommand is required: choose one of doctor, tune, ");
  ExpectOneLineError({"dance"}, "unknown command 'dance': choose one of doctor, tune, ");
  ExpectOneLineError({"dance", "--help"}, "unknown command 'dance'");
  ExpectOneLineError({"records", "dance", "--help"}, "unknown command 'records dance'");
  ExpectOneLineError({"records"}, "A subcommand is required: choose one of list, show, ");
  ExpectOneLineError({"records", "dance"}, "unknown command 'records dance': choose one of list, show, ");
  ExpectOneLineError({"bundle", "new", "x"}, "unknown command 'bundle new': choose one of show, check, ");
  ExpectOneLineError({"tune"}, "give a bundle or --shapes FILE");
  ExpectOneLineError({"tune", "nonsense", "--device", "cpu"}, "; the installed bundles are: rope, elementwise, ");
  ExpectOneLineError({"tune", "nonsense"},
                     "no bundle 'nonsense': there is no such folder, and no bundle of that name in ");
  ExpectOneLineError({"tune", "no/nonsense"}, "no bundle folder 'no/nonsense'");
  ExpectOneLineError({"tune", "vector_add", "--device", "tpu"}, "unknown device 'tpu'");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu:5"}, "no device 5");
  ExpectOneLineError({"tune", "vector_add", "--nonsense"}, "--nonsense");
  for (const char* value : {"N=x", "N=1.5", "N=0", "N=-3", "N=9223372036854775808", "N=12a", "N= 3"}) {
    ExpectOneLineError({"tune", "vector_add", "--device", "cpu", "--shape", value}, "must be a whole number from 1");
  }
  for (const char* setting : {"Q=3", "n=3"}) {
    ExpectOneLineError({"tune", "vector_add", "--device", "cpu", "--shape", setting}, "'; it has: N");
  }
  ExpectOneLineError({"tune", "matmul", "--device", "cpu", "--shape", "M=9223372036854775807"},
                     "parameter 'a' is larger than any device's memory");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu", "--shape", "N=1000000000000"}, "out of memory");
  ExpectOneLineError({"tune", "rope", "--device", "cpu", "--shape", "D=126"}, "condition 'D == 2 * R' does not hold");
}

TEST(CliTest, NumbersAreReadExactlyOrRefused) {
  std::string bundle = TUNEONCE_BUNDLE_FOLDER "/rms_norm";
  for (const char* value : {"M=1e300", "M=1e3", "M=0x10", "M=010x", "M=-1", "M=0", "M= 3", "M=3 ", "M=+3",
                            "M=9999999999999999999", "M=nan"}) {
    ExpectOneLineError({"tune", bundle, "--device", "cpu", "--shape", value}, "must be a whole number from 1");
  }
  for (const char* setting : {"M=", "M", "=3", "", "="}) {
    ExpectOneLineError({"tune", bundle, "--device", "cpu", "--shape", setting}, "write NAME=NUMBER");
    ExpectOneLineError({"tune", bundle, "--device", "cpu", "--scalar", setting}, "write NAME=NUMBER");
  }
  for (const char* value : {"eps=1e300", "eps=0x10", "eps= 1", "eps=1e-5x", "eps=--1", "eps=1e-400"}) {
    ExpectOneLineError({"tune", bundle, "--device", "cpu", "--scalar", value},
                       "is not a number that float32 can represent");
  }
  ExpectOneLineError({"tune", bundle, "--device", "cpu", "--scalar", "delta=1"}, "no scalar 'delta'");
  ExpectOneLineError({"tune", bundle, "--device", "cpu", "--shape", "M=3", "--shape", "M=4"}, "'M' is given twice");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu", "--shape", "N=3", "--shape", "N=4"},
                     "'N' is given twice");
  for (const char* device : {"cpu: 0", "cpu:+0", "cpu:0x0", "cpu:", "cpu:0 ", "cpu:99999999999", "cpu:0:0"}) {
    ExpectOneLineError({"tune", "vector_add", "--device", device}, "unknown device");
  }
  for (const char* days : {"0x10", "010x", " 1", "+1", "0", "-1", "99999999999", "1.5", "1e3"}) {
    ExpectOneLineError({"records", "prune", "--older-than-days", days}, "must be a whole number from 1");
  }
  std::string file = TUNEONCE_TEST_DATA "/ptx/softmax.ptx";
  for (const char* ms : {"0x10", "-1", "0", "99999999999", "1.5", "soon"}) {
    ExpectOneLineError({"compile", file, "--target", "sm_90", "--timeout-ms", ms}, "--timeout-ms");
  }
  for (const char* target :
       {"sm_", "sm_-90", "sm_09", "sm_090", "sm_99999999999", "sm_9", "sm_90x", "sm_ 90", "90", ""}) {
    ExpectOneLineError({"compile", file, "--target", target}, "is unknown: use a name such as sm_90");
  }
  std::string tile_ir = TUNEONCE_TEST_DATA "/tile_ir/matmul.tileir";
  for (const char* hint : {"occupancy=99999999999999999999", "occupancy=0x2", "occupancy=", "=2", "occupancy= 2"}) {
    ExpectOneLineError({"hints", "set", tile_ir, hint, "-o", "/no/folder/x"}, "write NAME=NUMBER");
  }
}

TEST(CliTest, ExceptionsAreOneLine) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  std::string odd_store = folder->path() + "/\xff/store.db";
  SqliteStoreOptions where;
  where.path = odd_store;
  ASSERT_OK(SqliteStore::Open(where));
  EXPECT_EQ(RunCli({"records", "prune", "--kernel", "k", "--json", "--store", odd_store}).exit_code, 1) << "nlohmann";
  ExpectOneLine(RunCli({"records", "list", "--store", odd_store + "/x/y"}), "\\xff/store.db");
  EXPECT_EQ(RunCli({"records", "list", "--json", "--store", odd_store}).exit_code, 0);
  EXPECT_EQ(RunCli({"records", "prune", "--older-than-days", "1", "--json", "--store", odd_store}).exit_code, 0);
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer's own memory is more than the limit";
#endif
#endif
  // Less memory than the file needs and more than the program does. The file has no content on disk.
  std::string file = folder->path() + "/large.json";
  ASSERT_TRUE(WriteFile(file, "").ok());
  ASSERT_EQ(truncate(file.c_str(), 100 << 20), 0);
  ProcessResult result =
      RunShell("ulimit -v 250000; exec \"$1\" records import " + file + " --store " + folder->path() + "/s/store.db");
  ExpectOneLine(result, "");
  EXPECT_EQ(result.exit_code, 1);
}

TEST(CliTest, WhatCannotBePrintedIsAnError) {
  ExpectOneLine(RunShell("exec \"$1\" doctor > /dev/full"), "cannot write to stdout");
  ExpectOneLine(RunShell("exec \"$1\" --help > /dev/full"), "cannot write to stdout");
  ExpectOneLine(RunShell("exec \"$1\" doctor --json >&-"), "cannot write to stdout");
}

TEST(CliTest, AStoreIsNotPrintedIntoWhereTheOutputsAreClosed) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  std::string store = folder->path() + "/s/store.db";
  std::string none = folder->path() + "/none.json";  // Importing nothing makes a store; looking does not.
  nlohmann::json no_records = {
      {"format", kRecordsFormat}, {"version", kRecordsVersion}, {"records", nlohmann::json::array()}};
  ASSERT_TRUE(WriteFile(none, no_records.dump()).ok());
  ASSERT_EQ(RunCli({"records", "import", none, "--store", store}).exit_code, 0);
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    RunShell("exec \"$1\" records prune --older-than-days 1 --store " + store + " " + closed);
    ProcessResult verified = RunCli({"records", "verify", "--store", store});
    EXPECT_EQ(verified.exit_code, 0) << closed << ": " << verified.output;
  }
  EXPECT_EQ(NamesIn(folder->path() + "/s").size(), 4u) << "the file, its log, its index and its lock; none set aside";
}

TEST(CliTest, MissingToolsAndDriversAreNamed) {
  ExpectOneLineError({"tune", "vector_add", "--device", "cuda"}, "--device cpu", "TUNEONCE_CUDA_DRIVER=/no/libcuda.so");
  ExpectOneLineError({"tune", "vector_add", "--device", "cuda"}, "not a CUDA driver", "TUNEONCE_CUDA_DRIVER=libm.so.6");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu"}, "not a CUDA driver", "TUNEONCE_CPU_DRIVER=libm.so.6");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu"},
                     "was not found; looked for: /no/driver.so: ", "TUNEONCE_CPU_DRIVER=/no/driver.so");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu"}, "no-such-compiler", "TUNEONCE_CXX=no-such-compiler");
  ExpectOneLineError({"tune", "vector_add", "--device", "cpu"}, "/no/tmp", "TMPDIR=/no/tmp");
}

TEST(CliTest, DoctorSaysWhatIsThere) {
  ProcessResult text = RunCli({"doctor"});
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_NE(text.output.find("[ok]      device cpu:0"), std::string::npos) << text.output;
  ProcessResult elsewhere = RunCli({"doctor"}, "TUNEONCE_CUDA_INCLUDE=/no/include");
  EXPECT_NE(elsewhere.output.find("[missing] CUDA headers: the CUDA toolkit's headers were not found; looked for "
                                  "cuda_fp16.h in /no/include: install"),
            std::string::npos)
      << elsewhere.output;
  EXPECT_EQ(elsewhere.exit_code, 0) << "what needs none of them can tune";
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
  Result<TemporaryFolder> folder = testing::MakeFolder();
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
  ExpectOneLineError({"hints", "set", file, "occupancy", "-o", "/tmp/x"},
                     "'occupancy' is not a hint: write NAME=NUMBER");
  ExpectOneLineError({"hints", "set", file, "occupancy=0", "-o", "/tmp/x"}, "occupancy=0 is not within 1 to 32");
  ExpectOneLineError({"hints", "set", file, "occupancy=2", "--target", "h100", "-o", "/tmp/x"}, "'h100'");
  ExpectOneLineError({"hints", "set", file, "occupancy=2", "--entry", "gemm", "-o", "/tmp/x"},
                     "its entries are: matmul");
  ExpectOneLineError({"hints", "set", file, "occupancy=2", "-o", "/no/folder/x"}, "cannot write /no/folder/x");
  ExpectOneLineError({"hints", "set", file, "occupancy=2"}, "--output is required");
}

TEST(CompileTest, CompilesPtxToACubin) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
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

TEST(CompileTest, OptionsAreThoseThatAnAxisCanBe) {
  std::set<std::string> codes;
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{},
        {"--option", "ftz=false"},
        {"--option", "ftz=true"},
        {"--option", "ftz=true", "--option", "approx=true", "--option", "opt-level=3"}}) {
    std::vector<std::string> command = {"compile", Fixture("math.13.3.tileir"), "--target", "sm_90", "--json"};
    command.insert(command.end(), options.begin(), options.end());
    const char* tileiras = std::getenv("TUNEONCE_TILEIRAS");
    ProcessResult result = RunCli(command, tileiras == nullptr ? "A=B" : std::string("TUNEONCE_TILEIRAS=") + tileiras);
    if (result.output.find("tileiras was not found") != std::string::npos) {
      GTEST_SKIP() << "NOT INSTALLED: " << result.output;
    }
    ASSERT_EQ(result.exit_code, 0) << result.output;
    codes.insert(nlohmann::json::parse(result.output)["code_fingerprint"]);
  }
  EXPECT_EQ(codes.size(), 3u) << "false is what the file has";
}

TEST(CompileTest, CudaCppTakesMacrosFoldersAStandardAndAnInstance) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  std::string file = *folder->WriteFile("k.cu",
                                        "#include <cuda_fp16.h>\n#include \"beside.h\"\n#include <scale.h>\n"
                                        "template <int N, Number T> __global__ void k(T* x) { x[0] = N * SCALE; }\n");
  ASSERT_TRUE(folder->WriteFile("beside.h", "template <class T> concept Number = sizeof(T) > 0;\n").ok());
  std::vector<std::string> command = {"compile", file, "--target", "sm_90", "--symbol", "k<TILE, float>",
                                      "--json",  "-D", "TILE=64",  "-DTWO", "--std",    "c++20"};
  ProcessResult missing = RunCli(command);
  if (missing.output.find("scale.h") == std::string::npos) {
    GTEST_SKIP() << "NVRTC OR ITS HEADERS ARE NOT INSTALLED: " << missing.output;
  }
  ExpectOneLine(missing, file + "(3): the header \"scale.h\" was not found; looked in ");
  std::string include = folder->path() + "/include";
  ASSERT_EQ(mkdir(include.c_str(), 0700), 0);
  ASSERT_TRUE(WriteFile(include + "/scale.h", "#define SCALE (TWO + 1)\n").ok());
  command.insert(command.end(), {"-I", include});
  ProcessResult result = RunCli(command);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(nlohmann::json::parse(result.output)["kernel"], "_Z1kILi64EfEvPT0_");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "-D", "A=1", "-D", "A=2"}, "-D A is given twice");
  const std::string two = *folder->WriteFile("two.cu", "__global__ void one() {}\n__global__ void other() {}\n");
  ExpectOneLineError({"compile", two, "--target", "sm_90"}, "'" + two + "' has several kernels, ");
  ExpectOneLineError({"compile", two, "--target", "sm_90"}, ": name one with --symbol");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "-D", "1X"}, "cannot define the macro '1X'");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "-I", "/no/folder"}, "-I /no/folder: there is no such");
  for (const char* option : {"-D", "-I", "--std"}) {
    ExpectOneLineError({"compile", Fixture("matmul.tileir"), "--target", "sm_90", option, "/"},
                       std::string(option) + " applies to .cu files only");
  }
  ExpectOneLineError({"compile", Fixture("matmul.tileir"), "--target", "sm_90", "--tile"},
                     "--tile applies to .cu files only");
}

TEST(CompileTest, TileCppTakesMacrosAnInstanceAndHints) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  std::string file = *folder->WriteFile(
      "k.cu",
      "#include \"cuda_tile.h\"\ntemplate <int TILE>\n"
      "[[cutile::hint(0, occupancy=2)]] __tile_global__ void fill(float* out, int n) {\n"
      "  namespace tiles = ::cuda::tiles;\n"
      "  auto outs = tiles::partition_view{tiles::tensor_span{out, tiles::extents{n}}, tiles::shape<TILE>{}};\n"
      "  outs.store_masked(tiles::full<tiles::tile<float, tiles::shape<TILE>>>(VALUE), tiles::bid().x);\n}\n");
  const std::string tileiras = "TUNEONCE_TILEIRAS=" + Environment::Read().tileiras;
  ProcessResult result = RunCli({"compile", file, "--tile", "--target", "sm_90", "--symbol", "fill<TILE>", "--json",
                                 "-D", "TILE=64", "-D", "VALUE=3", "--hint", "occupancy=2"},
                                tileiras);
  if (result.output.find("CUDA Tile C++ needs") != std::string::npos)
    GTEST_SKIP() << "NOT INSTALLED: " << result.output;
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(nlohmann::json::parse(result.output)["kernel"], "_Z4fillILi64EEvPfi");
  result =
      RunCli({"hints", "show", file, "--tile", "--symbol", "fill<TILE>", "-D", "TILE=64", "-D", "VALUE=3", "--json"},
             tileiras);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["entries"].size(), 1u);
  EXPECT_EQ(json["entries"][0]["hints"].dump(), R"({"default":{"occupancy":2}})");
  ExpectOneLineError({"hints", "show", file}, "is CUDA C++, which has no hints; add --tile for tile kernels");
  ExpectOneLineError({"hints", "show", Fixture("matmul.tileir"), "--tile"}, "--tile applies to .cu files only");
  ExpectOneLineError({"compile", file, "--tile", "--target", "sm_90", "-D", "VALUE=3"},
                     "the source has no tile kernel other than templates", tileiras);
  ExpectOneLineError({"compile", file, "--tile", "--target", "sm_90", "--symbol", "none<64>"},
                     "the kernel's name 'none<64>': error: ", tileiras);
  ExpectOneLineError({"compile", file, "--target", "sm_90", "--hint", "occupancy=2"},
                     "--hint applies to .tileir files, and to .cu files with --tile");
}

TEST(CompileTest, ItsInputIsNotReplaced) {
  Result<TemporaryFolder> folder = testing::MakeFolder();
  const std::string file = *folder->WriteFile("k.ptx", "mine");
  ASSERT_EQ(symlink("k.ptx", (folder->path() + "/link.ptx").c_str()), 0);
  ExpectOneLineError({"compile", file, "--target", "sm_90", "-o", file}, "it is one of the inputs");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "-o", folder->path() + "/link.ptx"},
                     "it is the file " + file + ", which is one of the inputs");
  EXPECT_EQ(*ReadFile(file), "mine");
}

TEST(CompileTest, BadInputIsOneClearLine) {
  std::string file = Fixture("matmul.tileir");
  ExpectOneLineError({"compile", file}, "--target is required");
  ExpectOneLineError({"compile", file, "--target", "h100"}, "target 'h100' is unknown: use a name such as sm_90");
  ExpectOneLineError({"compile", "k.cpp", "--target", "sm_90"}, "does not end in .tileir, .ptx or .cu");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "--hint", "num_ctas=3"}, "num_cta_in_cga=3");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "--option", "maxrregcount=32"},
                     "--option maxrregcount: the compiler of tile_ir sources has no such option");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "--option", "ftz=1"}, "takes false and true, but not 1");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "--option", "fast=true"}, "cannot be an axis");
  ExpectOneLineError({"compile", file, "--target", "sm_90", "--option", "ftz"}, "'ftz' is not an option");
  ExpectOneLineError({"compile", file, "--target", "sm_90"}, "tileiras was not found at /no/tileiras",
                     "TUNEONCE_TILEIRAS=/no/tileiras");
}

/// Where `-o` points, and what must be left there. The writing command: hints clear.
class OutputTest : public ::testing::Test {
 protected:
  OutputTest() : folder_(*testing::MakeFolder()) {}

  ProcessResult WriteTo(const std::string& path) {
    return RunCli({"hints", "clear", Fixture("rms_norm.hinted.tileir"), "-o", path});
  }
  std::string Path(const std::string& name) { return folder_.path() + "/" + name; }
  std::string Expected() {
    EXPECT_EQ(WriteTo(Path("expected")).exit_code, 0);
    return Content(Path("expected"));
  }
  static std::string Content(const std::string& path) {
    Result<std::string> content = ReadFile(path);
    return content.ok() ? *content : content.status().ToString();
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info.st_mode;
  }

  TemporaryFolder folder_;
};

TEST_F(OutputTest, AFileIsReplacedAndKeepsItsMode) {
  std::string expected = Expected();
  ASSERT_TRUE(WriteFile(Path("old"), "old").ok());
  ASSERT_EQ(chmod(Path("old").c_str(), 0640), 0);
  EXPECT_EQ(WriteTo(Path("old")).exit_code, 0);
  EXPECT_EQ(Content(Path("old")), expected);
  EXPECT_EQ(ModeOf(Path("old")) & 0777, 0640u);
  EXPECT_EQ(NamesIn(folder_.path()).size(), 3u) << "the two files and the folder's mark: no temporary file is left";
}

TEST_F(OutputTest, OfALinkTheTargetIsReplaced) {
  std::string expected = Expected();
  ASSERT_EQ(mkdir(Path("sub").c_str(), 0700), 0);
  ASSERT_TRUE(WriteFile(Path("sub/target"), "old").ok());
  ASSERT_EQ(symlink("sub/target", Path("link").c_str()), 0);
  ASSERT_EQ(symlink("link", Path("link_to_link").c_str()), 0);
  ASSERT_EQ(symlink("sub/new", Path("dangling").c_str()), 0);
  ASSERT_EQ(symlink("loop", Path("loop").c_str()), 0);
  EXPECT_EQ(WriteTo(Path("link_to_link")).exit_code, 0);
  EXPECT_TRUE(S_ISLNK(ModeOf(Path("link_to_link"))) && S_ISLNK(ModeOf(Path("link"))));
  EXPECT_TRUE(S_ISREG(ModeOf(Path("sub/target"))));
  EXPECT_EQ(Content(Path("sub/target")), expected);
  EXPECT_EQ(WriteTo(Path("dangling")).exit_code, 0);
  EXPECT_TRUE(S_ISLNK(ModeOf(Path("dangling"))));
  EXPECT_EQ(Content(Path("sub/new")), expected);
  ExpectOneLine(WriteTo(Path("loop")), "cannot write");
}

TEST_F(OutputTest, APipeOrDeviceIsWrittenToAndStays) {
  std::string expected = Expected();
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  // Open for both, so that nobody waits for the other end, and nothing is lost: the content fits a pipe's buffer.
  int pipe = open(Path("pipe").c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(pipe, 0);
  EXPECT_EQ(WriteTo(Path("pipe")).exit_code, 0);
  ASSERT_TRUE(S_ISFIFO(ModeOf(Path("pipe"))));
  std::string got(expected.size() + 1, '\0');
  ssize_t count = read(pipe, got.data(), got.size());
  close(pipe);
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  EXPECT_EQ(got, expected);
  // Of a device of our own, so that a fault does not cost the machine's.
  if (mknod(Path("null").c_str(), S_IFCHR | 0666, static_cast<dev_t>(1 << 8 | 3)) != 0) {
    GTEST_SKIP() << "NOT ROOT: no device can be made; the pipe was tested";
  }
  EXPECT_EQ(WriteTo(Path("null")).exit_code, 0);
  EXPECT_TRUE(S_ISCHR(ModeOf(Path("null"))));
}

TEST_F(OutputTest, WhatCannotBeWrittenIsLeftAsItWas) {
  ASSERT_EQ(mkdir(Path("folder").c_str(), 0700), 0);
  ExpectOneLine(WriteTo(Path("folder")), "it is a folder: give a file name");
  ExpectOneLine(WriteTo(Path("none/file")), "cannot write " + Path("none/file"));
  ASSERT_TRUE(WriteFile(Path("old"), "old").ok());
  ExpectOneLine(
      RunShell("ulimit -f 0; exec \"$1\" hints clear " + Fixture("rms_norm.hinted.tileir") + " -o " + Path("old")),
      "cannot write " + Path("old"));
  EXPECT_EQ(Content(Path("old")), "old");
  EXPECT_EQ(NamesIn(folder_.path()).size(), 3u) << "the two files and the folder's mark: no temporary file is left";
}

TEST_F(OutputTest, AFilePlantedUnderTheTemporaryNameIsNotWrittenThrough) {
  ASSERT_TRUE(WriteFile(Path("victim"), "mine").ok());
  ASSERT_EQ(symlink("victim", Path("out.partial").c_str()), 0);
  EXPECT_EQ(WriteTo(Path("out")).exit_code, 0);
  EXPECT_EQ(Content(Path("victim")), "mine");
}

}  // namespace
}  // namespace tuneonce
