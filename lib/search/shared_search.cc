#include "search/shared_search.h"

#include <algorithm>
#include <utility>

#include "base/callback.h"
#include "base/span.h"
#include "compile/compile_cached.h"
#include "compile/compile_pool.h"
#include "ranks/code_exchange.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Rounds of a share's race at most: enough to tell what is slower by a tenth (kFinalsMargin), before which it ends
/// where times are steady; what is near races again.
constexpr int kShareRounds = 5;

/// A list that all ranks race.
class AllOf final : public CandidateSource {
 public:
  explicit AllOf(const std::vector<std::uint64_t>& places) : places_(places.begin(), places.end()) {}
  std::vector<std::size_t> Next() override { return std::exchange(places_, {}); }

 private:
  std::vector<std::size_t> places_;
};

std::optional<std::uint64_t> PlaceOfBaseline(const SearchPlan& plan) {
  for (std::size_t place = 0; place < plan.planned.size(); ++place) {
    if (plan.baseline && plan.planned[place].config == *plan.baseline) return place;
  }
  return std::nullopt;
}

}  // namespace

SharedSearch::SharedSearch(SearchBoard& board, SearchPlan plan, StreamView stream, TrialMemory memory, Options options)
    : board_(board),
      plan_(std::move(plan)),
      stream_(stream),
      memory_(std::move(memory)),
      options_(std::move(options)),
      baseline_(PlaceOfBaseline(plan_)),
      ledger_(plan_.planned.size(), baseline_) {}

ArtifactCache& SharedSearch::cache() const {
  return options_.search.compile.cache != nullptr ? *options_.search.compile.cache : runtime().artifacts();
}

std::size_t SharedSearch::CompilesAtATime() const {
  const int wanted = options_.search.compile.num_workers;
  const int limit = runtime().compile_slots().limit();
  return static_cast<std::size_t>(std::max(1, wanted > 0 ? std::min(wanted, limit) : limit));
}

bool SharedSearch::IsThere(std::uint64_t place) const {
  const PlannedConfig& planned = plan_.planned[static_cast<std::size_t>(place)];
  if (!planned.needs_compiling()) return true;
  const Candidate& candidate = planned.alternatives.front();
  return IsCompiled(runtime().toolchains(), cache(), candidate.source, candidate.hints, plan_.target);
}

SearchOptions SharedSearch::OptionsNow() const {
  SearchOptions options = options_.search;
  const std::chrono::duration<double, std::milli> spent = Clock::now() - began_;
  if (options.wall_budget_ms > 0) options.wall_budget_ms = std::max(1.0, options.wall_budget_ms - spent.count());
  return options;
}

SearchAnswer SharedSearch::RunPart(CandidateSource& source, const SearchEngine::PartOptions& part) {
  if (session_ == nullptr) {
    options_of_parts_ = OptionsNow();
    options_of_parts_.interrupted = [this] { return IsInterrupted(options_.search.interrupted) || IsLate(); };
    Result<std::unique_ptr<SearchSession>> opened = SearchSession::Open(plan_, stream_, options_of_parts_, memory_);
    if (!opened.ok()) return AnswerOf(plan_, opened.status());
    session_ = *std::move(opened);
  }
  Result<TuningResult> result = session_->RunPart(source, part);
  SearchAnswer answer = AnswerOf(plan_, result);
  if (result.ok()) last_part_ = *std::move(result);
  return answer;
}

SearchAnswer SharedSearch::Try(int word, const std::vector<std::uint64_t>& places, std::set<int>* other_holders) {
  ClaimedCandidates source(
      board_, places,
      {word, baseline_, CompilesAtATime(), [this](std::uint64_t place) { return IsThere(place); }, &runtime().trace()});
  Span span(&runtime().trace(), "share", "share");
  SearchAnswer answer;
  if (source.has_any()) {
    SearchEngine::PartOptions part;
    part.max_rounds = kShareRounds;
    part.tie = kFinalsMargin;
    answer = RunPart(source, part);
    for (std::uint64_t place : SearchLedger::FinalistsOf(answer, baseline_)) {
      auto is_it = [&](const TriedCandidate& tried) { return tried.place == place; };
      const auto tried = std::find_if(answer.tried.begin(), answer.tried.end(), is_it);
      (void)PublishCode(board_.context().group, cache(), tried->success.artifact);
    }
  }
  if (answer.status.ok()) answer.status = source.status();
  if (other_holders != nullptr) *other_holders = source.other_holders();
  return answer;
}

SearchAnswer SharedSearch::Race(const std::vector<std::uint64_t>& places, int num_ranks) {
  Span span(&runtime().trace(), "finals", "finals");
  AllOf source(places);
  SearchEngine::PartOptions part;
  part.max_rounds = options_.search.max_rounds;
  part.checks_again = true;
  part.share_of_variance = ShareOfVariance(num_ranks, options_.minimize);
  part.enough = [this] {
    LookAhead();
    return is_enough_;
  };
  return RunPart(source, part);
}

void SharedSearch::LookAhead() {
  constexpr std::chrono::milliseconds kPause(20);
  if (!answers_ || is_late_ || Clock::now() < next_look_) return;
  next_look_ = Clock::now() + kPause;
  Result<std::optional<SearchWord>> next = board_.WordOf(*answers_ + 1, /*wait_ms=*/0);
  if (!next.ok() || !*next) return;
  is_enough_ = (*next)->kind == SearchWord::kEnough;
  if (is_enough_) next = board_.WordOf(*answers_ + 2, /*wait_ms=*/0);
  is_late_ = next.ok() && next->has_value();
}

bool SharedSearch::IsLate() {
  LookAhead();
  return is_late_;
}

std::optional<SearchWord> SharedSearch::NextWord(int* word) {
  constexpr int kSliceMs = 50;
  Span span(&runtime().trace(), "wait", "wait for the leader's word");
  for (;;) {
    std::optional<SearchWord> last;
    Result<std::optional<SearchWord>> said = board_.WordOf(*word, kSliceMs);
    for (int at = *word; said.ok() && *said; said = board_.WordOf(++at, /*wait_ms=*/0)) {
      // Of several words that this rank missed, the last one is the one to follow.
      const bool is_of_another = (*said)->kind == SearchWord::kEnough;
      if (is_of_another && last) continue;
      *word = is_of_another ? at + 1 : at;
      if (!is_of_another) last = *std::move(said);
    }
    if (last) return last;
    RankBeat& beat = board_.context().beat;
    beat.Step();
    const bool is_over = !said.ok() || beat.IsSilent(board_.leader()) || beat.HasDecided(board_.leader()) ||
                         IsInterrupted(board_.context().interrupted);
    if (is_over) return std::nullopt;
  }
}

SearchAnswer SharedSearch::AnswerTo(int word, const SearchWord& what) {
  const bool is_known = std::all_of(what.places.begin(), what.places.end(),
                                    [&](std::uint64_t place) { return place < plan_.planned.size(); });
  SearchAnswer answer;
  if (!is_known)
    answer.status = InternalError(
        "the leader asked for candidates that this rank does not have: use the same kernel definition on all ranks");
  if (!is_known) return answer;
  for (const Fingerprint& code : what.code) (void)FetchCode(board_.context().group, cache(), code);
  answers_ = word;
  is_late_ = is_enough_ = false;
  return what.kind == SearchWord::kTry ? Try(word, what.places, nullptr) : Race(what.places, what.num_ranks);
}

Status SharedSearch::Help(const SearchOffer& offer) {
  if (offer.candidates != plan_.CandidatesFingerprint()) {
    return FailedPreconditionError(
        "this rank's candidates differ from those of the leader: use the same kernel definition on all ranks");
  }
  TUNEONCE_RETURN_IF_ERROR(board_.Join());
  for (int word = 0;; ++word) {
    const std::optional<SearchWord> said = NextWord(&word);
    if (!said || said->kind == SearchWord::kOver) return Status();
    const SearchAnswer answer = AnswerTo(word, *said);
    if (is_late_) continue;
    TUNEONCE_RETURN_IF_ERROR(board_.Answer(word, EncodeAnswer(answer)));
    TUNEONCE_RETURN_IF_ERROR(answer.status);
  }
}

}  // namespace v0
}  // namespace tuneonce
