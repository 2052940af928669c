#ifndef TUNEONCE_LIB_SEARCH_SHARED_SEARCH_H_
#define TUNEONCE_LIB_SEARCH_SHARED_SEARCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "ranks/search_board.h"
#include "search/claimed_candidates.h"
#include "search/search_answer.h"
#include "search/search_ledger.h"
#include "search/search_plan.h"
#include "search/search_session.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// One rank's part in a search that is divided among the ranks of its group. The leader directs the search and selects
/// the config; the other ranks help it.
///
/// 1. All ranks claim candidates (ClaimedCandidates). Each rank compiles its candidates, tries them together with the
///    baseline, and sends the results. If a rank stops sending, or the leader has waited for it as long as the leader's
///    own share took, the leader offers that rank's candidates again, and any rank may claim them.
/// 2. All ranks race the same finalists, with the code that was compiled in step 1, and verify them again. The
///    leader selects the config by the times of all ranks (ChooseForAll).
///
/// Both steps of a rank belong to one session: the finals use what the rank loaded and verified for its share.
///
/// If the communication between the ranks fails, the leader falls back to a search of its own, as if it were the only
/// rank. A rank that no longer receives messages from the leader ends its part. Thread rule: one thread.
class SharedSearch {
 public:
  struct Options {
    SearchOptions search;
    RankPolicy::Minimize minimize = RankPolicy::Minimize::kWorst;
    bool at_bound = false;  ///< SearchOffer::at_bound.
    Fingerprint key;        ///< SearchOffer::key.
  };
  /// REQUIRES: `board` and what the plan points to outlive it.
  SharedSearch(SearchBoard& board, SearchPlan plan, StreamView stream, TrialMemory memory, Options options);

  /// All of the search, with the `helpers` that join it. Errors: as RunSearch.
  Result<SearchOutcome> Lead(const std::vector<int>& helpers);
  /// A part of a search that was offered, until it is over or the leader is silent. Errors: why this rank took no
  /// (further) part, which is nobody else's concern.
  Status Help(const SearchOffer& offer);

 private:
  using Clock = std::chrono::steady_clock;

  Result<TuningResult> LeadShared(const std::vector<int>& helpers);
  /// Compiles the baseline, which all need before anything else, and gives it to the others.
  std::vector<Fingerprint> ShareBaseline();
  /// Has `places` tried by all ranks.
  Status TryByAll(const std::vector<std::uint64_t>& places);
  /// Has the finalists race on all ranks that joined.
  Status RaceByAll(const std::vector<std::uint64_t>& finalists);
  /// The other ranks that joined, and are there.
  Result<std::set<int>> Racing();
  /// The answers of `ranks` to a word, until `patience_end`; those that are silent, or have gone on, are waited for no
  /// more. Errors: Cancelled, the engine's.
  Status Await(int word, std::set<int> ranks, Clock::time_point patience_end,
               const std::function<void(int rank, SearchAnswer answer)>& take);
  bool IsGone(int rank);
  TuningResult ResultOf(std::uint64_t selection) const;
  Success SuccessOf(std::uint64_t place, const TriedCandidate& tried) const;
  void AddOutcome(std::uint64_t place, TuningResult* result) const;

  /// The last word from `*word` on, which then is its number. Empty: there is no more.
  std::optional<SearchWord> NextWord(int* word);
  SearchAnswer AnswerTo(int word, const SearchWord& what);
  /// Looks, now and then, at what the leader says while this rank works on a word.
  void LookAhead();
  /// The leader has gone on without this rank: asked while it works on a word.
  bool IsLate();

  SearchAnswer Try(int word, const std::vector<std::uint64_t>& places, std::set<int>* other_holders);
  /// `num_ranks`: that race them at the same time, and whose times decide together.
  SearchAnswer Race(const std::vector<std::uint64_t>& places, int num_ranks);
  SearchAnswer RunPart(CandidateSource& source, const SearchEngine::PartOptions& part);
  /// Returns the policy's options with the remaining time.
  SearchOptions OptionsNow() const;
  bool IsThere(std::uint64_t place) const;
  std::size_t CompilesAtATime() const;
  ArtifactCache& cache() const;
  const Runtime& runtime() const { return *Runtime::OrDefault(options_.search.runtime); }

  SearchBoard& board_;
  const SearchPlan plan_;
  const StreamView stream_;
  const TrialMemory memory_;
  const Options options_;
  SearchOptions options_of_parts_;               // The session's.
  std::unique_ptr<SearchSession> session_;       // From the first part on.
  const std::optional<std::uint64_t> baseline_;  // Its place.
  const Clock::time_point began_ = Clock::now();
  // The leader's.
  int num_words_ = 0;
  SearchLedger ledger_;
  std::vector<Fingerprint> baseline_code_;
  std::vector<int> helpers_;
  std::set<int> gone_;                     // Silent, gone on, or given up.
  std::optional<TuningResult> last_part_;  // Its own: after the finals, how they were measured.
  // Another rank's.
  std::optional<int> answers_;  // The word that it works on.
  bool is_late_ = false, is_enough_ = false;
  Clock::time_point next_look_ = Clock::now();
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SHARED_SEARCH_H_
