#ifndef TUNEONCE_TESTS_TESTING_FAULTY_RANK_H_
#define TUNEONCE_TESTS_TESTING_FAULTY_RANK_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "base/encoding.h"
#include "base/mutex.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/rank_group.h"

namespace tuneonce::testing {

/// What goes wrong with one rank, at its first message whose name has `at` in it ("/vote/", "/selection/", "/check/").
struct RankFault {
  enum Kind {
    kNone,
    kHang,        ///< It says nothing more until Release.
    kDeath,       ///< Whatever it asks of its engine throws from then on.
    kEngineGone,  ///< The same in words.
    kSlow,        ///< Each of its calls takes `delay_ms` longer, from the beginning.
    kLost,        ///< That message never comes; the engine says it went.
    kLate,        ///< That message comes `delay_ms` later; the engine says it went.
    kDuplicate,   ///< All that it sends it sends twice.
    kTorn,        ///< The others read half of it, the first few times.
    kDamaged,     ///< They always do.
    kVersion,     ///< Its votes are of a version to come.
  };
  Kind kind = kNone;
  std::string at = "/vote/";
  int delay_ms = 0;
};

/// When the fault came, and the end of hangs. Thread-safe.
class FaultClock {
 public:
  using Clock = std::chrono::steady_clock;
  void Came() {
    MutexLock lock(mutex_);
    if (came_ == Clock::time_point()) came_ = Clock::now();
  }
  bool HasCome() {
    MutexLock lock(mutex_);
    return came_ != Clock::time_point();
  }
  /// Time since it came, until now; 0 if it did not.
  std::chrono::milliseconds Since() {
    MutexLock lock(mutex_);
    if (came_ == Clock::time_point()) return std::chrono::milliseconds(0);
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - came_);
  }
  void Release() {
    MutexLock lock(mutex_);
    released_ = true;
    changed_.NotifyAll();
  }
  void Hang() {
    Came();
    MutexLock lock(mutex_);
    while (!released_) changed_.Wait(lock);
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  Clock::time_point came_ TUNEONCE_GUARDED_BY(mutex_);
  bool released_ TUNEONCE_GUARDED_BY(mutex_) = false;
};

/// A rank of another group, with a fault. Messages that are late are on their way in threads that end with it.
class FaultyRank final : public RankGroup {
 public:
  FaultyRank(std::shared_ptr<RankGroup> inner, RankFault fault, std::shared_ptr<FaultClock> clock,
             std::shared_ptr<RankFault> of_others = nullptr)
      : inner_(std::move(inner)), fault_(std::move(fault)), clock_(std::move(clock)), read_(std::move(of_others)) {}
  ~FaultyRank() override {
    if (late_.joinable()) late_.join();
  }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Status Put(const std::string& name, const std::string& bytes) override {
    TUNEONCE_RETURN_IF_ERROR(Before(name, /*is_message=*/false));
    if (fault_.kind == RankFault::kDuplicate) TUNEONCE_RETURN_IF_ERROR(inner_->Put(name, bytes));
    return inner_->Put(name, bytes);
  }
  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    TUNEONCE_RETURN_IF_ERROR(Before(name, /*is_message=*/false));
    Result<std::optional<std::string>> got = inner_->Get(name, wait_ms);
    if (!got.ok() || !*got || !ReadsTorn(name)) return got;
    return std::optional<std::string>((*got)->substr(0, (*got)->size() / 2));
  }
  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override {
    TUNEONCE_RETURN_IF_ERROR(Before(name, /*is_message=*/true));
    if (fault_.kind == RankFault::kVersion) return inner_->PutOnce(name, OfNextVersion(bytes), wait_ms);
    if (fault_.kind == RankFault::kDuplicate) TUNEONCE_RETURN_IF_ERROR(inner_->PutOnce(name, bytes, wait_ms).status());
    if (fault_.kind == RankFault::kLost && IsAt(name)) {
      clock_->Came();
      return bytes;
    }
    if (fault_.kind == RankFault::kLate && IsAt(name) && !late_.joinable()) {
      clock_->Came();
      late_ = std::thread([this, name, bytes, wait_ms] {
        std::this_thread::sleep_for(std::chrono::milliseconds(fault_.delay_ms));
        (void)inner_->PutOnce(name, bytes, wait_ms);
      });
      return bytes;
    }
    Result<std::string> held = inner_->PutOnce(name, bytes, wait_ms);
    if (!held.ok() || *held == bytes || !ReadsTorn(name)) return held;
    return held->substr(0, held->size() / 2);
  }

 private:
  bool ReadsTorn(const std::string& name) {
    const bool is_torn = read_ != nullptr && name.find(read_->at) != std::string::npos &&
                         (read_->kind == RankFault::kDamaged || (read_->kind == RankFault::kTorn && torn_++ < 3));
    if (is_torn) clock_->Came();
    return is_torn;
  }
  bool IsAt(const std::string& name) const { return name.find(fault_.at) != std::string::npos; }

  Status Before(const std::string& name, bool is_message) {
    if (fault_.kind == RankFault::kSlow) std::this_thread::sleep_for(std::chrono::milliseconds(fault_.delay_ms));
    const bool is_final =
        fault_.kind == RankFault::kHang || fault_.kind == RankFault::kDeath || fault_.kind == RankFault::kEngineGone;
    if (!is_final) return Status();
    if (is_message && IsAt(name)) is_over_ = true;
    if (!is_over_) return Status();
    clock_->Came();
    if (fault_.kind == RankFault::kDeath) throw std::runtime_error("the rank is dead");
    if (fault_.kind == RankFault::kHang) clock_->Hang();
    return UnavailableError("the engine is gone");
  }

  static std::string OfNextVersion(const std::string& bytes) {
    std::string body = bytes.substr(0, bytes.size() - sizeof(Fingerprint));
    ++body[0];
    const Fingerprint freeze = Fingerprinter().Add(body).Finish();
    return body + Encoder().U64(freeze.high).U64(freeze.low).Take();
  }

  const std::shared_ptr<RankGroup> inner_;
  const RankFault fault_;
  const std::shared_ptr<FaultClock> clock_;
  const std::shared_ptr<RankFault> read_;
  std::thread late_;
  bool is_over_ = false;
  int torn_ = 0;
};

/// A rank of another group whose engine takes time: what it writes once arrives with a later call, and the first call
/// without a wait does not tell what the cell holds. MPI does so. REQUIRES: one thread.
class LateRank final : public RankGroup {
 public:
  explicit LateRank(std::shared_ptr<RankGroup> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Status Put(const std::string& name, const std::string& bytes) override {
    Arrive();
    return inner_->Put(name, bytes);
  }
  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    Arrive();
    return inner_->Get(name, wait_ms);
  }
  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override {
    if (wait_ms == 0 && asked_.insert(name).second) {
      on_the_way_.emplace_back(name, bytes);
      return DeadlineExceededError("no answer yet");
    }
    while (!on_the_way_.empty()) Arrive();
    return inner_->PutOnce(name, bytes, wait_ms);
  }

 private:
  /// Lets the oldest message arrive with every other call.
  void Arrive() {
    if (on_the_way_.empty() || (++num_calls_ % 2 == 0)) return;
    const auto [name, bytes] = on_the_way_.front();
    on_the_way_.pop_front();
    (void)inner_->PutOnce(name, bytes, /*wait_ms=*/0);
  }

  const std::shared_ptr<RankGroup> inner_;
  std::set<std::string> asked_;
  std::deque<std::pair<std::string, std::string>> on_the_way_;
  int num_calls_ = 0;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_FAULTY_RANK_H_
