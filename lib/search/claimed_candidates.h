#ifndef TUNEONCE_LIB_SEARCH_CLAIMED_CANDIDATES_H_
#define TUNEONCE_LIB_SEARCH_CLAIMED_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/trace.h"
#include "ranks/search_board.h"
#include "search/candidate_source.h"

namespace tuneonce {
inline namespace v0 {

/// A rank's share of a list that all ranks walk in the same order: what nobody claimed before it is its own. It takes
/// as many as its compilers can have at a time, or one whose code is there, and no more before these are tried: so a
/// slow rank has few. The baseline comes first, and is claimed by nobody. Thread rule: one thread.
class ClaimedCandidates final : public CandidateSource {
 public:
  struct Options {
    int word = 0;                           ///< Of which the list is.
    std::optional<std::uint64_t> baseline;  ///< Its place.
    std::size_t compiles_at_a_time = 1;
    std::function<bool(std::uint64_t place)> is_there;  ///< Nothing has to be compiled.
    Trace* trace = nullptr;
  };
  ClaimedCandidates(SearchBoard& board, std::vector<std::uint64_t> places, Options options)
      : board_(board), places_(std::move(places)), options_(std::move(options)), first_(Claim()) {}

  /// False if others were faster with all of them.
  bool has_any() const { return !first_.empty(); }
  /// The other ranks that hold a candidate, as far as it has walked: after the last Next all of them.
  const std::set<int>& other_holders() const { return other_holders_; }
  /// Why it claims no more. What the engine does not say is left to the others.
  const Status& status() const { return status_; }

  std::vector<std::size_t> Next() override;

 private:
  std::vector<std::size_t> Claim();

  SearchBoard& board_;
  const std::vector<std::uint64_t> places_;
  const Options options_;
  std::size_t walked_ = 0;
  std::set<int> other_holders_;
  Status status_;
  std::vector<std::size_t> first_;
  bool has_begun_ = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_CLAIMED_CANDIDATES_H_
