#include "ranks/agreement.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the value for a key in a list of pairs, or null.
template <typename Value>
const Value* Find(const std::vector<std::pair<Fingerprint, Value>>& all, const Fingerprint& key) {
  auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == key; });
  return found == all.end() ? nullptr : &found->second;
}

template <typename Value>
bool IsOneOf(const std::vector<Value>& all, const Value& value) {
  return std::find(all.begin(), all.end(), value) != all.end();
}

/// One search that a rank is to be dealt.
struct Search {
  Fingerprint kernel;
  std::uint64_t cost = 0;
  std::vector<int> ranks;  ///< That may search, rising. Deal moves the one that it is dealt to the front.
  std::vector<std::size_t> keys;
};

/// Deals searches to their ranks, the most expensive first, each to the rank with the least cost among those that
/// compile its kernel. For the latter, the kernels lie in a row, each as long as its searches cost, and the row is
/// divided evenly among the ranks: few ranks then compile the same code.
void Deal(std::vector<Search>* searches) {
  struct Part {
    std::uint64_t begin = 0, end = 0;
  };
  std::stable_sort(searches->begin(), searches->end(),
                   [](const Search& a, const Search& b) { return a.cost > b.cost; });
  std::map<Fingerprint, Part> row;
  for (const Search& search : *searches) row[search.kernel].end += search.cost;
  std::uint64_t total = 0;
  for (auto& [kernel, part] : row) {
    part.begin = total;
    total += part.end;
    part.end = total;
  }
  std::map<int, std::uint64_t> load;
  for (Search& search : *searches) {
    const Part& part = row[search.kernel];
    const auto first = static_cast<std::ptrdiff_t>(part.begin * search.ranks.size() / total);
    const auto last = static_cast<std::ptrdiff_t>((part.end * search.ranks.size() - 1) / total);
    const auto owner = std::min_element(search.ranks.begin() + first, search.ranks.begin() + last + 1,
                                        [&](int a, int b) { return load[a] < load[b]; });
    load[*owner] += search.cost;
    std::rotate(search.ranks.begin(), owner, search.ranks.end());
  }
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
    case Stage::kDecision: {
      const Share* post = ToPost();
      if (post != nullptr && !post->is_postponed) return Want::kPost;
      if (!ToFind().empty()) return Want::kFind;
      if (ToMakeReady().empty()) return post != nullptr ? Want::kPost : Want::kHear;
      return post != nullptr || !awaited().empty() ? Want::kMakeReady : Want::kHear;
    }
    case Stage::kCheck:
      if (!ToMakeReady().empty()) return Want::kMakeReady;
      return is_posted_ ? Want::kHear : Want::kPost;
    case Stage::kOver:
      break;
  }
  return Want::kNothing;
}

std::vector<const Agreement::Share*> Agreement::AllToPost() const {
  std::vector<const Share*> all, found;
  for (const Share& share : shares_) {
    if (!share.is_settled && !share.why_silent.empty()) {
      all.push_back(&share);  // Before what was found: another rank may have to search then.
    } else if (FindsNow(share) && !HasToFind(share)) {
      found.push_back(&share);
    }
  }
  all.insert(all.end(), found.begin(), found.end());
  if (const Share* claimed = ToClaim(); claimed != nullptr) all.push_back(claimed);
  return all;
}

const Agreement::Share* Agreement::ToPost() const {
  const std::vector<const Share*> all = AllToPost();
  const auto fresh = std::find_if(all.begin(), all.end(), [](const Share* share) { return !share->is_postponed; });
  return fresh != all.end() ? *fresh : all.empty() ? nullptr : all.front();
}

const Agreement::Share* Agreement::ToClaim() const {
  std::vector<const Share*> own;
  const Share* of_another = nullptr;
  for (const Share& share : shares_) {
    if (share.is_claimed || share.is_settled || !share.why_silent.empty()) continue;
    if (share.is_asked) return &share;  // It may be this rank's already.
    if (share.owner() == options_.rank) own.push_back(&share);
    if (takes_more_ && !share.is_left && IsOneOf(share.ranks, options_.rank)) of_another = &share;
  }
  if (has_given_up_) return nullptr;
  const auto num_to_find = std::count_if(shares_.begin(), shares_.end(),
                                         [&](const Share& share) { return FindsNow(share) && HasToFind(share); });
  if (num_to_find == 0 && own.empty()) return of_another;
  const bool is_ahead = is_answered_late_ && num_to_find == 1 && own.size() > options_.left_to_others;
  if (num_to_find > 0 && !is_ahead) return nullptr;
  const auto ready = std::find_if(own.begin(), own.end(), [](const Share* share) { return !share->waits; });
  return ready != own.end() ? *ready : own.front();
}

void Agreement::NoteWaits(const std::function<bool(std::size_t key)>& waits) {
  for (Share& share : shares_) {
    const bool is_open = share.owner() == options_.rank && !share.is_claimed && !share.is_settled;
    if (is_open) share.waits = waits(share.keys.front());
  }
}

bool Agreement::MayPostpone() const {
  if (stage_ != Stage::kDecision) return false;
  const std::vector<const Share*> all = AllToPost();
  const auto num_fresh = std::count_if(all.begin(), all.end(), [](const Share* share) { return !share->is_postponed; });
  return num_fresh > 1 || !ToFind().empty() || !ToMakeReady().empty();
}

void Agreement::Postponed() {
  Share& share = Mutable(ToPost());
  share.is_asked = share.is_postponed = is_answered_late_ = true;
}

void Agreement::Resume() {
  for (Share& share : shares_) share.is_postponed = false;
}

std::optional<std::size_t> Agreement::ToTake() const {
  const Share* share = stage_ == Stage::kDecision && takes_more_ ? ToPost() : nullptr;
  const bool may_leave = share != nullptr && !share->is_left && !share->is_asked;
  const bool is_asked_for = may_leave && share->owner() != options_.rank && IsOneOf(share->ranks, options_.rank);
  return is_asked_for ? std::optional<std::size_t>(share->keys.front()) : std::nullopt;
}

void Agreement::TakeNoMore() {
  takes_more_ = false;
  Advance();
}

void Agreement::Leave(std::size_t key) {
  for (Share& share : shares_) share.is_left |= IsOneOf(share.keys, key);
  Advance();
}

const Agreement::Share* Agreement::AwaitedOf(int rank) const {
  auto awaits = [&](const Share& share) {
    return !share.is_settled && share.why_silent.empty() && share.owner() == rank &&
           std::any_of(share.keys.begin(), share.keys.end(), [&](std::size_t key) { return Takes(key); });
  };
  const auto found = std::find_if(shares_.begin(), shares_.end(), awaits);
  return rank == options_.rank || found == shares_.end() ? nullptr : &*found;
}

bool Agreement::FindsNow(const Share& share) const {
  return share.is_claimed && !share.is_settled && share.owner() == options_.rank;
}

bool Agreement::IsToFind(std::size_t key) const { return plans_[key].status.ok() && !plans_[key].is_found; }

bool Agreement::HasToFind(const Share& share) const {
  return std::any_of(share.keys.begin(), share.keys.end(), [&](std::size_t key) { return IsToFind(key); });
}

bool Agreement::IsSearch(std::size_t key) const {
  return plans_[key].voter >= 0 && !VoteOf(plans_[key].voter, key)->has_record();
}

bool Agreement::Takes(std::size_t key) const {
  return plans_[key].status.ok() && IsOneOf(plans_[key].takers, options_.rank);
}

std::string Agreement::CellOf(const Share& share) const {
  return absl::StrCat("turn", options_.turn, "/decision/", share.name, "/", share.num_read);
}

std::string Agreement::CellOf(int rank) const {
  if (const Share* share = stage_ == Stage::kDecision ? AwaitedOf(rank) : nullptr; share != nullptr) {
    return CellOf(*share);
  }
  return absl::StrCat("turn", options_.turn, stage_ == Stage::kVote ? "/vote/" : "/check/", rank);
}

bool Agreement::IsTakeoverOf(int rank) const {
  const Share* share = stage_ == Stage::kDecision ? AwaitedOf(rank) : nullptr;
  return share != nullptr && share->is_takeover;
}

std::string Agreement::cell() const {
  const Share* share = stage_ == Stage::kDecision ? ToPost() : nullptr;
  return share != nullptr ? CellOf(*share) : CellOf(options_.rank);
}

std::string Agreement::bytes() const {
  if (stage_ == Stage::kVote) return EncodeVote(vote_);
  if (stage_ == Stage::kDecision) return BytesOf(*ToPost());
  RankChecks checks;
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    const Plan& plan = plans_[key];
    const Fingerprint& name = vote_.keys[key].key;
    if (plan.status.ok()) checks.emplace_back(name, *plan.digest);
    if (!plan.status.ok()) checks.emplace_back(name, plan.status);
  }
  return EncodeChecks(checks);
}

std::string Agreement::BytesOf(const Share& share) const {
  if (!share.why_silent.empty()) {
    Claim claim{share.ranks.size() > 1 ? share.ranks[1] : -1, share.why_silent};
    if (takes_more_ && IsOneOf(share.ranks, options_.rank)) claim.rank = options_.rank;
    return EncodeClaim(claim);
  }
  if (!share.is_claimed) return EncodeClaim({options_.rank, ""});
  RankDecisions decisions;
  for (std::size_t key : share.keys) {
    const Plan& plan = plans_[key];
    decisions.emplace_back(vote_.keys[key].key,
                           plan.status.ok() ? Result<std::string>(plan.decision) : Result<std::string>(plan.status));
  }
  return EncodeDecisions(decisions);
}

void Agreement::Posted(const std::string& held) {
  if (stage_ == Stage::kDecision) {  // What another rank wrote first counts.
    Share& share = Mutable(ToPost());
    Resume();
    if (Status read = Read(&share, held); !read.ok()) {
      for (std::size_t key : share.keys) Fail(key, read);
      share.is_settled = true;
    }
    return Advance();
  }
  is_posted_ = true;
  if (held != bytes()) {
    FailAll(FailedPreconditionError(absl::StrCat("rank ", options_.rank,
                                                 " joined this group before, or another process uses its number: after "
                                                 "a restart use another group name on all ranks")));
    stage_ = Stage::kOver;  // What was written stays: nothing more is to be said in its name.
  }
  Advance();
}

Status Agreement::LostError(int rank, const std::string& why) const {
  return DeadlineExceededError(absl::StrCat("rank ", rank, " ", why));
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

void Agreement::Interrupt() { GiveUp(CancelledError(absl::StrCat("rank ", options_.rank, " was interrupted"))); }

std::vector<int> Agreement::awaited() const {
  std::vector<int> ranks;
  if (has_given_up_) return ranks;
  for (int rank = 0; rank < options_.size; ++rank) {
    const bool is_heard = stage_ != Stage::kDecision && is_heard_[static_cast<std::size_t>(rank)];
    if (rank == options_.rank || is_heard) continue;
    const bool counts = stage_ == Stage::kVote       ? true
                        : stage_ == Stage::kDecision ? AwaitedOf(rank) != nullptr
                                                     : IsOfMyKind(rank) && lost_.count(rank) == 0;
    if (counts) ranks.push_back(rank);
  }
  return ranks;
}

Status Agreement::Heard(int rank, const std::string& bytes) {
  const std::vector<int> expected = awaited();
  if (want() != Want::kHear || !IsOneOf(expected, rank)) return Status();
  Status taken = stage_ == Stage::kVote       ? HeardVote(rank, bytes)
                 : stage_ == Stage::kDecision ? Read(&Mutable(AwaitedOf(rank)), bytes)
                                              : HeardChecks(rank, bytes);
  if (!taken.ok()) return taken;
  is_heard_[static_cast<std::size_t>(rank)] = true;
  Advance();
  return Status();
}

void Agreement::Silent(int rank, const std::string& why) {
  if (want() != Want::kHear) return;
  if (stage_ == Stage::kDecision) {
    for (Share& share : shares_) {
      if (!share.is_settled && share.owner() == rank && rank != options_.rank) share.why_silent = why;
    }
    return;
  }
  FailAll(LostError(rank, why));
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
  int voter = -1, bound_rank = -1;
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
      return Fail(key, FailedPreconditionError(absl::StrCat("ranks ", voter, " and ", rank,
                                                            " already run different or pinned configs for this key")));
    }
    if (vote->state == KeyVote::kFallback) bound_rank = rank;
    if (from == nullptr || vote->state > from->state) {
      from = vote;
      voter = rank;
    }
  }
  if (from->state <= KeyVote::kMayNotSearch) return;
  if (bound_rank >= 0) {
    return Fail(
        key, FailedPreconditionError(absl::StrCat(
                 "rank ", bound_rank, " runs its fallback only (DISABLE_AUTOTUNE, kFallbackOnly or Freeze), but rank ",
                 voter, " does not")));
  }
  plan.voter = voter;
  for (int rank : my_kind_) {
    const KeyVote* vote = VoteOf(rank, key);
    const bool has_it = vote->has_record() && vote->selection == from->selection;
    if (!has_it) plan.takers.push_back(rank);
  }
}

void Agreement::ShareRecords() {
  std::map<int, std::vector<std::size_t>> keys_of;
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    const Plan& plan = plans_[key];
    const bool is_needed = plan.voter >= 0 && !IsSearch(key) && !plan.takers.empty();
    if (is_needed && plan.status.ok()) keys_of[plan.voter].push_back(key);
  }
  for (auto& [rank, keys] : keys_of) {
    Share share{absl::StrCat(rank, "/records"), std::move(keys), {rank}};
    share.is_claimed = true;
    shares_.push_back(std::move(share));
  }
}

void Agreement::ShareSearches() {
  std::map<Fingerprint, std::vector<std::size_t>> searches;  // By KeyVote::search.
  for (std::size_t key = 0; key < plans_.size(); ++key) {
    if (IsSearch(key) && plans_[key].status.ok()) searches[VoteOf(plans_[key].voter, key)->search].push_back(key);
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // Twelve days. No sum of costs overflows.
  std::vector<Search> to_deal;
  for (auto& [fingerprint, keys] : searches) {
    // All ranks compute with the same vote of the same rank, whatever the order of their lists.
    std::sort(keys.begin(), keys.end(),
              [&](std::size_t a, std::size_t b) { return vote_.keys[a].key < vote_.keys[b].key; });
    const std::uint64_t cost = VoteOf(plans_[keys.front()].voter, keys.front())->cost;
    to_deal.push_back({vote_.keys[keys.front()].definition, std::clamp<std::uint64_t>(cost, 1, kMost),
                       SearchersOf(keys), std::move(keys)});
  }
  Deal(&to_deal);
  std::map<int, int> dealt;  // How many searches each rank was dealt.
  for (Search& search : to_deal) {
    const int owner = search.ranks.front();
    const int index = dealt[owner]++;
    Share share{absl::StrCat(owner, "/", index), std::move(search.keys), std::move(search.ranks)};
    share.is_claimed = index == 0 || share.ranks.size() == 1;
    shares_.push_back(std::move(share));
  }
}

std::vector<int> Agreement::SearchersOf(const std::vector<std::size_t>& keys) const {
  const Fingerprint& variants = VoteOf(plans_[keys.front()].voter, keys.front())->variants;
  auto may_search = [&](int rank) {
    return std::all_of(keys.begin(), keys.end(), [&](std::size_t key) {
      const KeyVote* vote = VoteOf(rank, key);
      return vote->state == KeyVote::kNothing && vote->variants == variants;
    });
  };
  std::vector<int> ranks;
  std::copy_if(my_kind_.begin(), my_kind_.end(), std::back_inserter(ranks), may_search);
  if (ranks.empty()) ranks.push_back(plans_[keys.front()].voter);
  return ranks;
}

std::vector<std::size_t> Agreement::wanted() const {
  const std::vector<std::size_t> to_find = ToFind();
  return to_find.empty() ? ToMakeReady() : to_find;
}

std::vector<std::size_t> Agreement::ToFind() const {
  std::vector<std::size_t> keys;
  for (const Share& share : shares_) {
    if (stage_ != Stage::kDecision || !FindsNow(share)) continue;
    std::copy_if(share.keys.begin(), share.keys.end(), std::back_inserter(keys),
                 [&](std::size_t key) { return IsToFind(key); });
  }
  return keys;
}

std::vector<std::size_t> Agreement::ToMakeReady() const {
  std::vector<std::size_t> keys;
  auto add = [&](std::size_t key) {
    if (plans_[key].status.ok() && !plans_[key].is_ready) keys.push_back(key);
  };
  for (std::size_t key = 0; stage_ == Stage::kCheck && key < plans_.size(); ++key) add(key);
  for (const Share& share : shares_) {
    if (stage_ == Stage::kDecision && share.is_settled) std::for_each(share.keys.begin(), share.keys.end(), add);
  }
  return keys;
}

std::vector<std::size_t> Agreement::OwnSearches() const {
  std::vector<std::size_t> keys;
  for (const Share& share : shares_) {
    if (share.is_settled || share.owner() != options_.rank) continue;
    std::copy_if(share.keys.begin(), share.keys.end(), std::back_inserter(keys),
                 [&](std::size_t key) { return IsSearch(key); });
  }
  return keys;
}

void Agreement::Found(std::size_t key, Result<std::string> record) {
  Resume();
  plans_[key].is_found = true;
  if (!record.ok()) {
    takes_more_ = false;
    Fail(key, record.status().WithPrefix(absl::StrCat("rank ", options_.rank)));
  }
  if (record.ok()) plans_[key].decision = *std::move(record);
  Advance();
}

Status Agreement::Read(Share* share, const std::string& bytes) {
  if (const std::optional<Claim> claim = DecodeClaim(bytes)) return ReadClaim(share, *claim);
  TUNEONCE_ASSIGN_OR_RETURN(const RankDecisions decisions, DecodeDecisions(bytes));
  for (std::size_t key : share->keys) {
    Plan& plan = plans_[key];
    if (!Takes(key)) continue;
    const Result<std::string>* decided = Find(decisions, vote_.keys[key].key);
    if (decided == nullptr) {
      Fail(key, InternalError(absl::StrCat("rank ", share->owner(), " did not vote on this key")));
    } else if (!decided->ok()) {
      Fail(key, decided->status());
    } else {
      plan.is_found = plan.is_found && plan.decision == **decided;
      plan.decision = **decided;
    }
  }
  share->is_settled = true;
  return Status();
}

Status Agreement::ReadClaim(Share* share, const Claim& claim) {
  const int before = share->owner();
  const bool is_lost = !claim.why_lost.empty();
  std::vector<int> ranks = share->ranks;
  if (is_lost) ranks.erase(ranks.begin());
  const auto claimer = std::find(ranks.begin(), ranks.end(), claim.rank);
  if (claimer == ranks.end() && !ranks.empty()) return InternalError("invalid rank in claim");
  if (claimer != ranks.end()) std::rotate(ranks.begin(), claimer, claimer + 1);
  ++share->num_read;
  share->is_asked = false;
  share->is_claimed = true;
  share->why_silent.clear();
  share->is_takeover |= is_lost;
  share->is_settled = ranks.empty() || (is_lost && before == options_.rank);
  if (is_lost && before == options_.rank) {
    GiveUp(DeadlineExceededError(absl::StrCat("the other ranks gave up rank ", options_.rank,
                                              " because they received nothing from it in time (RankPolicy::silence)")));
    return Status();
  }
  if (is_lost) lost_.emplace(before, claim.why_lost);
  for (std::size_t key : share->keys) {
    if (ranks.empty()) Fail(key, LostError(before, claim.why_lost));
  }
  if (!ranks.empty()) share->ranks = std::move(ranks);
  return Status();
}

void Agreement::Ready(std::size_t key, Result<Fingerprint> digest) {
  Resume();
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
      ShareRecords();
      ShareSearches();
      stage_ = Stage::kDecision;
    } else if (stage_ == Stage::kCheck || NobodyHasKeys()) {
      stage_ = Stage::kOver;
    } else {
      for (const auto& [rank, why] : lost_) {
        if (!options_.may_differ) FailAll(LostError(rank, why));
      }
      // A rank that serves nothing sends the reason and receives the others' messages, because some transports deliver
      // only while the receiver listens.
      stage_ = Stage::kCheck;
    }
  }
}

}  // namespace v0
}  // namespace tuneonce
