#include "tuneonce/mpi_rank_group.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "mpi_post.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// The meaning of a message's name and bytes.
enum class Kind : char {
  kPut = 'p',   ///< A Put of the sender, which replaces an earlier one.
  kAsk = 'a',   ///< For rank 0: to be the cell's, if that is empty.
  kCell = 'c',  ///< Rank 0's: what the cell has.
};
constexpr int kDecider = 0;

/// How long a rank that waits leaves MPI, and the core, alone: at first, and at last.
constexpr std::chrono::microseconds kFirstPause(20), kLongestPause(1000);

/// How many tags the attempts have.
constexpr std::uint64_t kTags = 1000;

class MpiRank final : public RankGroup {
 public:
  MpiRank(MPI_Comm communicator, int rank, int size, const MpiRankOptions& options)
      : rank_(rank),
        size_(size),
        post_(communicator, options.tag + static_cast<int>(options.attempt % kTags), options.attempt) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status Put(const std::string& name, const std::string& bytes) override {
    TUNEONCE_RETURN_IF_ERROR(CheckThread());
    put_[name] = bytes;
    TUNEONCE_RETURN_IF_ERROR(SendToAll(Kind::kPut, name, bytes));
    return Hear();
  }

  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    std::optional<std::string> found;
    TUNEONCE_RETURN_IF_ERROR(HearUntil(wait_ms, [&] {
      found = Find(name);
      return found.has_value();
    }));
    return found;
  }

  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override {
    TUNEONCE_RETURN_IF_ERROR(CheckThread());
    TUNEONCE_RETURN_IF_ERROR(Hear());  // Who was there first is heard first.
    if (rank_ == kDecider) {
      Decide(name, bytes);
      TUNEONCE_RETURN_IF_ERROR(Hear());
    } else if (cells_.count(name) == 0 && asked_.insert(name).second) {
      TUNEONCE_RETURN_IF_ERROR(Send(kDecider, Kind::kAsk, name, bytes));
    }
    TUNEONCE_RETURN_IF_ERROR(HearUntil(wait_ms, [&] { return cells_.count(name) > 0; }));
    auto cell = cells_.find(name);
    if (cell != cells_.end()) return cell->second;
    return DeadlineExceededError(
        absl::StrCat("rank ", kDecider, ", which decides under MPI, did not answer for ", wait_ms, " ms"));
  }

 private:
  Status CheckThread() const {
    int is_over = 0, level = MPI_THREAD_SINGLE, is_main = 0;
    MPI_Finalized(&is_over);
    if (is_over != 0) return FailedPreconditionError("MPI was finalized already (MPI_Finalize)");
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    if (level >= MPI_THREAD_SERIALIZED || is_main != 0) return Status();
    return FailedPreconditionError(
        "MPI allows calls only from its main thread, but another thread called it: call MPI_Init_thread with "
        "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE");
  }

  std::optional<std::string> Find(const std::string& name) const {
    if (auto cell = cells_.find(name); cell != cells_.end()) return cell->second;
    if (auto put = put_.find(name); put != put_.end()) return put->second;
    return std::nullopt;
  }

  Status Send(int to, Kind kind, const std::string& name, const std::string& bytes) {
    return post_.Send(to, absl::StrCat(std::string(1, static_cast<char>(kind)), name.size(), " ", name, bytes));
  }
  Status SendToAll(Kind kind, const std::string& name, const std::string& bytes) {
    for (int to = 0; to < size_; ++to) {
      if (to != rank_) TUNEONCE_RETURN_IF_ERROR(Send(to, kind, name, bytes));
    }
    return Status();
  }

  /// On rank 0: decides a cell with the first value that arrives, permanently.
  void Decide(const std::string& name, const std::string& bytes) {
    if (!cells_.emplace(name, bytes).second) return;
    Status sent = SendToAll(Kind::kCell, name, bytes);
    if (!sent.ok()) broken_ = std::move(sent);
  }

  void Take(int from, const std::string& message) {
    // The kind, the length of the name, a blank, the name, the bytes: "p5 queueBYTES".
    const std::size_t blank = message.find(' ');
    std::size_t length = 0;
    if (blank == std::string::npos || !absl::SimpleAtoi(absl::string_view(message).substr(1, blank - 1), &length))
      return;
    if (length > message.size() - blank - 1) return;
    const auto kind = static_cast<Kind>(message.front());
    const std::string name = message.substr(blank + 1, length);
    const std::string bytes = message.substr(blank + 1 + length);
    if (kind == Kind::kPut) {
      put_[name] = bytes;
    } else if (kind == Kind::kAsk && rank_ == kDecider) {
      Decide(name, bytes);
    } else if (kind == Kind::kCell && from == kDecider) {
      cells_.emplace(name, bytes);
    }
  }

  Status Hear() {
    TUNEONCE_RETURN_IF_ERROR(post_.Receive([this](int from, const std::string& message) { Take(from, message); }));
    return broken_;
  }

  /// Hears until `is_done`, for at most `wait_ms`.
  template <typename Done>
  Status HearUntil(int wait_ms, const Done& is_done) {
    TUNEONCE_RETURN_IF_ERROR(CheckThread());
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(wait_ms);
    for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      TUNEONCE_RETURN_IF_ERROR(Hear());
      if (is_done()) return Status();
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now());
      if (left.count() <= 0) return Status();
      std::this_thread::sleep_for(std::min(pause, left));
    }
  }

  const int rank_, size_;
  MpiPost post_;
  std::map<std::string, std::string> put_, cells_;  // The values that have arrived here.
  std::set<std::string> asked_;
  Status broken_;  // The error that prevented rank 0 from answering.
};

}  // namespace

Result<std::shared_ptr<RankGroup>> MakeMpiRank(MpiRankOptions options) {
  int is_begun = 0, is_over = 0;
  MPI_Initialized(&is_begun);
  MPI_Finalized(&is_over);
  if (is_begun == 0 || is_over != 0) {
    return FailedPreconditionError(is_begun == 0 ? "MPI is not initialized: call MPI_Init_thread before MakeMpiRank"
                                                 : "MPI was finalized already (MPI_Finalize)");
  }
  constexpr int kMostTag = 32767;  // Every MPI has these.
  if (options.tag < 0 || options.tag > kMostTag - static_cast<int>(kTags)) {
    return InvalidArgumentError(
        absl::StrCat("MpiRankOptions::tag is ", options.tag, ": it must be 0 to ", kMostTag - static_cast<int>(kTags)));
  }
  MPI_Comm communicator = options.communicator ? MPI_Comm_f2c(*options.communicator) : MPI_COMM_WORLD;
  int rank = 0, size = 0;
  if (communicator == MPI_COMM_NULL || MPI_Comm_rank(communicator, &rank) != MPI_SUCCESS ||
      MPI_Comm_size(communicator, &size) != MPI_SUCCESS) {
    return InvalidArgumentError("MpiRankOptions::communicator is not set (MPI_Comm_c2f)");
  }
  return std::shared_ptr<RankGroup>(std::make_shared<MpiRank>(communicator, rank, size, options));
}

}  // namespace v0
}  // namespace tuneonce
