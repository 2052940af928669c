#ifndef TUNEONCE_LIB_RANKS_SEARCH_BOARD_H_
#define TUNEONCE_LIB_RANKS_SEARCH_BOARD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "ranks/rank_beat.h"
#include "ranks/search_word.h"
#include "tuneonce/rank_group.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Where the ranks of a group meet over the searches that one of them, the leader, shares out in one agreement: cells
/// that are written once, so that nothing can be said in two ways, and what comes late or twice changes nothing.
///
/// For each search the leader offers it, and says words, one after the other; to each word each rank gives one answer.
/// Candidates of a word are claimed one by one: a claim is a cell with the number of the rank that was first. Who says
/// what when, SharedSearch knows. Thread rule: one thread.
class TUNEONCE_API SearchBoard {
 public:
  struct Context {
    RankGroup& group;
    int silence_ms;
    std::uint64_t turn;
    RankBeat& beat;                     ///< Steps while this waits.
    std::function<bool()> interrupted;  ///< True ends a wait with Cancelled. May be null.
  };
  SearchBoard(Context context, int leader) : context_(std::move(context)), leader_(leader) {}

  const Context& context() const { return context_; }
  int rank() const { return context_.group.rank(); }
  int leader() const { return leader_; }

  /// Called by the leader: offers the next search, or states that none follows. Errors: the transport's.
  Status Offer(const SearchOffer& offer);
  /// Called by another rank: returns the next offer if it arrives within `wait_ms`. Later words belong to that search.
  Result<std::optional<SearchOffer>> NextOffer(int wait_ms);

  /// Called by another rank: joins the search that was offered last.
  Status Join();
  Result<bool> HasJoined(int rank);
  Status Say(int word, const SearchWord& what);
  Result<std::optional<SearchWord>> WordOf(int word, int wait_ms);
  /// The rank whose `place` is. Errors: DeadlineExceeded where the engine does not say within `silence_ms`; Cancelled.
  Result<int> Claim(int word, std::uint64_t place);
  Status Answer(int word, const std::string& bytes);
  Result<std::optional<std::string>> AnswerOf(int word, int rank, int wait_ms);

 private:
  std::string Cell(const char* what, int word) const;
  /// Errors: FailedPrecondition if something else is there.
  Status Write(const std::string& cell, const std::string& bytes);
  /// PutOnce in slices, between which this rank says that it works.
  Result<std::string> WriteOnce(const std::string& cell, const std::string& bytes);

  const Context context_;
  const int leader_;
  int num_offers_ = 0;  // That were made, or heard.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_SEARCH_BOARD_H_
