#include "ranks/agreement.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the value for a key in a list of pairs, or null.
template <typename Value>
const Value* Find(const std::vector<std::pair<Fingerprint, Value>>& all, const Fingerprint& key) {
  auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == key; });
  return found == all.end() ? nullptr : &found->second;
}

bool IsOneOf(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

Agreement::Agreement(const Options& options, Vote vote)
    : options_(options),
      vote_(std::move(vote)),
      votes_(static_cast<std::size_t>(options.size)),
      is_heard_(static_cast<std::size_t>(options.size)),
      plans_(vote_.keys.size()) {
  vote_.nonce = options.nonce;
}

Agreement::Want Agreement::want() const {
  switch (stage_) {
    case Stage::kVote:
      return is_posted_ ? Want::kHear : Want::kPost;
    case Stage::kDecision:
      if (!wanted().empty()) return Want::kFind;
      return GivesDecisions() && !is_posted_ ? Want::kPost : Want::kHear;
    case Stage::kCheck:
      if (!wanted().empty()) return Want::kMakeReady;
      return is_posted_ ? Want::kHear : Want::kPost;
    case Stage::kOver:
      break;
  }
  return Want::kNothing;
}

std::string Agreement::CellOf(int rank) const {
  const char* stage = stage_ == Stage::kVote ? "vote" : stage_ == Stage::kDecision ? "decision" : "check";
  return absl::StrCat("turn", options_.turn, "/", stage, "/", rank);
}

std::string Agreement::bytes() const {
  if (stage_ == Stage::kVote) return EncodeVote(vote_);
  RankDecisions decisions;
  RankChecks checks;
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    const Plan& plan = plans_[key];
    const Fingerprint& name = vote_.keys[key].key;
    if (stage_ == Stage::kCheck && plan.status.ok()) checks.emplace_back(name, *plan.digest);
    if (stage_ == Stage::kCheck && !plan.status.ok()) checks.emplace_back(name, plan.status);
    if (stage_ != Stage::kDecision || plan.owner != options_.rank || plan.takers.empty()) continue;
    if (plan.status.ok()) decisions.emplace_back(name, plan.decision);
    if (!plan.status.ok()) decisions.emplace_back(name, plan.status);
  }
  return stage_ == Stage::kDecision ? EncodeDecisions(decisions) : EncodeChecks(checks);
}

void Agreement::Posted(const std::string& held) {
  is_posted_ = true;
  if (held != bytes()) {
    FailAll(FailedPreconditionError(absl::StrCat("rank ", options_.rank,
                                                 " joined this group before, or another process uses its number: after "
                                                 "a restart use another group name on all ranks")));
    stage_ = Stage::kOver;  // What was written stays: nothing more is to be said in its name.
  }
  Advance();
}

void Agreement::Broken(const Status& why) {
  FailAll(why);
  stage_ = Stage::kOver;
}

void Agreement::GiveUp(const Status& why) {
  FailAll(why);
  has_given_up_ = true;
  Advance();
}

std::vector<int> Agreement::awaited() const {
  std::vector<int> ranks;
  if (has_given_up_) return ranks;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (rank == options_.rank || is_heard_[static_cast<std::size_t>(rank)]) continue;
    const bool counts = stage_ == Stage::kVote       ? true
                        : stage_ == Stage::kDecision ? NeedsDecisionsOf(rank)
                                                     : IsOfMyKind(rank);
    if (counts) ranks.push_back(rank);
  }
  return ranks;
}

Status Agreement::Heard(int rank, const std::string& bytes) {
  const std::vector<int> expected = awaited();
  if (want() != Want::kHear || !IsOneOf(expected, rank)) return Status();
  Status taken = stage_ == Stage::kVote       ? HeardVote(rank, bytes)
                 : stage_ == Stage::kDecision ? HeardDecisions(rank, bytes)
                                              : HeardChecks(rank, bytes);
  if (!taken.ok()) return taken;
  is_heard_[static_cast<std::size_t>(rank)] = true;
  Advance();
  return Status();
}

void Agreement::Silent(int rank, const std::string& why) {
  if (want() != Want::kHear) return;
  const Status status = DeadlineExceededError(absl::StrCat("rank ", rank, " ", why));
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    const bool concerns = stage_ != Stage::kDecision || plans_[key].owner == rank;
    if (concerns) Fail(key, status);
  }
  is_heard_[static_cast<std::size_t>(rank)] = true;
  Advance();
}

void Agreement::Fail(std::size_t key, Status why) {
  if (plans_[key].status.ok()) plans_[key].status = std::move(why);
}

void Agreement::FailMissing(std::size_t key, int rank) {
  if (!plans_[key].status.ok()) return;
  plans_[key].is_in_all_lists = false;
  Fail(key, FailedPreconditionError(absl::StrCat("rank ", rank, " does not have this key in its list")));
}

bool Agreement::ServesNothing() const {
  return std::all_of(plans_.begin(), plans_.end(), [](const Plan& plan) { return !plan.status.ok(); });
}

void Agreement::FailAll(const Status& why) {
  for (std::size_t key = 0; key < plans_.size(); ++key) Fail(key, why);
}

Status Agreement::HeardVote(int rank, const std::string& bytes) {
  Result<Vote> vote = DecodeVote(bytes);
  if (vote.status().code() == StatusCode::kFailedPrecondition) {
    FailAll(vote.status().WithPrefix(absl::StrCat("rank ", rank)));
    return Status();
  }
  TUNEONCE_RETURN_IF_ERROR(vote.status());
  votes_[static_cast<std::size_t>(rank)] = *std::move(vote);
  return Status();
}

const KeyVote* Agreement::VoteOf(int rank, std::size_t key) const {
  const std::vector<KeyVote>& keys = votes_[static_cast<std::size_t>(rank)]->keys;
  const Fingerprint& name = vote_.keys[key].key;
  auto found = std::find_if(keys.begin(), keys.end(), [&](const KeyVote& each) { return each.key == name; });
  return found == keys.end() ? nullptr : &*found;
}

bool Agreement::IsOfMyKind(int rank) const {
  const std::optional<Vote>& vote = votes_[static_cast<std::size_t>(rank)];
  // Who has no device has no key either: of all kinds.
  return vote && (vote->kind == vote_.kind || vote->kind.empty() || vote_.kind.empty());
}

std::vector<Fingerprint> Agreement::KeysOfOthersAlone() const {
  std::set<Fingerprint> names;
  for (int rank = 0; rank < options_.size; ++rank) {
    if (rank == options_.rank || !IsOfMyKind(rank)) continue;
    for (const KeyVote& vote : votes_[static_cast<std::size_t>(rank)]->keys) {
      if (vote.state != KeyVote::kServed) names.insert(vote.key);  // Else it asks for nothing.
    }
  }
  for (const KeyVote& mine : vote_.keys) names.erase(mine.key);
  return {names.begin(), names.end()};
}

bool Agreement::NobodyHasKeys() const {
  return vote_.keys.empty() && std::all_of(votes_.begin(), votes_.end(),
                                           [](const std::optional<Vote>& vote) { return !vote || vote->keys.empty(); });
}

void Agreement::PlanAll() {
  votes_[static_cast<std::size_t>(options_.rank)] = vote_;
  for (int rank = 0; rank < options_.size; ++rank) {
    const std::optional<Vote>& vote = votes_[static_cast<std::size_t>(rank)];
    if (IsOfMyKind(rank)) my_kind_.push_back(rank);
    if (vote && !IsOfMyKind(rank) && !options_.mixed_kinds) {
      FailAll(FailedPreconditionError(absl::StrCat("rank ", rank, " is ", vote->kind, ", and rank ", options_.rank, " ",
                                                   vote_.kind, " (RankPolicy::mixed_kinds lets each kind agree)")));
    }
  }
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    if (plans_[key].status.ok()) PlanKey(key);
  }
}

void Agreement::PlanKey(std::size_t key) {
  Plan& plan = plans_[key];
  const KeyVote& mine = vote_.keys[key];
  const KeyVote* from = nullptr;  // Whose selection all take.
  int owner = -1, bound_rank = -1;
  for (int rank : my_kind_) {
    const KeyVote* vote = VoteOf(rank, key);
    if (vote == nullptr) return FailMissing(key, rank);
    if (vote->definition != mine.definition) {
      return Fail(key, FailedPreconditionError(
                           absl::StrCat("rank ", rank, " defines the kernel with other sources or configs than rank ",
                                        options_.rank, ": use the same kernel definition on all ranks")));
    }
    const bool differs = from != nullptr && from->state == KeyVote::kServed && vote->state == KeyVote::kServed &&
                         from->selection != vote->selection;
    if (differs) {
      return Fail(key, FailedPreconditionError(absl::StrCat("ranks ", owner, " and ", rank,
                                                            " already run different or pinned configs for this key")));
    }
    if (vote->state == KeyVote::kFallback) bound_rank = rank;
    if (from == nullptr || vote->state > from->state) {
      from = vote;
      owner = rank;
    }
  }
  if (from->state <= KeyVote::kMayNotSearch) return;
  if (bound_rank >= 0) {
    return Fail(
        key, FailedPreconditionError(absl::StrCat(
                 "rank ", bound_rank, " runs its fallback only (DISABLE_AUTOTUNE, kFallbackOnly or Freeze), but rank ",
                 owner, " does not")));
  }
  plan.owner = owner;
  for (int rank : my_kind_) {
    const KeyVote* vote = VoteOf(rank, key);
    const bool has_it = vote->has_record() && vote->selection == from->selection;
    if (rank != owner && !has_it) plan.takers.push_back(rank);
  }
}

bool Agreement::MustFind(std::size_t key) const {
  const Plan& plan = plans_[key];
  const bool is_mine = plan.owner == options_.rank && plan.status.ok() && !plan.is_found;
  return is_mine && (!HasRecord(key) || !plan.takers.empty());
}

bool Agreement::GivesDecisions() const {
  return std::any_of(plans_.begin(), plans_.end(),
                     [&](const Plan& plan) { return plan.owner == options_.rank && !plan.takers.empty(); });
}

bool Agreement::NeedsDecisionsOf(int rank) const {
  return std::any_of(plans_.begin(), plans_.end(), [&](const Plan& plan) {
    return plan.owner == rank && plan.status.ok() && IsOneOf(plan.takers, options_.rank);
  });
}

std::vector<int> Agreement::HelpersOf(std::size_t key) const {
  std::vector<int> helpers;
  if (!vote_.shares_search || stage_ != Stage::kDecision || HasRecord(key)) return helpers;
  for (int rank : plans_[key].takers) {
    if (votes_[static_cast<std::size_t>(rank)]->shares_search) helpers.push_back(rank);
  }
  return helpers;
}

bool Agreement::AwaitsSharedSearchOf(int rank) const {
  const std::optional<Vote>& vote = votes_[static_cast<std::size_t>(rank)];
  if (stage_ != Stage::kDecision || !vote_.shares_search || !vote || !vote->shares_search) return false;
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    const Plan& plan = plans_[key];
    const bool is_awaited = plan.owner == rank && plan.status.ok() && IsOneOf(plan.takers, options_.rank);
    if (is_awaited && !VoteOf(rank, key)->has_record()) return true;
  }
  return false;
}

std::vector<std::size_t> Agreement::wanted() const {
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    const bool is_wanted = stage_ == Stage::kDecision
                               ? MustFind(key)
                               : stage_ == Stage::kCheck && plans_[key].status.ok() && !plans_[key].is_ready;
    if (is_wanted) keys.push_back(key);
  }
  return keys;
}

void Agreement::Found(std::size_t key, Result<std::string> record) {
  plans_[key].is_found = true;
  if (!record.ok()) Fail(key, record.status().WithPrefix(absl::StrCat("rank ", options_.rank)));
  if (record.ok()) plans_[key].decision = *std::move(record);
  Advance();
}

Status Agreement::HeardDecisions(int rank, const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(const RankDecisions decisions, DecodeDecisions(bytes));
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    Plan& plan = plans_[key];
    if (plan.owner != rank || !IsOneOf(plan.takers, options_.rank)) continue;
    const Result<std::string>* decision = Find(decisions, vote_.keys[key].key);
    if (decision == nullptr) {
      Fail(key, InternalError(absl::StrCat("rank ", rank, " did not vote on this key")));
    } else if (!decision->ok()) {
      Fail(key, decision->status());
    } else {
      plan.decision = **decision;
    }
  }
  return Status();
}

void Agreement::Ready(std::size_t key, Result<Fingerprint> digest) {
  plans_[key].is_ready = true;
  if (!digest.ok()) Fail(key, digest.status().WithPrefix(absl::StrCat("rank ", options_.rank)));
  if (digest.ok()) plans_[key].digest = *digest;
}

Status Agreement::HeardChecks(int rank, const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(const RankChecks checks, DecodeChecks(bytes));
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    const Result<Fingerprint>* digest = Find(checks, vote_.keys[key].key);
    if (digest == nullptr) {
      FailMissing(key, rank);
    } else if (!digest->ok()) {
      Fail(key, digest->status());
    } else if (plans_[key].digest && *plans_[key].digest != **digest) {
      Fail(key, FailedPreconditionError(absl::StrCat("rank ", rank, " would run different code than rank ",
                                                     options_.rank, ": use the same compilers on all ranks")));
    }
  }
  return Status();
}

void Agreement::Advance() {
  while (want() == Want::kHear && awaited().empty()) {
    std::fill(is_heard_.begin(), is_heard_.end(), false);
    is_posted_ = false;
    if (stage_ == Stage::kVote && !ServesNothing()) {
      PlanAll();
      stage_ = Stage::kDecision;
    } else if (stage_ == Stage::kCheck || NobodyHasKeys()) {
      stage_ = Stage::kOver;
    } else {
      // A rank that serves nothing sends the reason and receives the others' messages, because some transports deliver
      // only while the receiver listens.
      stage_ = Stage::kCheck;
    }
  }
}

}  // namespace v0
}  // namespace tuneonce
