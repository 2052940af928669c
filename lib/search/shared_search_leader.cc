// SharedSearch's leader: what is done next, and what is made of the answers.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/span.h"
#include "compile/compile_pool.h"
#include "ranks/code_exchange.h"
#include "search/shared_search.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// How often unfinished candidates are shared out before the leader tries them alone.
constexpr int kMostLaps = 2;
/// A rank is waited for at least so long: what a rank of the same speed may be late by, its turn at the cores included.
constexpr std::chrono::milliseconds kLeastPatience(1000);
/// In the final race so many times as long as the leader's own took: what a GPU says that is slower counts most.
constexpr int kFinalsPatience = 4;
/// Longest time without a beat.
constexpr int kSliceMs = 20;

}  // namespace

Result<SearchOutcome> SharedSearch::Lead(const std::vector<int>& helpers) {
  Result<TuningResult> shared = LeadShared(helpers);
  (void)board_.Say(num_words_++, SearchWord());  // That it does not get through, they notice by its beats.
  if (shared.ok()) return SearchOutcome{*std::move(shared), nullptr, nullptr};
  const Status& why = shared.status();
  session_.reset();  // Memory and the worker are the next search's.
  if (why.sticky() || why.code() == StatusCode::kCancelled) return why;
  TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome alone, RunSearch(plan_, stream_, OptionsNow(), memory_));
  alone.result.notes.push_back("the search ran on one rank only: " + why.message());
  return alone;
}

std::vector<Fingerprint> SharedSearch::ShareBaseline() {
  if (!baseline_ || !plan_.planned[static_cast<std::size_t>(*baseline_)].needs_compiling()) return {};
  CompileOptions options = options_.search.compile;
  options.cache = &cache();
  options.interrupted = options_.search.interrupted;
  if (options_.search.cancelled != nullptr) options.cancelled = options_.search.cancelled;
  CompilePool pool(runtime().compile_slots(), runtime().toolchains(), plan_.target,
                   {CompileJobOf(plan_.planned[static_cast<std::size_t>(*baseline_)])}, options,
                   CompilePool::Order::kByCost, &runtime().trace());
  const CompiledJob compiled = *pool.Next();
  if (!compiled.artifact.ok() || !PublishCode(board_.context().group, cache(), compiled.artifact->key)) return {};
  return {compiled.artifact->key};
}

bool SharedSearch::IsGone(int rank) {
  RankBeat& beat = board_.context().beat;
  if (!beat.Look().ok() || beat.IsSilent(rank) || beat.HasChecked(rank)) gone_.insert(rank);
  return gone_.count(rank) > 0;
}

Status SharedSearch::Await(int word, std::set<int> ranks, Clock::time_point patience_end,
                           const std::function<void(int rank, SearchAnswer answer)>& take) {
  Span span(&runtime().trace(), "wait", "wait for other ranks' answers");
  while (!ranks.empty()) {
    bool is_first = true;
    for (auto rank = ranks.begin(); rank != ranks.end();) {
      TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> bytes,
                                board_.AnswerOf(word, *rank, is_first ? kSliceMs : 0));
      is_first = false;
      Result<SearchAnswer> answer = bytes ? DecodeAnswer(*bytes, plan_.planned.size())
                                          : Result<SearchAnswer>(UnavailableError("the rank has not answered yet"));
      if (answer.ok()) take(*rank, *std::move(answer));
      rank = answer.ok() || IsGone(*rank) ? ranks.erase(rank) : std::next(rank);
    }
    board_.context().beat.Step();
    if (IsInterrupted(board_.context().interrupted)) return CancelledError("interrupted while other ranks search");
    if (Clock::now() < patience_end) continue;
    gone_.insert(ranks.begin(), ranks.end());
    return Status();
  }
  return Status();
}

Status SharedSearch::TryByAll(const std::vector<std::uint64_t>& places) {
  const Clock::time_point began = Clock::now();
  const int word = num_words_++;
  TUNEONCE_RETURN_IF_ERROR(board_.Say(word, {SearchWord::kTry, places, /*num_ranks=*/1, baseline_code_}));
  std::set<int> holders;
  SearchAnswer mine = Try(word, places, &holders);
  TUNEONCE_RETURN_IF_ERROR(mine.status);
  ledger_.Take(board_.rank(), std::move(mine));
  for (int rank : gone_) holders.erase(rank);
  const Clock::time_point now = Clock::now();
  const Clock::duration patience = std::max<Clock::duration>(now - began, kLeastPatience);
  Status lost;
  TUNEONCE_RETURN_IF_ERROR(Await(word, holders, now + patience, [&](int rank, SearchAnswer answer) {
    // It can run nothing any more: the ranks will not agree.
    if (answer.status.sticky()) lost = answer.status.WithPrefix(absl::StrCat("rank ", rank));
    if (!answer.status.ok()) gone_.insert(rank);
    ledger_.Take(rank, std::move(answer));
  }));
  return lost;
}

Result<std::set<int>> SharedSearch::Racing() {
  std::set<int> racing;
  for (int rank : helpers_) {
    TUNEONCE_ASSIGN_OR_RETURN(const bool has_joined, board_.HasJoined(rank));
    if (has_joined && gone_.count(rank) == 0) racing.insert(rank);
  }
  return racing;
}

Status SharedSearch::RaceByAll(const std::vector<std::uint64_t>& finalists) {
  TUNEONCE_ASSIGN_OR_RETURN(std::set<int> racing, Racing());
  const int word = num_words_++;
  SearchWord race;
  race.kind = SearchWord::kFinals;
  race.places = finalists;
  race.num_ranks = static_cast<int>(racing.size()) + 1;
  for (std::uint64_t place : finalists) {
    const TriedCandidate* tried = ledger_.Find(place);
    if (tried != nullptr && tried->success.artifact != Fingerprint()) race.code.push_back(tried->success.artifact);
  }
  TUNEONCE_RETURN_IF_ERROR(board_.Say(word, race));
  for (const Fingerprint& code : race.code) (void)FetchCode(board_.context().group, cache(), code);
  const Clock::time_point began = Clock::now();
  SearchAnswer mine = Race(finalists, race.num_ranks);
  TUNEONCE_RETURN_IF_ERROR(mine.status);
  ledger_.TakeFinals(board_.rank(), std::move(mine));
  SearchWord enough;
  enough.kind = SearchWord::kEnough;
  TUNEONCE_RETURN_IF_ERROR(board_.Say(num_words_++, enough));
  TUNEONCE_ASSIGN_OR_RETURN(racing, Racing());  // Some may have come since.
  const Clock::time_point now = Clock::now();
  const Clock::duration patience = std::max<Clock::duration>(kFinalsPatience * (now - began), kLeastPatience);
  return Await(word, std::move(racing), now + patience,
               [&](int rank, SearchAnswer answer) { ledger_.TakeFinals(rank, std::move(answer)); });
}

Result<TuningResult> SharedSearch::LeadShared(const std::vector<int>& helpers) {
  helpers_ = helpers;
  TUNEONCE_RETURN_IF_ERROR(board_.context().beat.Look());
  TUNEONCE_RETURN_IF_ERROR(
      board_.Offer({/*is_last=*/false, options_.key, options_.at_bound, plan_.CandidatesFingerprint()}));
  baseline_code_ = ShareBaseline();
  for (int lap = 0; lap < kMostLaps && !ledger_.Open().empty(); ++lap) {
    std::vector<std::uint64_t> places = ledger_.Open();
    // Those that compile longest first: one that is begun late is waited for alone.
    std::stable_sort(places.begin(), places.end(), [&](std::uint64_t a, std::uint64_t b) {
      return CompileJobOf(plan_.planned[a]).cost > CompileJobOf(plan_.planned[b]).cost;
    });
    TUNEONCE_RETURN_IF_ERROR(TryByAll(places));
  }
  if (std::vector<std::uint64_t> left = ledger_.Open(); !left.empty()) {
    if (baseline_) left.insert(left.begin(), *baseline_);
    ledger_.Take(board_.rank(), Race(left, /*num_ranks=*/1));
  }
  const std::vector<std::uint64_t> finalists = ledger_.Finalists();
  if (finalists.empty()) return InternalError("all candidates failed on all ranks");
  TUNEONCE_RETURN_IF_ERROR(RaceByAll(finalists));
  FinalsOptions finals;
  finals.minimize = options_.minimize;
  if (baseline_ && finalists.front() == *baseline_) finals.first_tie = options_.search.baseline_margin;
  const std::optional<std::uint64_t> selection = ledger_.Selected(finalists, finals);
  if (!selection) return InternalError("none of the finalists runs on all ranks");
  return ResultOf(*selection);
}

Success SharedSearch::SuccessOf(std::uint64_t place, const TriedCandidate& tried) const {
  const PlannedConfig& planned = plan_.planned[static_cast<std::size_t>(place)];
  Success success = tried.success;
  success.config = planned.config;
  for (const Candidate& candidate : planned.alternatives) {
    if (candidate.variant_name() == success.variant) success.geometry = candidate.geometry;
  }
  return success;
}

void SharedSearch::AddOutcome(std::uint64_t place, TuningResult* result) const {
  const Config& config = plan_.planned[static_cast<std::size_t>(place)].config;
  const TriedCandidate* tried = ledger_.Find(place);
  if (tried == nullptr || tried->kind == TriedCandidate::kNotMeasured) {
    result->not_measured.push_back(config);
  } else if (tried->kind == TriedCandidate::kMeasured) {
    result->successes.push_back(SuccessOf(place, *tried));
  } else if (tried->kind == TriedCandidate::kFailed) {
    result->failures.push_back(tried->failure);
    result->failures.back().config = config;
  } else {
    result->duplicates.push_back({config, plan_.planned[static_cast<std::size_t>(tried->same_as)].config});
  }
}

TuningResult SharedSearch::ResultOf(std::uint64_t selection) const {
  TuningResult result;
  result.kernel = plan_.kernel;
  for (std::uint64_t place = 0; place < plan_.planned.size(); ++place) AddOutcome(place, &result);
  std::stable_sort(result.successes.begin(), result.successes.end(),
                   [](const Success& a, const Success& b) { return a.measurement.mean_us < b.measurement.mean_us; });
  result.best = SuccessOf(selection, *ledger_.Find(selection));
  const std::optional<double> best_us = ledger_.TimeOf(selection, options_.minimize);
  if (const TriedCandidate* baseline = baseline_ ? ledger_.Find(*baseline_) : nullptr;
      baseline != nullptr && baseline->kind == TriedCandidate::kMeasured) {
    result.baseline = SuccessOf(*baseline_, *baseline);
    const std::optional<double> baseline_us = ledger_.TimeOf(*baseline_, options_.minimize);
    if (baseline_us && best_us) result.speedup_over_baseline = std::max(1.0, *baseline_us / *best_us);
  }
  result.is_conclusive = ledger_.is_conclusive() && result.not_measured.empty();
  // How it was measured: as on this rank.
  result.timer = last_part_->timer;
  result.is_isolated = last_part_->is_isolated;
  result.device_before = last_part_->device_before;
  result.device_after = last_part_->device_after;
  result.verification = last_part_->verification;
  result.notes = last_part_->notes;
  if (!plan_.note.empty()) result.notes.push_back(plan_.note);
  result.notes.push_back(absl::StrCat("the search was shared by ", ledger_.num_ranks(), " ranks"));
  result.cost = ledger_.cost();
  result.cost.wall_seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  return result;
}

}  // namespace v0
}  // namespace tuneonce
