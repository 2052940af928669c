#include "runtime/tune_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "runtime/failed_tunes.h"

namespace tuneonce {
namespace {

TEST(TuneOnceTest, OneWorksAndTheOthersGetItsOutcome) {
  TuneOnce once;
  std::atomic<int> runs{0};
  std::atomic<int> waits{0};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      bool waited = false;
      ++started;
      TuneOutcome outcome = once.Run({1, 2}, &waited, nullptr, [&] {
        ++runs;
        while (started.load() < 6) std::this_thread::yield();
        return TuneOutcome{NotFoundError("the outcome"), true};
      });
      EXPECT_EQ(outcome.status.message(), "the outcome");
      EXPECT_TRUE(outcome.is_elsewhere);
      if (waited) ++waits;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs.load() + waits.load(), 6);
  bool waited = true;
  EXPECT_TRUE(once.Run({1, 2}, &waited, nullptr, [] { return TuneOutcome(); }).status.ok()) << "nothing is remembered";
  EXPECT_FALSE(waited);
}

TEST(TuneOnceTest, WorkThatThrowsWakesEveryWaiterWithAnErrorThatSaysWhat) {
  struct Case {
    void (*work)();
    StatusCode code;
    const char* message;
  };
  std::vector<Case> cases = {
      {[] { throw std::runtime_error("boom"); }, StatusCode::kInternal, "tuning threw: boom"},
      {[] { throw 17; }, StatusCode::kInternal, "tuning threw something that is not a std::exception"},
      {[] { throw std::bad_alloc(); }, StatusCode::kResourceExhausted, "tuning threw: std::bad_alloc"},
      {[] { throw std::system_error(EAGAIN, std::generic_category()); }, StatusCode::kUnavailable,
       "tuning threw: Resource temporarily unavailable"},
  };
  for (const Case& c : cases) {
    TuneOnce once;
    std::atomic<int> started{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        bool waited = false;
        ++started;
        TuneOutcome outcome = once.Run({7}, &waited, nullptr, [&]() -> TuneOutcome {
          while (started.load() < 8) std::this_thread::yield();
          c.work();
          return {};
        });
        EXPECT_EQ(outcome.status.code(), c.code);
        EXPECT_EQ(outcome.status.message(), c.message);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(once.IsBusy({7}));
  }
}

/// Starts work on the key {1} in another thread, which goes on until `go_on`.
class Worker {
 public:
  Worker(TuneOnce& once, Status outcome)
      : thread_([this, &once, outcome] {
          bool waited = false;
          once.Run({1}, &waited, nullptr, [&] {
            busy_ = true;
            while (!go_on_) std::this_thread::yield();
            return TuneOutcome{outcome};
          });
        }) {
    while (!busy_) std::this_thread::yield();
  }
  ~Worker() { thread_.join(); }
  void GoOn() { go_on_ = true; }

 private:
  std::atomic<bool> busy_{false};
  std::atomic<bool> go_on_{false};
  std::thread thread_;
};

TEST(TuneOnceTest, WhoWaitedForCancelledWorkTakesItOver) {
  TuneOnce once;
  Worker worker(once, CancelledError("Ctrl-C"));
  bool waited = false;
  int asked = 0;
  auto lets_it_go_on = [&] {
    if (++asked == 1) worker.GoOn();
    return false;
  };
  int works = 0;
  TuneOutcome outcome = once.Run({1}, &waited, StopToken(lets_it_go_on), [&] { return ++works, TuneOutcome(); });
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_TRUE(waited);
  EXPECT_EQ(works, 1);
}

TEST(TuneOnceTest, WhoIsInterruptedStopsWaiting) {
  TuneOnce once;
  Worker worker(once, Status());
  bool waited = false;
  TuneOutcome outcome = once.Run({1}, &waited, StopToken([] { return true; }), [] { return TuneOutcome(); });
  EXPECT_EQ(outcome.status.code(), StatusCode::kCancelled);
  EXPECT_EQ(outcome.status.message(), "interrupted while waiting for another thread that tunes the same key");
  EXPECT_TRUE(once.IsBusy({1}));
  worker.GoOn();
}

TEST(FailedTunesTest, WhatMayPassIsTriedAgainAfterAPauseThatDoubles) {
  using std::chrono::milliseconds;
  FailedTunes failed(milliseconds(1000));
  FailedTunes::Clock::time_point now;
  TuneOnce::Key key = {1};
  EXPECT_FALSE(failed.Find(key, now).has_value());
  TuneOutcome no_process{ResourceExhaustedError("no process")};
  for (int pause : {1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 300000, 300000}) {
    failed.Add(key, no_process, now);
    EXPECT_TRUE(failed.Find(key, now + milliseconds(pause - 1)).has_value()) << pause;
    EXPECT_FALSE(failed.Find(key, now + milliseconds(pause)).has_value()) << pause;
    now += milliseconds(pause);
  }
  failed.Remove(key);
  EXPECT_EQ(failed.Add(key, no_process, now), 1) << "a success ends the row";
  FailedTunes at_once(milliseconds(0));
  at_once.Add(key, no_process, now);
  EXPECT_FALSE(at_once.Find(key, now).has_value());
}

TEST(FailedTunesTest, OfTooManyKeysThoseThatFailedLongestAgoAreForgotten) {
  FailedTunes failed(std::chrono::milliseconds(1000));
  const FailedTunes::Clock::time_point now;
  const TuneOutcome broken{InternalError("it is broken")};
  for (std::uint64_t key = 1; key <= 5; ++key) failed.Add({key}, broken, now);
  EXPECT_EQ(failed.Add({1}, broken, now), 2);
  failed.Remove({4});
  failed.DropOldest(2);
  for (std::uint64_t key = 1; key <= 5; ++key) {
    EXPECT_EQ(failed.Find({key}, now).has_value(), key == 1 || key == 5) << key;
  }
  failed.DropOldest(0);
  EXPECT_FALSE(failed.Find({1}, now).has_value());
}

TEST(FailedTunesTest, OnlyWhatMayPassIsTriedAgain) {
  struct Case {
    StatusCode code;
    bool passes;
  };
  for (const Case& c : {Case{StatusCode::kCancelled, true}, Case{StatusCode::kInvalidArgument, false},
                        Case{StatusCode::kDeadlineExceeded, true}, Case{StatusCode::kNotFound, false},
                        Case{StatusCode::kResourceExhausted, true}, Case{StatusCode::kFailedPrecondition, false},
                        Case{StatusCode::kUnimplemented, false}, Case{StatusCode::kInternal, false},
                        Case{StatusCode::kUnavailable, true}}) {
    FailedTunes failed(std::chrono::milliseconds(1000));
    FailedTunes::Clock::time_point now;
    failed.Add({1}, {Status(c.code, "why")}, now);
    bool is_tried = !failed.Find({1}, now + std::chrono::hours(24)).has_value();
    EXPECT_EQ(is_tried, c.passes) << StatusCodeName(c.code);
  }
}

}  // namespace
}  // namespace tuneonce
