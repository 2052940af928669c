#include <chrono>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "tuneonce/plugin/rank_group.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// What all ranks see. Thread-safe.
class Board {
 public:
  void Put(const std::string& name, const std::string& bytes) {
    MutexLock lock(mutex_);
    held_[name] = bytes;
    changed_.NotifyAll();
  }
  std::string PutOnce(const std::string& name, const std::string& bytes) {
    MutexLock lock(mutex_);
    const std::string held = held_.try_emplace(name, bytes).first->second;
    changed_.NotifyAll();
    return held;
  }
  std::optional<std::string> Get(const std::string& name, int wait_ms) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
    MutexLock lock(mutex_);
    for (;;) {
      if (auto found = held_.find(name); found != held_.end()) return found->second;
      const auto left = end - std::chrono::steady_clock::now();
      if (left.count() <= 0) return std::nullopt;
      changed_.WaitFor(lock, left);
    }
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::map<std::string, std::string> held_ TUNEONCE_GUARDED_BY(mutex_);
};

class ThreadRank final : public RankGroup {
 public:
  ThreadRank(std::shared_ptr<Board> board, int rank, int size) : board_(std::move(board)), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Status Put(const std::string& name, const std::string& bytes) override { return board_->Put(name, bytes), Status(); }
  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    return board_->Get(name, wait_ms);
  }
  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int /*wait_ms*/) override {
    return board_->PutOnce(name, bytes);
  }

 private:
  const std::shared_ptr<Board> board_;
  const int rank_, size_;
};

}  // namespace

std::vector<std::shared_ptr<RankGroup>> MakeThreadRanks(int size) {
  auto board = std::make_shared<Board>();
  std::vector<std::shared_ptr<RankGroup>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_shared<ThreadRank>(board, rank, size));
  return ranks;
}

}  // namespace v0
}  // namespace tuneonce
