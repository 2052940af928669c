#include "shared/compile_pool.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "compile/compile_slots.h"
#include "testing/device_test.h"
#include "testing/in_child.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
namespace {

using testing::InChild;

/// Compiles a text to itself. "fail" does not compile; "wait" takes until it is cancelled or its time is over; "gate"
/// waits until `open`. Counts what it compiles.
class ScriptedToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kPtx; }
  bool uses_hints() const override { return true; }
  Result<std::string> Version() const override { return version; }
  std::string Description() const override { return "scripted"; }

  std::string version = "1";
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  mutable std::vector<std::string> compiled;
  mutable int running = 0;
  bool open = false;
  bool cacheable = true;

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints&, const Target&,
                             const WaitLimits& limits) const override {
    std::unique_lock<std::mutex> lock(mutex);
    compiled.push_back(source.content);
    ++running;
    changed.notify_all();
    auto start = std::chrono::steady_clock::now();
    while (source.content == "wait" || (source.content == "gate" && !open)) {
      if (limits.stop.stop_requested()) return CancelledError("cancelled");
      if (std::chrono::steady_clock::now() - start > limits.timeout) {
        return DeadlineExceededError("too slow");
      }
      changed.wait_for(lock, std::chrono::milliseconds(1));
    }
    if (source.content == "fail") return InvalidArgumentError("line 1: error");
    Artifact artifact;
    artifact.image = source.content;
    artifact.seconds = 1;
    artifact.cacheable = cacheable;
    return artifact;
  }
};

class CompilePoolTest : public ::testing::Test {
 protected:
  static CompileJob Job(const std::vector<std::string>& texts, Hints hints = Hints()) {
    CompileJob job;
    for (const std::string& text : texts) {
      job.alternatives.push_back(CompileJob::Alternative{KernelSource::Ptx(text, "k"), hints});
    }
    return job;
  }
  std::vector<CompiledJob> All(std::vector<CompileJob> jobs) {
    CompilePool pool(slots_, toolchains_, Target(), std::move(jobs), options_);
    std::vector<CompiledJob> results;
    while (std::optional<CompiledJob> result = pool.Next()) results.push_back(*std::move(result));
    return results;
  }

  std::shared_ptr<ScriptedToolchain> scripted_ = std::make_shared<ScriptedToolchain>();
  CompileSlots slots_{4};
  ToolchainSet toolchains_{{scripted_}};
  CompileOptions options_ = [] {
    CompileOptions options;
    options.cache = MakeMemoryStore();
    options.num_workers = 1;
    return options;
  }();
};

TEST_F(CompilePoolTest, JobsAreStartedInTheirOrder) {
  All({Job({"c"}), Job({"a"}), Job({"b"}), Job({"a"}), Job({"a2"})});
  EXPECT_EQ(scripted_->compiled, (std::vector<std::string>{"c", "a", "b", "a2"}));
}

TEST_F(CompilePoolTest, AResultIsHandedOutWhileOthersCompile) {
  options_.num_workers = 2;
  CompilePool pool(slots_, toolchains_, Target(), {Job({"gate"}), Job({"a"})}, options_);
  EXPECT_EQ(pool.Next()->job, 1u);
  {
    std::lock_guard<std::mutex> lock(scripted_->mutex);
    scripted_->open = true;
  }
  EXPECT_EQ(pool.Next()->job, 0u);
  EXPECT_FALSE(pool.Next().has_value());
}

TEST_F(CompilePoolTest, TheSameIsCompiledOnce) {
  std::vector<CompiledJob> results = All({Job({"a"}), Job({"a"}), Job({"a"}, Hints(HintValues{{"occupancy", 2}}))});
  EXPECT_EQ(scripted_->compiled.size(), 2u) << "other hints are another artifact";
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].from_cache + results[1].from_cache + results[2].from_cache, 1);
  All({Job({"a"})});
  EXPECT_EQ(scripted_->compiled.size(), 2u) << "the cache has it";
  scripted_->version = "2";
  All({Job({"a"})});
  EXPECT_EQ(scripted_->compiled.size(), 3u) << "another version of the tool";
}

TEST_F(CompilePoolTest, ThePreferredSourceIsUsedElseTheNextThatCompiles) {
  std::vector<CompiledJob> results = All({Job({"fail", "b"}), Job({"a", "b"}), Job({"fail", "fail"})});
  EXPECT_EQ(results[0].alternative, 1u);
  EXPECT_EQ(results[0].artifact->image, "b");
  ASSERT_EQ(results[0].passed_over.size(), 1u);
  EXPECT_EQ(results[0].passed_over[0].message(), "line 1: error");
  EXPECT_EQ(results[1].alternative, 0u);
  EXPECT_EQ(results[2].artifact.status().message(), "line 1: error");
  EXPECT_EQ(results[2].passed_over.size(), 1u);
}

TEST_F(CompilePoolTest, ACandidateAndASearchHaveDeadlines) {
  options_.timeout = std::chrono::milliseconds(200);  // On a busy machine "a" takes its time, too.
  std::vector<CompiledJob> results = All({Job({"wait"}), Job({"a"})});
  EXPECT_EQ(results[0].artifact.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_OK(results[1].artifact);
  options_.timeout = std::chrono::milliseconds(60000);
  options_.total_timeout = std::chrono::milliseconds(30);
  results = All({Job({"wait"}), Job({"b"})});
  EXPECT_ERROR(results[0].artifact, StatusCode::kDeadlineExceeded, "too slow");
  EXPECT_ERROR(results[1].artifact, StatusCode::kDeadlineExceeded, "within the search's 30 ms");
}

TEST_F(CompilePoolTest, CancellingEndsEveryCompile) {
  std::atomic<bool> cancelled{false};
  options_.stop = &cancelled;
  CompilePool pool(slots_, toolchains_, Target(), {Job({"wait"}), Job({"a", "b"})}, options_);
  cancelled = true;
  EXPECT_EQ(pool.Next()->artifact.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(pool.Next()->artifact.status().code(), StatusCode::kCancelled);
}

TEST_F(CompilePoolTest, ThePoolsEndStopsWhatStillRuns) {
  CompilePool pool(slots_, toolchains_, Target(), {Job({"wait"})}, options_);
}

TEST_F(CompilePoolTest, ThreadsThatWantTheSameArtifactCompileItOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      CompilePool pool(slots_, toolchains_, Target(), {Job({"gate"})}, options_);
      EXPECT_OK(pool.Next()->artifact);
    });
  }
  {
    std::unique_lock<std::mutex> lock(scripted_->mutex);
    scripted_->changed.wait(lock, [&] { return scripted_->running > 0; });
    scripted_->open = true;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scripted_->compiled.size(), 1u);
}

TEST_F(CompilePoolTest, WhatNobodyCanSayTheOriginOfIsCompiledEachTime) {
  scripted_->cacheable = false;
  All({Job({"a"})});
  All({Job({"a"})});
  EXPECT_EQ(scripted_->compiled.size(), 2u);
}

/// Throws wherever it is told to.
class ThrowingToolchain final : public Toolchain {
 public:
  explicit ThrowingToolchain(std::string where) : where_(std::move(where)) {}
  SourceKind source_kind() const override {
    Throw("source_kind");
    return SourceKind::kPtx;
  }
  bool uses_hints() const override {
    Throw("uses_hints");
    return true;
  }
  Result<std::string> Version() const override {
    Throw("Version");
    return std::string("1");
  }
  std::string Description() const override { return "throwing"; }

 private:
  Result<Artifact> DoCompile(const KernelSource&, const Hints&, const Target&, const WaitLimits&) const override {
    Throw("DoCompile");
    if (where_ == "DoCompile, no exception") throw 5;  // NOLINT: a host may.
    return Artifact();
  }
  void Throw(const std::string& here) const {
    if (here == where_) throw std::runtime_error("broken in " + here);
  }
  const std::string where_;
};

TEST_F(CompilePoolTest, AToolchainThatThrowsHasFailedToCompile) {
  for (const char* where : {"source_kind", "uses_hints", "Version", "DoCompile", "DoCompile, no exception"}) {
    EXPECT_EQ(InChild([&] {
                ToolchainSet toolchains({std::make_shared<ThrowingToolchain>(where)});
                options_.num_workers = 2;
                CompilePool pool(slots_, toolchains, Target(), {Job({"a", "b"}), Job({"c"})}, options_);
                for (int i = 0; i < 2; ++i) EXPECT_ERROR(pool.Next()->artifact, StatusCode::kInternal, "threw");
                EXPECT_FALSE(pool.Next().has_value());
              }),
              0)
        << where;
  }
}

TEST_F(CompilePoolTest, ACacheThatThrowsFailsTheCandidateAlone) {
  struct ThrowingCache final : ForwardingStore {
    ThrowingCache() : ForwardingStore(MakeMemoryStore()) {}
    Result<std::optional<Artifact>> GetArtifact(const Fingerprint&) const override { throw std::bad_alloc(); }
  };
  EXPECT_EQ(InChild([&] {
              options_.cache = std::make_shared<ThrowingCache>();
              EXPECT_FALSE(All({Job({"a"})})[0].artifact.ok());
            }),
            0);
}

TEST_F(CompilePoolTest, WithFewThreadsOrNoneAllIsCompiled) {
  for (rlim_t threads : {1, 2, 3}) {
    int result = InChild([&] {
      testing::LimitThreads(threads);
      options_.num_workers = 4;
      CompilePool pool(slots_, toolchains_, Target(), {Job({"a"}), Job({"fail"}), Job({"b"}), Job({"c"})}, options_);
      // With more, how many there are is chance: one that has ended makes room for another.
      if (threads == 1) {
        EXPECT_EQ(pool.num_workers(), 1) << "the caller's";
      }
      std::set<std::size_t> compiled;
      while (std::optional<CompiledJob> job = pool.Next()) {
        if (job->artifact.ok()) compiled.insert(job->job);
      }
      EXPECT_EQ(compiled, (std::set<std::size_t>{0, 2, 3}));
    });
    if (result == testing::kCannotBeTested) GTEST_SKIP() << "the number of threads cannot be limited here";
    EXPECT_EQ(result, 0) << threads;
  }
}

TEST_F(CompilePoolTest, WithoutThreadsDeadlinesAndCancellationHold) {
  int result = InChild([&] {
    testing::LimitThreads(1);
    options_.timeout = std::chrono::milliseconds(20);
    EXPECT_EQ(All({Job({"wait"})})[0].artifact.status().code(), StatusCode::kDeadlineExceeded);
    std::atomic<bool> cancelled{true};
    options_.timeout = std::chrono::milliseconds(60000);
    options_.stop = &cancelled;
    EXPECT_EQ(All({Job({"wait"})})[0].artifact.status().code(), StatusCode::kCancelled);
  });
  if (result == testing::kCannotBeTested) GTEST_SKIP() << "the number of threads cannot be limited here";
  EXPECT_EQ(result, 0);
}

TEST(ArtifactTest, ComesBackWholeOrNotAtAll) {
  Artifact artifact;
  artifact.image = std::string("\0image", 6);
  artifact.symbol = "k";
  artifact.kernels = {"k", "other"};
  artifact.log = "said";
  artifact.seconds = 0.25;
  artifact.resources = ResourceUse{32, 1024, 8};
  artifact.code_fingerprint = Fingerprinter().Add("x").Finish();
  artifact.dependencies = {{"/a/header.h", Fingerprinter().Add("y").Finish()}, {"b.h", Fingerprint()}};
  artifact.absent = {"/a/earlier/header.h", "sub/"};
  artifact.parameters = {"tile<ptr<f16>>", "tile<i32>"};
  std::string bytes = EncodeArtifact(artifact);
  Result<Artifact> back = DecodeArtifact(bytes);
  ASSERT_OK(back);
  EXPECT_EQ(back->image, artifact.image);
  EXPECT_EQ(back->symbol, "k");
  EXPECT_EQ(back->kernels, artifact.kernels);
  EXPECT_EQ(back->log, "said");
  EXPECT_EQ(back->seconds, 0.25);
  EXPECT_EQ(back->resources.registers, 32);
  EXPECT_EQ(back->resources.shared_bytes, 1024);
  EXPECT_EQ(back->resources.local_bytes, 8);
  EXPECT_EQ(back->code_fingerprint, artifact.code_fingerprint);
  ASSERT_EQ(back->dependencies.size(), 2u);
  EXPECT_EQ(back->dependencies[0].path, "/a/header.h");
  EXPECT_EQ(back->dependencies[0].content, artifact.dependencies[0].content);
  EXPECT_EQ(back->dependencies[1].path, "b.h");
  EXPECT_EQ(back->absent, artifact.absent);
  EXPECT_EQ(back->parameters, artifact.parameters);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(DecodeArtifact(damaged).ok()) << i;
    EXPECT_FALSE(DecodeArtifact(bytes.substr(0, i)).ok()) << i;
  }
}

}  // namespace
}  // namespace tuneonce
