// `tuneonce records dispatch`: the fewest configs for the keys of a kernel, and the tree that decides between them.
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/records_fixture.h"
#include "records/config_dispatch.h"
#include "store/sqlite_store_fixture.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

using testing::NamedConfig;
using testing::Record;

constexpr double kFailed = std::numeric_limits<double>::infinity();

TEST(ConfigDispatchTest, FewConfigsCoverAllShapes) {
  struct Case {
    const char* what;
    std::vector<std::vector<double>> slowdowns;
    double within;
    std::vector<std::size_t> expected;
  };
  for (const Case& each : {
           Case{"the fastest of each shape", {{1, 1.1}, {1.1, 1}}, 0.01, {0, 1}},
           Case{"one that is nearly as fast everywhere", {{1, 1.5, 1.02}, {1.5, 1, 1.02}}, 0.03, {2}},
           Case{"a config that failed covers nothing", {{1, kFailed}, {kFailed, 1}}, 10, {0, 1}},
           Case{"what others make unnecessary is removed",
                {{1.01, 1, 9}, {1.01, 1, 9}, {1.01, 9, 1}, {1.01, 9, 1}, {9, 1, 9}, {9, 9, 1}},
                0.02,
                {1, 2}},
       }) {
    std::vector<std::size_t> chosen = FewestConfigs(each.slowdowns, each.within);
    std::sort(chosen.begin(), chosen.end());
    EXPECT_EQ(chosen, each.expected) << each.what;
  }
}

TEST(ConfigDispatchTest, ATreeSelectsByExtentsAndIsNoLargerThanNeeded) {
  std::vector<std::vector<std::int64_t>> extents;
  std::vector<std::vector<double>> slowdowns;
  for (std::int64_t m : {1, 16, 100, 1000}) {
    for (std::int64_t n : {64, 4096}) {
      extents.push_back({m, n});
      const std::size_t best = m <= 16 ? 0 : n <= 64 ? 1 : 2;
      slowdowns.emplace_back(3, 1.5);
      slowdowns.back()[best] = 1;
    }
  }
  const DispatchTree tree = MakeDispatchTree(extents, slowdowns, {0, 1, 2}, 0.03);
  EXPECT_EQ(tree.num_leaves(), 3u);
  for (std::size_t shape = 0; shape < extents.size(); ++shape) {
    EXPECT_EQ(slowdowns[shape][tree.ConfigAt(extents[shape])], 1) << extents[shape][0] << ", " << extents[shape][1];
  }
  EXPECT_EQ(tree.ConfigAt({8, 1 << 20}), 0u) << "an extent that no shape has";
  EXPECT_EQ(tree.ToText({"M", "N"}, {"a", "b", "c"}),
            "if M <= 16:\n  {a}\nelse:\n  if N <= 64:\n    {b}\n  else:\n    {c}\n");
  EXPECT_EQ(MakeDispatchTree(extents, slowdowns, {0, 1, 2}, 0.03, /*most_leaves=*/1).num_leaves(), 1u);
}

class RecordsDispatchTest : public RecordsTest {
 protected:
  /// Puts a record of three configs at N = `n`, with these times, and code for each.
  void Put(std::int64_t n, const std::vector<double>& times_us) {
    SqliteStoreOptions options;
    options.path = store_;
    std::shared_ptr<SqliteStore> store = *SqliteStore::Open(options);
    TuningRecord record = Record(static_cast<std::uint64_t>(n), "a");
    record.tuned_at = "N=" + std::to_string(n);
    record.candidates.clear();
    for (std::size_t i = 0; i < times_us.size(); ++i) {
      CandidateOutcome outcome = record.best;
      outcome.config = NamedConfig(std::string(1, static_cast<char>('a' + i)));
      outcome.kind = OutcomeKind::kMeasured;
      outcome.measurement.mean_us = times_us[i];
      outcome.artifact = {1, i + 1};
      ASSERT_OK(store->PutArtifact(outcome.artifact, testing::ArtifactOf(i + 1)));
      record.candidates.push_back(outcome);
    }
    const auto best = std::min_element(times_us.begin(), times_us.end()) - times_us.begin();
    record.best = record.candidates[static_cast<std::size_t>(best)];
    record.baseline = record.candidates.front();
    record.verification.level = Verification::Level::kReference;
    record.speedup_over_baseline = record.baseline->measurement.mean_us / record.best.measurement.mean_us;
    ASSERT_OK(store->Put(record));
    kernel_ = record.key.kernel;
  }

  std::string kernel_;
  ProcessResult Dispatch(const std::string& kernel, const std::string& output) {
    return RunCli({"records", "dispatch", "--kernel", kernel, "--store", store_, "-o", output});
  }

  const std::string output_ = folder_.path() + "/dispatch.db";
};

TEST_F(RecordsDispatchTest, ItWritesRecordsThatSelectTheFewestConfigsAndTheirCode) {
  Put(16, {10, 20, 10.1});
  Put(64, {20, 10, 10.2});
  Put(4096, {30, 30, 10});
  const ProcessResult result = RunCli(
      {"records", "dispatch", "--kernel", kernel_, "--within", "3%", "--store", store_, "-o", output_, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const nlohmann::json json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["configs"].size(), 1u) << json;
  EXPECT_EQ(json["records"], 3);
  EXPECT_EQ(json["tree"].size(), 1u);
  EXPECT_NEAR(json["tree_slowdown"]["largest"].get<double>(), 1.02, 1e-9);
  EXPECT_EQ(json["code"], 2) << "the config's and the baseline's";
  SqliteStoreOptions options;
  options.path = output_;
  options.read_only = true;
  const std::vector<TuningRecord> records = *(*SqliteStore::Open(options))->List();
  ASSERT_EQ(records.size(), 3u);
  for (const TuningRecord& record : records) {
    EXPECT_TRUE(record.best.config.IsSame(NamedConfig("c"))) << record.tuned_at;
    EXPECT_EQ(record.candidates.size(), 2u);
    const bool was_fastest = record.tuned_at == "N=4096";
    EXPECT_EQ(record.notes.empty(), was_fastest) << record.tuned_at;
    EXPECT_EQ(record.is_conclusive, was_fastest) << record.tuned_at;
    EXPECT_EQ(record.verification.level == Verification::Level::kNone, !was_fastest) << record.tuned_at;
    EXPECT_EQ(record.speedup_over_baseline, was_fastest ? std::optional<double>(3) : std::nullopt) << record.tuned_at;
  }
}

TEST_F(RecordsDispatchTest, APinnedRecordIsWrittenAsItIs) {
  Put(16, {10, 20, 10.1});
  Put(64, {20, 10, 10.2});
  SqliteStoreOptions options;
  options.path = store_;
  {
    const std::shared_ptr<SqliteStore> store = *SqliteStore::Open(options);
    TuningRecord pinned = store->List()->front();
    pinned.best = pinned.candidates[1];
    pinned.is_pinned = true;
    pinned.reason = SelectionReason::kPinned;
    ASSERT_OK(store->Put(pinned));
  }
  const ProcessResult result = RunCli(
      {"records", "dispatch", "--kernel", kernel_, "--within", "100%", "--store", store_, "-o", output_, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(nlohmann::json::parse(result.output)["pinned"], 1) << result.output;
  options.path = output_;
  options.read_only = true;
  const std::vector<TuningRecord> records = *(*SqliteStore::Open(options))->List();
  ASSERT_EQ(records.size(), 2u);
  for (const TuningRecord& record : records) {
    EXPECT_EQ(record.is_pinned, record.best.config.IsSame(NamedConfig("b"))) << record.best.config.ToString();
  }
}

TEST_F(RecordsDispatchTest, OnlyItsOwnStoreIsReplaced) {
  Put(16, {10, 20, 10.1});
  SqliteStoreOptions options;
  options.path = store_;
  TuningRecord other = Record(1, "a");
  other.key.kernel = "other";
  other.candidates = {other.best};
  ASSERT_OK((*SqliteStore::Open(options))->Put(other));
  const std::string link = folder_.path() + "/link.db";
  ASSERT_EQ(symlink(store_.c_str(), link.c_str()), 0);
  ExpectOneLine(Dispatch(kernel_, store_), "cannot write " + store_ + ": it is one of the inputs");
  ExpectOneLine(Dispatch(kernel_, link), "cannot write " + link + ": it is the file " + store_);
  ASSERT_EQ(Dispatch(kernel_, output_).exit_code, 0);
  EXPECT_EQ(Dispatch(kernel_, output_).exit_code, 0) << "its own store is made anew";
  ExpectOneLine(Dispatch("other", output_), "is a tuneonce store with records of other kernels (" + kernel_ + ")");
  options.path = other_;
  std::shared_ptr<SqliteStore> in_use = *SqliteStore::Open(options);
  const std::string is_in_use = ": another process has it open; write to another file";
  ExpectOneLine(Dispatch(kernel_, other_), "cannot replace the store " + other_ + is_in_use);
  const std::string link_to_used = folder_.path() + "/used.db";
  ASSERT_EQ(symlink(other_.c_str(), link_to_used.c_str()), 0);
  ExpectOneLine(Dispatch(kernel_, link_to_used), "cannot replace the store " + link_to_used + is_in_use);
  in_use.reset();
  ASSERT_EQ(access((other_ + "-wal").c_str(), F_OK), 0);
  EXPECT_EQ(Dispatch(kernel_, other_).exit_code, 0) << "nobody has it open any more";
}

TEST_F(RecordsDispatchTest, MistakesAreErrors) {
  Put(16, {10, 20, 10.1});
  for (const char* within : {"x", "-1%", "3%%", "nan%", "inf%", "1e400%", "5", "0.03", "%"}) {
    const std::string argument = std::string("--within=") + within;
    ExpectOneLineError({"records", "dispatch", "--kernel", kernel_, argument, "--store", store_, "-o", output_},
                       "give a percentage such as 3%");
  }
  ExpectOneLineError({"records", "dispatch", "--kernel", kernel_, "--device", "none", "--store", store_, "-o", output_},
                     "has no measured record of it");
}

}  // namespace
}  // namespace tuneonce
