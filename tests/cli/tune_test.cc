// tuneonce tune: what a store serves, files of shapes, budgets, interrupts, estimates.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/tools.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
namespace {

class TuneCliTest : public ::testing::Test {
 protected:
  TuneCliTest() : folder_(*testing::MakeFolder()), store_(folder_.path() + "/s/store.db") {}

  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFile(folder_.path() + "/" + name, text).ok());
    return folder_.path() + "/" + name;
  }
  /// `tune ARGUMENTS --device cpu --quiet`, without a store of its own.
  static std::vector<std::string> Tune(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tune");
    arguments.insert(arguments.end(), {"--device", "cpu", "--quiet"});
    return arguments;
  }
  nlohmann::json Json(std::vector<std::string> arguments, int exit_code = 0) {
    arguments = Tune(std::move(arguments));
    arguments.push_back("--json");
    ProcessResult result = RunCli(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    const std::size_t end = result.output.rfind("\n}");  // Behind it, what stderr has.
    const std::size_t begin = result.output.find('{');
    if (end == std::string::npos) return {};
    return nlohmann::json::parse(result.output.substr(begin, end + 2 - begin), nullptr, false);
  }
  std::size_t NumRecords() {
    ProcessResult listed = RunCli({"records", "list", "--json", "--store", store_});
    return nlohmann::json::parse(listed.output)["records"].size();
  }

  TemporaryFolder folder_;
  std::string store_;
};

TEST_F(TuneCliTest, AKeyThatAnotherProcessTunesMeanwhileIsReportedAsStored) {
  const std::string other = folder_.path() + "/other/store.db";
  EXPECT_EQ(Json({"vector_add", "--shape", "N=4096", "--store", other})["from"], "search");
  const auto open = [](const std::string& path) {
    SqliteStoreOptions options;
    options.path = path;
    return *SqliteStore::Open(options);
  };
  const std::vector<TuningRecord> records = *open(other)->List();
  ASSERT_EQ(records.size(), 1u);
  const std::shared_ptr<SqliteStore> store = open(store_);
  Result<TuningLease> lease = store->Lease(records[0].key, {});
  ASSERT_TRUE(lease.ok()) << lease.status().ToString();
  nlohmann::json waited;
  std::thread waiting([&] { waited = Json({"vector_add", "--shape", "N=4096", "--store", store_}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // By then it waits; if not, it finds the record.
  EXPECT_TRUE(store->Put(records[0]).ok());
  lease = TuningLease();
  waiting.join();
  EXPECT_EQ(waited["from"], "store");
  EXPECT_EQ(waited["records"][0]["tuned_at"], "N=4096");
}

TEST_F(TuneCliTest, AStoresRecordServesUnlessItIsToBeTunedAnew) {
  const std::vector<std::string> tune = {"vector_add", "--shape", "N=4096", "--store", store_};
  nlohmann::json first = Json(tune);
  EXPECT_EQ(first["from"], "search");
  nlohmann::json second = Json(tune);
  EXPECT_EQ(second["from"], "store");
  for (const nlohmann::json& json : {first, second}) {
    EXPECT_EQ(json["records"][0]["tuned_at"], "N=4096") << json["from"];
  }
  EXPECT_EQ(second["records"][0]["best"]["config"], first["records"][0]["best"]["config"]);
  EXPECT_EQ(NumRecords(), 1u);
  std::vector<std::string> again = tune;
  again.push_back("--retune");
  EXPECT_EQ(Json(again)["from"], "search");
  EXPECT_EQ(NumRecords(), 1u);
}

TEST_F(TuneCliTest, AScalarOfAShapeIsReadExactly) {
  ASSERT_EQ(mkdir((folder_.path() + "/wide").c_str(), 0700), 0);
  Write("wide/wide.cc",
        "static void wide(const tuneonce_block& b, float* y, unsigned long long u, double f, int n) {\n"
        "  for (int i = 0; i < n; ++i) y[i] = u == ~0ull - 1 && f != f ? 1 : 2;\n}\n"
        "TUNEONCE_CPU_KERNEL(wide);");
  Write("wide/manifest.json",
        R"({"tuneonce_bundle": 1, "name": "wide", "version": "1", "dims": ["N"], "parameters": [
{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
{"name": "u", "kind": "scalar", "dtype": "uint64", "warmup": 1},
{"name": "f", "kind": "scalar", "dtype": "float64", "warmup": 1}, {"kind": "dim", "dim": "N"}],
"key": [{"dim": "N"}, {"value_of": "u"}, {"value_of": "f"}], "axes": [{"name": "A", "values": [1]}], "baseline": {"A": 1}, "variants": [{"name": "cpu", "source": "cpu_cpp",
"symbol": "wide", "grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "wide.cc"}]}]})");
  const std::string file = Write("shapes", "N=4 u=18446744073709551614 f=nan\nN=4 u=18446744073709551615 f=nan\n");
  nlohmann::json keys = Json({folder_.path() + "/wide", "--shapes", file, "--store", store_})["keys"];
  ASSERT_EQ(keys.size(), 2u) << keys;
  for (const nlohmann::json& key : keys) EXPECT_EQ(key["state"], "tuned") << key;
  EXPECT_EQ(NumRecords(), 2u);
}

TEST_F(TuneCliTest, AFileOfShapesIsTunedLineByLineAndTheRestTheNextTime) {
  const std::string file = Write("shapes",
                                 "# ours\nN=4096\nvector_add: N=4000  # 7 launches\nN=0\nsoftmax M=4\n\nN=100000\n"
                                 "N=4096\nX=1\n");
  nlohmann::json keys = Json({"vector_add", "--shapes", file, "--store", store_}, 1)["keys"];
  ASSERT_EQ(keys.size(), 4u) << keys;  // Two are wrong, two of the others are one bucket.
  auto find = [&](int line) {
    for (const nlohmann::json& key : keys) {
      if (key["lines"][0] == line) return key;
    }
    return nlohmann::json();
  };
  EXPECT_EQ(find(2)["lines"], (nlohmann::json{2, 3}));
  EXPECT_EQ(find(2)["state"], "tuned");
  EXPECT_GT(find(7)["mean_us"].get<double>(), 0);
  const nlohmann::json tuned_config = find(7)["config"];
  EXPECT_TRUE(tuned_config.is_object()) << tuned_config;
  EXPECT_EQ(find(4)["state"], "failed");
  EXPECT_TRUE(find(4)["config"].is_null());
  EXPECT_NE(find(4)["error"].get<std::string>().find("N=0"), std::string::npos);
  EXPECT_NE(find(9)["error"].get<std::string>().find("no dim, scalar or tensor 'X'"), std::string::npos);
  keys = Json({"vector_add", "--shapes", file, "--store", store_}, 1)["keys"];
  EXPECT_EQ(find(2)["state"], "stored");
  EXPECT_EQ(find(7)["state"], "stored");
  EXPECT_GT(find(7)["mean_us"].get<double>(), 0) << "as the record says";
  EXPECT_EQ(find(7)["config"], tuned_config);
}

TEST_F(TuneCliTest, WithoutABundleTheLinesNameTheirs) {
  const std::string file = Write("shapes", "vector_add N=1000\nsoftmax M=2 N=512\nnonsense N=1\n");
  nlohmann::json keys = Json({"--shapes", file, "--store", store_}, 1)["keys"];
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(NumRecords(), 2u);
  ExpectOneLineError(Tune({"--shapes", Write("nameless", "N=4\n")}), "line 1: the line names no kernel");
  ExpectOneLineError(Tune({"vector_add", "--shapes", Write("empty", "# none\n")}), "has no shape");
  ExpectOneLineError(Tune({"vector_add", "--shapes", Write("others", "softmax M=2\n")}), "no shape of 'vector_add'");
  ExpectOneLineError(Tune({"vector_add", "--shapes", Write("wrong", "N=4\nN=\n")}),
                     "line 2: 'N=' is not of the form NAME=VALUE");
  ExpectOneLineError(Tune({"vector_add", "--shapes", "/none"}), "cannot read /none");
}

TEST_F(TuneCliTest, ADryRunSaysWhatItWouldDoAndDoesNothing) {
  const std::string file = Write("shapes", "N=4096\nN=4000\nN=100000\n");
  nlohmann::json estimate = Json({"vector_add", "--shapes", file, "--dry-run", "--store", store_});
  EXPECT_EQ(estimate["searches"], 2);
  EXPECT_TRUE(estimate["keys"][1]["is_repeated"]);
  EXPECT_GT(estimate["keys"][0]["to_compile"], 0);
  EXPECT_GT(estimate["seconds"].get<double>(), 0);
  EXPECT_GE(estimate["bytes"], 3 * 100000 * 4);
  EXPECT_EQ(NamesIn(folder_.path()).size(), 2u) << "the file and the folder's mark: no store was made";
  EXPECT_EQ(Json({"vector_add", "--shapes", file, "--dry-run", "--budget", "1s", "--store", store_})["seconds"], 1.0);
  Json({"vector_add", "--shapes", file, "--store", store_});
  estimate = Json({"vector_add", "--shapes", file, "--dry-run", "--store", store_});
  EXPECT_EQ(estimate["searches"], 0);
  EXPECT_TRUE(estimate["keys"][0]["is_stored"]);
  EXPECT_EQ(NumRecords(), 2u);
  // One shape, which needs no file; of another bucket, whose code is there.
  estimate = Json({"vector_add", "--shape", "N=9", "--dry-run", "--store", store_});
  EXPECT_EQ(estimate["searches"], 1);
  EXPECT_EQ(estimate["keys"][0]["to_compile"], 0);
}

TEST_F(TuneCliTest, ADryRunCountsWhatIsLeftOfASearchThatIsContinued) {
  const std::vector<std::string> tune = {"vector_add", "--shape", "N=4096", "--store", store_};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), tune.begin(), tune.end());
    return more;
  };
  const nlohmann::json all = Json(with({"--dry-run"}))["keys"][0];
  EXPECT_FALSE(all["is_continued"]);
  Json(with({"--max-trials", "2"}));
  EXPECT_TRUE(Json(with({"--dry-run"}))["keys"][0]["is_stored"]) << "without --continue";
  nlohmann::json estimate = Json(with({"--dry-run", "--continue", "--max-trials", "1"}));
  EXPECT_EQ(estimate["searches"], 1);
  EXPECT_GT(estimate["seconds"].get<double>(), 0);
  const nlohmann::json left = estimate["keys"][0];
  EXPECT_TRUE(left["is_continued"]);
  EXPECT_FALSE(left["is_stored"]);
  EXPECT_EQ(left["configs"], all["configs"].get<int>() - 2);
  EXPECT_EQ(left["tried"], 1);
  EXPECT_EQ(left["to_compile"], 1) << "none of those that were tried";
  Json(with({"--continue"}));
  estimate = Json(with({"--dry-run", "--continue"}));
  EXPECT_EQ(estimate["searches"], 0);
  EXPECT_TRUE(estimate["keys"][0]["is_stored"]);
}

TEST_F(TuneCliTest, ABundleMayFollowAShapeOrAScalar) {
  EXPECT_EQ(Json({"--shape", "N=4096", "vector_add", "--dry-run"})["keys"].size(), 1u);
  EXPECT_EQ(Json({"--scalar", "eps=1e-5", "rms_norm", "--dry-run"})["keys"].size(), 1u);
  EXPECT_EQ(Json({"--shape", "M=16", "N=64", "K=64", "matmul", "--dry-run"})["keys"].size(), 1u);
  ExpectOneLineError({"tune", "--shape", "N=4096", "nonsense"}, "no bundle 'nonsense'");
}

TEST_F(TuneCliTest, ATraceDoesNotReplaceAnInputOrAStore) {
  const std::string shapes = Write("shapes", "N=4096\n");
  std::vector<std::string> tune = Tune({"vector_add", "--shapes", shapes, "--store", store_});
  tune.insert(tune.end(), {"--trace", store_});
  ExpectOneLineError(tune, "cannot write " + store_ + ": it is one of the inputs");
  EXPECT_EQ(NamesIn(folder_.path()).size(), 2u) << "nothing was done";
  tune.back() = shapes;
  ExpectOneLineError(tune, "cannot write " + shapes + ": it is one of the inputs");
  Json({"vector_add", "--shapes", shapes, "--store", store_});
  const std::string link = folder_.path() + "/link", kept = *ReadFile(store_);
  ASSERT_EQ(symlink(store_.c_str(), link.c_str()), 0);
  ExpectOneLineError(Tune({"vector_add", "--trace", link}),
                     "cannot write " + link + ": " + RealPath(store_) + " is a tuneonce store");
  ExpectOneLineError(Tune({"vector_add", "--trace", store_ + ".lock"}),
                     "it belongs to the tuneonce store " + RealPath(store_));
  const std::string bundle = folder_.path() + "/vector_add", manifest = bundle + "/manifest.json";
  std::filesystem::copy(TUNEONCE_BUNDLE_FOLDER "/vector_add", bundle, std::filesystem::copy_options::recursive);
  const std::string declared = *ReadFile(manifest);
  ExpectOneLineError(Tune({bundle, "--trace", manifest}), "is one of the inputs");
  const std::string named = Write("named", bundle + " N=4096\n");
  ExpectOneLineError(Tune({"--shapes", named, "--trace", manifest}), "is one of the inputs");
  EXPECT_EQ(*ReadFile(store_), kept);
  EXPECT_EQ(*ReadFile(shapes), "N=4096\n");
  EXPECT_EQ(*ReadFile(manifest), declared);
}

TEST_F(TuneCliTest, ABudgetEndsTheRunAndTheSameCommandGoesOn) {
  for (const char* wrong : {"10", "0s", "1x", "-1s", "m", "1h1", "999999999h", "1.5s"}) {
    ExpectOneLineError(Tune({"vector_add", std::string("--budget=") + wrong}), "write a time as 90s, 10m or 1h30m");
  }
  const std::string file = Write("shapes", "N=100\nN=1000\nN=10000\nN=100000\n");
  ProcessResult cut = RunCli(Tune({"vector_add", "--shapes", file, "--budget", "1ms", "--store", store_}));
  EXPECT_EQ(cut.exit_code, 1) << cut.output;
  EXPECT_NE(cut.output.find("4 of 4 keys were not reached within --budget\n  try: run the same command again"),
            std::string::npos)
      << cut.output;
  EXPECT_EQ(NumRecords(), 0u);
  ProcessResult rest = RunCli(Tune({"vector_add", "--shapes", file, "--budget", "10m", "--store", store_}));
  EXPECT_EQ(rest.exit_code, 0) << rest.output;
  EXPECT_NE(rest.output.find("4 tuned (0 cut short), 0 from the store, 0 failed"), std::string::npos) << rest.output;
}

TEST_F(TuneCliTest, TheBudgetBoundsTheSearchesThatAreContinued) {
  const std::string file = Write("shapes", "N=100\nN=1000\nN=10000\nN=100000\n");
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> tune = {"vector_add", "--shapes", file, "--store", store_};
    tune.insert(tune.end(), more.begin(), more.end());
    return RunCli(Tune(tune));
  };
  EXPECT_EQ(run({"--max-trials", "2"}).exit_code, 0);
  ProcessResult cut = run({"--continue", "--budget", "1ms"});
  EXPECT_EQ(cut.exit_code, 1) << cut.output;
  EXPECT_NE(cut.output.find("0 from the store, 0 failed, 4 not reached"), std::string::npos) << cut.output;
  EXPECT_NE(cut.output.find("4 of 4 keys were not reached within --budget\n  try: run the same command again"),
            std::string::npos)
      << cut.output;
  ProcessResult rest = run({"--continue", "--budget", "10m"});
  EXPECT_EQ(rest.exit_code, 0) << rest.output;
  EXPECT_NE(rest.output.find("4 tuned (0 cut short), 0 from the store, 0 failed"), std::string::npos) << rest.output;
}

TEST_F(TuneCliTest, AnInterruptEndsItInOrderAndASecondRunTunesOnlyWhatIsLeft) {
  std::string shapes;
  for (int i = 0; i < 12; ++i) shapes += "N=" + std::to_string(100 << i) + "\n";
  const std::string file = Write("shapes", shapes);
  for (int signal : {SIGINT, SIGKILL}) {
    const std::string output = folder_.path() + "/output" + std::to_string(signal);
    const std::size_t before = signal == SIGINT ? 0 : NumRecords();
    pid_t child = fork();
    if (child == 0) {
      const std::string log = ">" + output + " 2>&1";
      const std::string command = std::string("exec ") + TUNEONCE_CLI +
                                  " tune vector_add --device cpu --quiet --shapes " + file + " --store " + store_ +
                                  " " + log;
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    // A key of this run's own is done.
    while (waitpid(child, &status, WNOHANG) == 0) {
      Result<std::string> said = ReadFile(output);
      if (said.ok() && said->find(": tuned {") != std::string::npos) {
        kill(child, signal);
        waitpid(child, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const std::string said = *ReadFile(output);
    if (!WIFSIGNALED(status)) GTEST_SKIP() << "it was done before the signal: " << said;
    EXPECT_EQ(WTERMSIG(status), signal) << said;
    EXPECT_EQ(said.find("tuneonce: Cancelled: interrupted") != std::string::npos, signal == SIGINT) << said;
    EXPECT_GT(NumRecords(), before) << said;
  }
  const std::size_t before = NumRecords();
  nlohmann::json keys = Json({"vector_add", "--shapes", file, "--store", store_})["keys"];
  std::size_t stored = 0;
  for (const nlohmann::json& key : keys) stored += key["state"] == "stored" ? 1 : 0;
  EXPECT_EQ(stored, before);
  EXPECT_EQ(NumRecords(), keys.size());
}

TEST_F(TuneCliTest, WhatAProcessRecordedIsTunedAndTuningRecordsNothing) {
  const std::string file = folder_.path() + "/recorded";
  const std::string recorded =
      "# tuneonce shapes 1: tuneonce tune --shapes FILE\nrms_norm M=8 N=256 eps=1e-05  # 3 launches\n";
  ASSERT_TRUE(WriteFile(file, recorded).ok());
  ProcessResult result = RunCli(Tune({"--shapes", file, "--store", store_}), "TUNEONCE_RECORD_SHAPES=" + file);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(*ReadFile(file), recorded);
  EXPECT_EQ(NumRecords(), 1u);
}

TEST_F(TuneCliTest, CandidatesAreTriedInAWorkerUnlessThatIsSwitchedOff) {
  nlohmann::json isolated = Json({"vector_add", "--shape", "N=4096"});
  EXPECT_EQ(isolated["records"][0]["is_isolated"], true);
  EXPECT_EQ(isolated["records"][0]["cost"]["workers_replaced"], 0);
  nlohmann::json here = Json({"vector_add", "--shape", "N=4096", "--isolation", "off"});
  EXPECT_EQ(here["records"][0]["is_isolated"], false);
  EXPECT_EQ(here["records"][0]["notes"], nlohmann::json::array());
  ExpectOneLineError(Tune({"vector_add", "--shape", "N=4096", "--isolation", "required"}), "/no/worker",
                     "TUNEONCE_WORKER=/no/worker");
  ExpectOneLineError(Tune({"vector_add", "--candidate-deadline", "soon"}), "--candidate-deadline soon");
}

TEST_F(TuneCliTest, DeviceAutoSaysWhatItTook) {
  ProcessResult result = RunCli({"tune", "vector_add", "--device", "auto", "--shape", "N=100", "--quiet"},
                                "TUNEONCE_CUDA_DRIVER=/none/libcuda.so.1");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("tuneonce: --device auto selected tuneonce CPU device"), std::string::npos)
      << result.output;
  ProcessResult none = RunCli({"tune", "vector_add"}, "TUNEONCE_CUDA_DRIVER=/none/libcuda.so.1");
  ExpectOneLine(none, "\n  try: --device cpu");
}

}  // namespace
}  // namespace tuneonce
