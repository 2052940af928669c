#include "tuneonce/rank_group.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {

RankGroup::~RankGroup() = default;

Result<std::vector<std::string>> RankGroup::AllGather(const std::string& bytes, int silence_ms) {
  using Clock = std::chrono::steady_clock;
  const std::string round = absl::StrCat("round", NextRound(), "/gather/");
  TUNEONCE_RETURN_IF_ERROR(Put(round + std::to_string(rank()), bytes));
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(silence_ms);
  std::vector<std::string> all;
  std::string missing;
  for (int from = 0; from < size(); ++from) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    const int wait_ms = left.count() > 0 ? static_cast<int>(left.count()) : 0;
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> given, Get(round + std::to_string(from), wait_ms));
    if (!given) absl::StrAppend(&missing, missing.empty() ? "" : ", ", from);
    if (given) all.push_back(*std::move(given));
  }
  if (missing.empty()) return all;
  return DeadlineExceededError(absl::StrCat("rank ", missing, " said nothing for ", silence_ms, " ms"));
}

}  // namespace v0
}  // namespace tuneonce
