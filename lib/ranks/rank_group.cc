#include "tuneonce/plugin/rank_group.h"

#include <chrono>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ranks/rank_turn.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// No two starts of a rank have the same.
std::uint64_t Nonce() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

struct RankGroup::State {
  Mutex mutex;
  std::uint64_t turn TUNEONCE_GUARDED_BY(mutex) = 0;
  std::set<int> silent TUNEONCE_GUARDED_BY(mutex);  // RankTurn::silent.
  const std::uint64_t nonce = Nonce();
};

RankGroup::RankGroup() : state_(std::make_unique<State>()) {}
RankGroup::~RankGroup() = default;

RankTurn::RankTurn(RankGroup& group)
    : lock_(group.state_->mutex),
      number_(group.state_->turn++),
      nonce_(group.state_->nonce),
      silent_(group.state_->silent) {}

Result<std::vector<std::string>> RankGroup::AllGather(const std::string& bytes, int silence_ms) {
  const RankTurn turn(*this);
  const std::string prefix = absl::StrCat("turn", turn.number(), "/gather/");
  TUNEONCE_RETURN_IF_ERROR(Put(prefix + std::to_string(rank()), bytes));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(silence_ms);
  std::vector<std::string> all;
  std::string missing;
  for (int from = 0; from < size(); ++from) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    const int wait_ms = left.count() > 0 ? static_cast<int>(left.count()) : 0;
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> given, Get(prefix + std::to_string(from), wait_ms));
    if (!given) absl::StrAppend(&missing, missing.empty() ? "" : ", ", from);
    if (given) all.push_back(*std::move(given));
  }
  if (missing.empty()) return all;
  return DeadlineExceededError(absl::StrCat("rank ", missing, " sent nothing for ", silence_ms, " ms"));
}

}  // namespace v0
}  // namespace tuneonce
