// The limit of compiles at a time that all searches of a Runtime share, alone and under two pools.
#include "compile/compile_slots.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "shared/compile_pool.h"
#include "testing/expect_status.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
namespace {

/// Compiles a text to itself, once the gate is open. Knows how many it compiles at a time.
class GateToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kPtx; }
  Result<std::string> Version() const override { return std::string("1"); }
  std::string Description() const override { return "gate"; }

  void WaitForRunning(int wanted) const {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return running_ >= wanted; });
  }
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  int most() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return most_;
  }
  std::vector<std::string> compiled() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return compiled_;
  }

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints&, const Target&,
                             const WaitLimits& limits) const override {
    std::unique_lock<std::mutex> lock(mutex_);
    compiled_.push_back(source.content);
    most_ = std::max(most_, ++running_);
    changed_.notify_all();
    while (!is_open_ && !(limits.cancelled != nullptr && limits.cancelled->load())) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    --running_;
    Artifact artifact;
    artifact.image = source.content;
    return artifact;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<std::string> compiled_;
  mutable int running_ = 0;
  mutable int most_ = 0;
  bool is_open_ = false;
};

bool Never() { return false; }

TEST(CompileSlotsTest, TheLimitHolds) {
  CompileSlots slots(2);
  EXPECT_EQ(slots.limit(), 2);
  EXPECT_EQ(slots.LimitFor(std::int64_t{1} << 60), 2) << "a limit that was given counts, whatever memory there is";
  CompileSlots::Slot first = slots.Acquire(9, Never);
  CompileSlots::Slot second = slots.Acquire(9, Never);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(slots.Acquire(9, [] { return true; }), nullptr);
  first = nullptr;
  EXPECT_EQ(slots.Acquire(1, [] { return true; }), nullptr) << "one runs, and this one wants no other beside it";
  EXPECT_NE(slots.Acquire(2, [] { return true; }), nullptr);
}

TEST(CompileSlotsTest, WithoutALimitThereIsOneThatTheMachineCanBear) {
  CompileSlots slots;
  EXPECT_GE(slots.limit(), 1);
  EXPECT_EQ(slots.LimitFor(std::int64_t{1} << 60), 1) << "so much memory is not free";
  EXPECT_EQ(slots.LimitFor(1), slots.limit());
}

TEST(CompileSlotsTest, WhoAskedFirstIsServedFirst) {
  CompileSlots slots(1);
  CompileSlots::Slot held = slots.Acquire(1, Never);
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> threads;
  std::atomic<int> last_in_line{-1};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      CompileSlots::Slot slot = slots.Acquire(1, [&, told = false]() mutable {
        if (!told) last_in_line = i;  // One is asked once one is in the line.
        told = true;
        return false;
      });
      std::lock_guard<std::mutex> lock(mutex);
      order.push_back(i);
    });
    while (last_in_line != i) std::this_thread::yield();
  }
  held = nullptr;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

class SharedSlotsTest : public ::testing::Test {
 protected:
  std::vector<CompileJob> Jobs(const std::vector<std::string>& texts) {
    std::vector<CompileJob> jobs;
    for (const std::string& text : texts) {
      CompileJob job;
      job.alternatives.push_back({KernelSource::Ptx(text, "k"), Hints()});
      jobs.push_back(job);
    }
    return jobs;
  }
  static std::vector<CompiledJob> All(CompilePool& pool) {
    std::vector<CompiledJob> jobs;
    while (std::optional<CompiledJob> job = pool.Next()) jobs.push_back(*std::move(job));
    return jobs;
  }

  std::shared_ptr<GateToolchain> gate_ = std::make_shared<GateToolchain>();
  ToolchainSet toolchains_{{gate_}};
  CompileSlots slots_{2};
  CompileOptions options_ = [] {
    CompileOptions options;
    options.cache = MakeMemoryStore();
    return options;
  }();
};

TEST_F(SharedSlotsTest, TwoSearchesTogetherKeepToTheLimit) {
  CompilePool first(slots_, toolchains_, Target(), Jobs({"a", "b", "c", "d"}), options_);
  CompilePool second(slots_, toolchains_, Target(), Jobs({"e", "f", "g", "h"}), options_);
  EXPECT_EQ(first.num_workers(), 2);
  EXPECT_EQ(second.num_workers(), 2);
  gate_->WaitForRunning(2);
  gate_->Open();
  EXPECT_EQ(All(first).size(), 4u);
  EXPECT_EQ(All(second).size(), 4u);
  EXPECT_EQ(gate_->most(), 2);
}

TEST_F(SharedSlotsTest, ASearchWantsNoMoreWorkersThanThereAre) {
  options_.num_workers = 64;
  CompilePool pool(slots_, toolchains_, Target(), Jobs({"a", "b", "c", "d"}), options_);
  EXPECT_EQ(pool.num_workers(), 2);
  gate_->Open();
}

TEST_F(SharedSlotsTest, WhatIsCachedWaitsForNobody) {
  gate_->Open();
  {
    CompilePool pool(slots_, toolchains_, Target(), Jobs({"a"}), options_);
    EXPECT_OK(pool.Next()->artifact);
  }
  CompileSlots::Slot busy[] = {slots_.Acquire(2, Never), slots_.Acquire(2, Never)};
  CompilePool pool(slots_, toolchains_, Target(), Jobs({"a"}), options_);
  std::optional<CompiledJob> job = pool.Next();
  EXPECT_OK(job->artifact);
  EXPECT_TRUE(job->from_cache);
}

TEST_F(SharedSlotsTest, WhoWaitsForASlotCanBeCancelledAndHasADeadline) {
  CompileSlots::Slot busy[] = {slots_.Acquire(2, Never), slots_.Acquire(2, Never)};
  std::atomic<bool> cancelled{false};
  options_.cancelled = &cancelled;
  {
    CompilePool pool(slots_, toolchains_, Target(), Jobs({"a"}), options_);
    cancelled = true;
    EXPECT_EQ(pool.Next()->artifact.status().code(), StatusCode::kCancelled);
  }
  cancelled = false;
  options_.total_timeout_ms = 30;
  {
    CompilePool pool(slots_, toolchains_, Target(), Jobs({"a"}), options_);
    std::optional<CompiledJob> job = pool.Next();
    EXPECT_ERROR(job->artifact, StatusCode::kDeadlineExceeded, "within the search's 30 ms");
    EXPECT_TRUE(job->was_cut_short);
  }
  options_.total_timeout_ms = 0;
  { CompilePool ends_at_once(slots_, toolchains_, Target(), Jobs({"a", "b", "c"}), options_); }
  EXPECT_TRUE(gate_->compiled().empty());
}

}  // namespace
}  // namespace tuneonce
