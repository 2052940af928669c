#ifndef TUNEONCE_BENCHMARKS_PEERS_INTERLEAVED_H_
#define TUNEONCE_BENCHMARKS_PEERS_INTERLEAVED_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace peers {

constexpr int kBatch =
    200;  ///< Launches between two readings of the clock: no queue fills, the clock's own cost vanishes.
constexpr int kRounds = 100;  ///< Batches of each way to launch in one process.
constexpr int kWarmUpRounds = 3;
constexpr int kManyThreads = 16;
constexpr long kFirstSize = 32;  ///< The smallest tensor's elements; key i has kFirstSize + i.
constexpr long kMostKeys = 4096;

/// One way to launch the kernel.
struct Way {
  std::string call;  ///< What is called, as the table shows it; "raw" for the launch by hand.
  long keys;         ///< How many sizes take turns.
  bool waits;        ///< The call ends when the kernel has ended.
  /// Launches `count` times into the stream of `lane`, which is the calling thread's number.
  std::function<void(int lane, int count)> launch;
};

/// Which of `keys` sizes is launched next: all of them, in an order that no prefetcher follows. Thread rule: one
/// thread.
class SizeWalk {
 public:
  explicit SizeWalk(long keys) : keys_(keys) {}
  /// Elements of the next launch.
  long Next() {
    at_ = (at_ + kStep) % keys_;
    return kFirstSize + at_;
  }

 private:
  static constexpr long kStep = 1237;  // Has no factor in common with 64 or 4096: every size has its turn.
  long keys_;
  long at_ = 0;
};

/// Where all threads of a measurement meet. Spins: a sleeper would start with cold caches.
class Meeting {
 public:
  explicit Meeting(int threads) : threads_(threads) {}
  void Wait() {
    int turn = turn_.load();
    if (waiting_.fetch_add(1) + 1 == threads_) {
      waiting_.store(0);
      turn_.fetch_add(1);
    } else {
      while (turn_.load() == turn) std::this_thread::yield();
    }
  }

 private:
  const int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<int> turn_{0};
};

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Times ways to launch against each other within this process: batch by batch in turn, the streams drained before each
/// batch outside the timed part, each round beginning with another way. `ways` begins with the raw launch; where some
/// wait, a raw launch that waits is among them. `enter(lane)` runs first on each thread, which keeps what it returns;
/// `drain(lane)` runs before batches.
/// Returns rows of JSON, one a way, of the host time of a launch: its median over rounds, and of what it adds to the
/// raw launch of the same round. With several threads a round's time is the mean over them.
inline std::vector<std::string> Compare(const std::vector<Way>& ways, int threads,
                                        const std::function<std::shared_ptr<void>(int)>& enter,
                                        const std::function<void(int)>& drain, int rounds = kRounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<std::vector<double>>> ns(
      ways.size(), std::vector<std::vector<double>>(static_cast<std::size_t>(rounds),
                                                    std::vector<double>(static_cast<std::size_t>(threads))));
  Meeting meeting(threads);
  auto work = [&](int lane) {
    std::shared_ptr<void> entered = enter(lane);
    for (int round = -kWarmUpRounds; round < rounds; ++round) {
      for (std::size_t turn = 0; turn < ways.size(); ++turn) {
        std::size_t at = (turn + static_cast<std::size_t>(round + kWarmUpRounds)) % ways.size();
        drain(lane);
        meeting.Wait();
        Clock::time_point start = Clock::now();
        ways[at].launch(lane, kBatch);
        std::chrono::duration<double, std::nano> took = Clock::now() - start;
        meeting.Wait();
        if (round >= 0) ns[at][static_cast<std::size_t>(round)][static_cast<std::size_t>(lane)] = took.count() / kBatch;
      }
    }
    drain(lane);
  };
  std::vector<std::thread> pool;
  for (int lane = 0; lane < threads; ++lane) pool.emplace_back(work, lane);
  for (std::thread& thread : pool) thread.join();

  auto of_round = [&](std::size_t way, std::size_t round) {
    double sum = 0;
    for (double value : ns[way][round]) sum += value;
    return sum / threads;
  };
  std::vector<std::string> rows;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::size_t raw = 0;
    while (ways[raw].call != "raw" || ways[raw].waits != ways[way].waits) ++raw;
    std::vector<double> host, added;
    for (std::size_t round = 0; round < static_cast<std::size_t>(rounds); ++round) {
      host.push_back(of_round(way, round));
      added.push_back(of_round(way, round) - of_round(raw, round));
    }
    char row[512];
    std::snprintf(row, sizeof(row),
                  R"({"call": "%s", "keys": %ld, "threads": %d, "waits": %s, "host_ns": %.1f, "added_ns": %.1f})",
                  ways[way].call.c_str(), ways[way].keys, threads, ways[way].waits ? "true" : "false", Median(host),
                  Median(added));
    rows.emplace_back(row);
  }
  return rows;
}

/// Prints what one program found. `peer` and `language` name its line in the table.
inline void PrintReport(const std::string& peer, const std::string& language, const std::string& version,
                        const std::string& device, bool is_cpu_device, const std::vector<std::string>& rows) {
  std::printf(R"({"peer": "%s", "language": "%s", "version": "%s", "device": "%s", "is_cpu_device": %s, "rows": [)",
              peer.c_str(), language.c_str(), version.c_str(), device.c_str(), is_cpu_device ? "true" : "false");
  for (std::size_t i = 0; i < rows.size(); ++i) std::printf("%s\n %s", i == 0 ? "" : ",", rows[i].c_str());
  std::printf("\n]}\n");
}

}  // namespace peers

#endif  // TUNEONCE_BENCHMARKS_PEERS_INTERLEAVED_H_
