// Work that may run beside its like alone: who waits for whom, and that nobody waits for ever.
#include "compile/turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace tuneonce {
namespace {

constexpr std::chrono::milliseconds kSoon(30);

/// Asks on a thread of its own for a turn that has to be waited for. Returns once it waits.
std::future<Turns::Turn> Asked(Turns* turns, const std::string& key, const std::atomic<bool>* cancelled = nullptr) {
  const std::size_t before = turns->num_waiting();
  auto asked = std::async(std::launch::async, [=] { return turns->Take(key, cancelled); });
  while (turns->num_waiting() == before) std::this_thread::yield();
  return asked;
}

bool Waits(const std::future<Turns::Turn>& turn) { return turn.wait_for(kSoon) == std::future_status::timeout; }

TEST(TurnsTest, LikeGoesBesideLikeAndOthersAfterThem) {
  Turns turns;
  Turns::Turn first = turns.Take("a", nullptr), second = turns.Take("a", nullptr);
  std::future<Turns::Turn> other = Asked(&turns, "b");
  EXPECT_TRUE(Waits(other));
  first = nullptr;
  EXPECT_TRUE(Waits(other)) << "one of the others is still at work";
  second = nullptr;
  EXPECT_NE(other.get(), nullptr);
}

TEST(TurnsTest, WhoComesLaterDoesNotPassWhoWaits) {
  Turns turns;
  Turns::Turn first = turns.Take("a", nullptr);
  std::future<Turns::Turn> other = Asked(&turns, "b"), like = Asked(&turns, "a"), other_like = Asked(&turns, "b");
  EXPECT_TRUE(Waits(like)) << "else those of 'a' could keep 'b' waiting for ever";
  first = nullptr;
  Turns::Turn at_work = other.get(), beside = other_like.get();  // All of the key whose turn it is, at once.
  EXPECT_TRUE(Waits(like));
  at_work = nullptr;
  beside = nullptr;
  EXPECT_NE(like.get(), nullptr);
}

TEST(TurnsTest, WhoIsCancelledWaitsNoLongerAndKeepsNobodyWaiting) {
  Turns turns;
  std::atomic<bool> cancelled{false};
  Turns::Turn first = turns.Take("a", nullptr);
  std::future<Turns::Turn> given_up = Asked(&turns, "b", &cancelled);
  cancelled = true;
  EXPECT_EQ(given_up.get(), nullptr);
  EXPECT_NE(turns.Take("a", nullptr), nullptr) << "nobody waits any more";
  first = nullptr;
  EXPECT_NE(turns.Take("c", &cancelled), nullptr) << "who need not wait is not asked whether to give up";
}

TEST(TurnsTest, ManyThreadsOfManyKeysAreNeverBesideOthers) {
  Turns turns;
  std::atomic<int> at_work[3] = {};
  std::atomic<bool> were_mixed{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 12; ++thread) {
    threads.emplace_back([&, key = thread % 3] {
      for (int i = 0; i < 200; ++i) {
        Turns::Turn turn = turns.Take(std::to_string(key), nullptr);
        ++at_work[key];
        for (int other = 0; other < 3; ++other) were_mixed = were_mixed || (other != key && at_work[other] > 0);
        std::this_thread::yield();
        --at_work[key];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(were_mixed);
}

}  // namespace
}  // namespace tuneonce
