#ifndef TUNEONCE_LIB_RANKS_AGREEMENT_H_
#define TUNEONCE_LIB_RANKS_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ranks/rank_messages.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Decides what each key of a list runs, in agreement with the other ranks: which messages this rank sends, which ranks
/// it waits for, what work it does meanwhile, and the results. A value without clock, thread and transport, so that a
/// test can try all interleavings (tests/ranks/explorer_test.cc). Agree (agree.h) runs it.
///
/// 1. *Vote*: every rank sends its properties and, for each key, what it contributes. All ranks derive from the same
///    votes where each key's config comes from: the config of all ranks, if it is the same; else the one that is
///    already served; else the record of the lowest rank that has one; else a search. If no rank may search, all run
///    their fallback configs. A key that is missing in a vote is not agreed on.
/// 2. *Decision*: keys whose configs one rank finds for all are a share. Searches are dealt to the ranks that may
///    search with the same variants, the most expensive first, each to the rank with the least cost so far among those
///    of its kernel: as many ranks as the kernel's part of all cost. Each rank owns the shares that it was dealt. A
///    share has a chain of cells. The first rank to write a cell decides what is in it, so that all ranks read the same
///    chain: claims, each of which makes a rank the owner, and then the owner's decisions. A rank claims a share before
///    it searches: its own shares first, then shares that nobody has started and that it does not leave to others, from
///    the end of the list. The first search that a rank was dealt counts as claimed. A claim that gives a reason states
///    that the owner before it is lost, because it fell silent. A lost owner that finds such a claim serves nothing.
///    Where it takes time to learn what a cell holds, a rank goes on meanwhile, and claims its next share while it
///    searches.
/// 3. *Check*: each rank makes the configs ready to run, and sends for each key a digest of what it would run, or why
///    it cannot. A rank that waits for searches of others makes ready what is decided already. A key is served if all
///    digests are received and equal.
///
/// So two ranks that serve a key have each received the other's digest, which equals their own. A rank that gives up
/// states that in its check, and serves no key without all checks. Only with RankPolicy::may_differ do the others serve
/// keys without a lost rank.
class Agreement {
 public:
  struct Options {
    int rank = 0, size = 1;
    std::uint64_t turn = 0;
    std::uint64_t nonce = 0;  ///< Identifies this start of the rank.
    bool mixed_kinds = false;
    bool may_differ = false;  ///< RankPolicy::may_differ.
    /// How many of its shares a rank leaves unclaimed while it searches, so that other ranks may take them.
    std::size_t left_to_others = 1;
  };
  /// The keys of `vote` are in any order, none twice.
  Agreement(const Options& options, Vote vote);

  const Options& options() const { return options_; }

  enum class Want {
    kPost,       ///< That `bytes()` be put once into `cell()`: then Posted.
    kHear,       ///< The cells of `awaited()`, each by CellOf: then Heard or Silent.
    kFind,       ///< The records of `wanted()`: then Found.
    kMakeReady,  ///< The selections of `wanted()`: then Ready. Also while other ranks still search.
    kNothing,    ///< It is over.
  };
  Want want() const;
  /// The cell that is to be written, and what is to be written into it.
  std::string cell() const;
  std::string bytes() const;
  /// kPost: the key whose search this rank would take from another rank by it.
  std::optional<std::size_t> ToTake() const;
  /// Takes no more searches from other ranks unless nobody else is left, because this rank cannot search. The same
  /// holds once a search of this rank failed. Otherwise a rank whose searches end at once with an error would take, and
  /// fail, those of all others.
  void TakeNoMore();
  /// Leaves the key's search to other ranks unless its owner is lost.
  void Leave(std::size_t key);
  /// Notes which of the searches that were dealt to this rank, and that it has not started, would wait for code. It
  /// starts the others first, the most expensive one next.
  void NoteWaits(const std::function<bool(std::size_t key)>& waits);
  /// What the cell holds: these bytes, or those of a rank that was first.
  void Posted(const std::string& held);
  /// kPost: whether there is other work until it is known what the cell holds.
  bool MayPostpone() const;
  /// The bytes were sent, and it is not known yet what the cell holds. The same cell is wanted again after other work.
  /// REQUIRES: MayPostpone().
  void Postponed();

  /// The number of stages in which this rank has nothing more to send unless another rank is lost.
  int num_said() const { return static_cast<int>(stage_) + (want() == Want::kHear ? 1 : 0); }
  /// The num_said of a rank that has sent everything.
  static constexpr int kNumMessages = 3;
  /// The num_said of a rank that has sent what this one waits for.
  int num_awaited() const { return static_cast<int>(stage_) + 1; }
  std::vector<int> awaited() const;
  /// Where the next message of a rank in awaited() is.
  std::string CellOf(int rank) const;
  /// Whether that rank may not know yet that it owns the keys, because another one was lost.
  bool IsTakeoverOf(int rank) const;
  /// In any order, also twice; of ranks that are not awaited it is not taken. Errors: Internal for what is damaged,
  /// which was not taken either.
  Status Heard(int rank, const std::string& bytes);
  void Silent(int rank, const std::string& why);
  /// Nothing can be sent or heard any more.
  void Broken(const Status& why);
  /// This rank wants an end: it serves nothing, and tells the others.
  void GiveUp(const Status& why);
  /// GiveUp because this rank's stop token was set.
  void Interrupt();

  /// Keys, by their place in the list.
  std::vector<std::size_t> wanted() const;
  /// The keys that this rank searches for unless other ranks take them, the most expensive first.
  std::vector<std::size_t> OwnSearches() const;
  /// kFind: whether the key has a record here, which is to be given; else it is searched for.
  bool HasRecord(std::size_t key) const { return vote_.keys[key].has_record(); }
  void Found(std::size_t key, Result<std::string> record);
  /// kMakeReady: what was decided: a record's bytes; empty: this rank's own.
  const std::string& DecisionOf(std::size_t key) const { return plans_[key].decision; }
  /// kMakeReady: it is what this rank found.
  bool IsMine(std::size_t key) const { return plans_[key].is_found; }
  /// kMakeReady: nobody has a selection, or may make one.
  bool RunsFallback(std::size_t key) const { return plans_[key].voter < 0; }
  void Ready(std::size_t key, Result<Fingerprint> digest);

  /// Returns the result for a key: OK if it is to be served, or an error that names the responsible ranks. A key that
  /// is not in the lists of all ranks has an error for that reason.
  const Status& outcome(std::size_t key) const { return plans_[key].status; }
  bool IsInAllLists(std::size_t key) const { return plans_[key].is_in_all_lists; }
  /// The ranks that another one gave up, as this one read in a claim, and why.
  const std::map<int, std::string>& lost() const { return lost_; }
  /// The keys that other ranks of this one's kind have in their lists, as far as they were heard, and this one has not.
  std::vector<Fingerprint> KeysOfOthersAlone() const;
  std::size_t num_keys() const { return plans_.size(); }

 private:
  enum class Stage { kVote, kDecision, kCheck, kOver };
  struct Plan {
    Status status;  // Not OK: it is not agreed on.
    bool is_in_all_lists = true;
    int voter = -1;                     // The rank whose vote is followed; -1: the fallbacks run.
    std::vector<int> takers;            // The ranks that need a decision.
    std::string decision;               // A record's bytes; empty: this rank's own.
    bool is_found = false;              // Whether this rank found that config, or failed to.
    std::optional<Fingerprint> digest;  // The digest of what this rank would run.
    bool is_ready = false;              // Or it failed.
  };

  /// Keys whose configs one rank finds for all.
  struct Share {
    std::string name;               // In the names of its cells.
    std::vector<std::size_t> keys;  // One search serves them, or they are records of one rank.
    std::vector<int> ranks;         // The ranks that can be the owner; the first one is.
    bool is_claimed = false;        // By its owner.
    bool is_left = false;           // This rank does not take it.
    bool waits = false;             // NoteWaits.
    int num_read = 0;               // The cells of its chain that this rank has read.
    bool is_takeover = false;       // An owner was lost.
    bool is_settled = false;        // The decisions were read, or nobody is left.
    std::string why_silent = {};    // Not empty: the owner is lost, unless something else is in the next cell.
    bool is_asked = false;          // The next cell may hold what this rank sent.
    bool is_postponed = false;      // And was not known since the last work.
    int owner() const { return ranks.front(); }
  };

  void Fail(std::size_t key, Status why);
  void FailMissing(std::size_t key, int rank);
  void FailAll(const Status& why);
  /// From all votes, where each key's selection comes from: the same in every rank.
  void PlanAll();
  void PlanKey(std::size_t key);
  /// Makes shares of the records that other ranks need, and of the searches. The same in every rank.
  void ShareRecords();
  void ShareSearches();
  /// The ranks that may search for these keys with the variants that the lowest of them has.
  std::vector<int> SearchersOf(const std::vector<std::size_t>& keys) const;
  /// The shares whose chains this rank has to write into, the most urgent first.
  std::vector<const Share*> AllToPost() const;
  /// The first of them that is not postponed, or else the first, or null.
  const Share* ToPost() const;
  /// The share that this rank claims next, or null.
  const Share* ToClaim() const;
  /// Tries again to learn what the postponed cells hold.
  void Resume();
  /// The share of that rank that this one waits for next, or null.
  const Share* AwaitedOf(int rank) const;
  /// The share's next cell.
  std::string CellOf(const Share& share) const;
  /// What this rank writes into it.
  std::string BytesOf(const Share& share) const;
  Share& Mutable(const Share* share) { return shares_[static_cast<std::size_t>(share - shares_.data())]; }
  /// Whether this rank has claimed the share and not yet sent its decisions.
  bool FindsNow(const Share& share) const;
  bool IsToFind(std::size_t key) const;
  /// Whether any key of the share is.
  bool HasToFind(const Share& share) const;
  /// The keys that this rank searches for, or looks up, now.
  std::vector<std::size_t> ToFind() const;
  /// The keys that are decided and not ready to run: of settled shares, or, in the check, all.
  std::vector<std::size_t> ToMakeReady() const;
  bool IsSearch(std::size_t key) const;
  bool Takes(std::size_t key) const;
  Status LostError(int rank, const std::string& why) const;
  /// What that rank brings along of a key, or null.
  const KeyVote* VoteOf(int rank, std::size_t key) const;
  Status HeardVote(int rank, const std::string& bytes);
  /// Takes what is in a share's next cell.
  Status Read(Share* share, const std::string& bytes);
  Status ReadClaim(Share* share, const Claim& claim);
  Status HeardChecks(int rank, const std::string& bytes);
  /// Goes to the next stage for as long as there is nothing to do in the present one.
  void Advance();
  bool ServesNothing() const;
  bool NobodyHasKeys() const;
  bool IsOfMyKind(int rank) const;

  Options options_;
  Vote vote_;
  Stage stage_ = Stage::kVote;
  bool is_posted_ = false;                  // The present stage's message; not of the decision stage.
  bool has_given_up_ = false;               // It waits for nobody.
  bool takes_more_ = true;                  // TakeNoMore.
  bool is_answered_late_ = false;           // Something was postponed.
  std::vector<std::optional<Vote>> votes_;  // By rank.
  std::vector<bool> is_heard_;              // By rank, in the present stage.
  std::vector<int> my_kind_;                // The ranks of this rank's kind, itself among them.
  std::vector<Plan> plans_;
  std::vector<Share> shares_;  // The records, then the searches, the most expensive first.
  std::map<int, std::string> lost_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_AGREEMENT_H_
