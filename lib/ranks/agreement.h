#ifndef TUNEONCE_LIB_RANKS_AGREEMENT_H_
#define TUNEONCE_LIB_RANKS_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ranks/rank_messages.h"
#include "tuneonce/api.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Decides what each key of a list runs, in agreement with the other ranks: which messages this rank sends, which ranks
/// it waits for, what work it does meanwhile, and the results. A value without clock, thread and transport, so that a
/// test can try all interleavings (tests/ranks/explorer_test.cc). Agree (agree.h) runs it.
///
/// 1. *Vote*: every rank sends its properties and, for each key, what it contributes. All ranks derive from the same
///    votes where each key's config comes from: the config of all ranks, if it is the same; else the one that is
///    already served; else the record of the lowest rank that has one; else a search. Searches are distributed over
///    the ranks that may search with the same variants, balanced by their estimated costs. If no rank may search, all
///    run their fallback configs. A key that is missing in a vote is not agreed on.
/// 2. *Decision*: a rank that provides configs for others finds them, and writes them into a cell that is written once.
///    If it falls silent, any other rank writes a mark into that cell instead. Where the mark was first, the rank is
///    lost, and other ranks take over its searches, each with a cell of its own, which may be lost in the same way.
/// 3. *Check*: each rank makes the configs ready to run, and sends for each key a digest of what it would run, or why
///    it cannot. A key is served if all digests are received and equal.
///
/// So two ranks that serve a key have each received the other's digest, which equals their own. A rank that gives up
/// states that in its check, and serves no key without all checks. Only with RankPolicy::may_differ do the others serve
/// keys without a lost rank, which itself finds the mark in its cell and serves nothing.
class TUNEONCE_API Agreement {
 public:
  struct Options {
    int rank = 0, size = 1;
    std::uint64_t turn = 0;
    std::uint64_t nonce = 0;  ///< Identifies this start of the rank.
    bool mixed_kinds = false;
    bool may_differ = false;  ///< RankPolicy::may_differ.
  };
  /// The keys of `vote` are in any order, none twice.
  Agreement(const Options& options, Vote vote);

  const Options& options() const { return options_; }

  enum class Want {
    kPost,       ///< That `bytes()` be put once into `cell()`: then Posted.
    kHear,       ///< The cells of `awaited()`, each by CellOf: then Heard or Silent.
    kFind,       ///< The records of `wanted()`: then Found.
    kMakeReady,  ///< The selections of `wanted()`: then Ready.
    kNothing,    ///< It is over.
  };
  Want want() const;
  /// The cell that is to be written, and what is to be written into it.
  std::string cell() const;
  std::string bytes() const;
  /// What the cell holds: these bytes, or those of a rank that was first.
  void Posted(const std::string& held);

  /// The number of stages in which this rank has nothing more to send unless another rank is lost.
  int num_said() const { return static_cast<int>(stage_) + (want() == Want::kHear ? 1 : 0); }
  /// The num_said of a rank that has sent everything.
  static constexpr int kNumMessages = 3;
  /// The num_said of a rank that has sent what this one waits for.
  int num_awaited() const { return static_cast<int>(stage_) + 1; }
  std::vector<int> awaited() const;
  /// Where the next message of a rank in awaited() is.
  std::string CellOf(int rank) const;
  /// Whether that message replaces the message of a lost rank.
  bool IsTakeoverOf(int rank) const;
  /// In any order, also twice; of ranks that are not awaited it is not taken. Errors: Internal for what is damaged,
  /// which was not taken either.
  Status Heard(int rank, const std::string& bytes);
  void Silent(int rank, const std::string& why);
  /// Nothing can be sent or heard any more.
  void Broken(const Status& why);
  /// This rank wants an end: it serves nothing, and tells the others.
  void GiveUp(const Status& why);

  /// Keys, by their place in the list.
  std::vector<std::size_t> wanted() const;
  /// kFind: whether the key has a record here, which is to be given; else it is searched for.
  bool HasRecord(std::size_t key) const { return vote_.keys[key].has_record(); }
  void Found(std::size_t key, Result<std::string> record);
  /// kMakeReady: what was decided: a record's bytes; empty: this rank's own.
  const std::string& DecisionOf(std::size_t key) const { return plans_[key].decision; }
  /// kMakeReady: it is this rank's that the others take.
  bool IsMine(std::size_t key) const { return plans_[key].owner == options_.rank; }
  /// kMakeReady: nobody has a selection, or may make one.
  bool RunsFallback(std::size_t key) const { return plans_[key].owner < 0; }
  void Ready(std::size_t key, Result<Fingerprint> digest);

  /// Returns the result for a key: OK if it is to be served, or an error that names the responsible ranks. A key that
  /// is not in the lists of all ranks has an error for that reason.
  const Status& outcome(std::size_t key) const { return plans_[key].status; }
  bool IsInAllLists(std::size_t key) const { return plans_[key].is_in_all_lists; }
  /// The keys that other ranks of this one's kind have in their lists, as far as they were heard, and this one has not.
  std::vector<Fingerprint> KeysOfOthersAlone() const;
  std::size_t num_keys() const { return plans_.size(); }

 private:
  enum class Stage { kVote, kDecision, kCheck, kOver };
  struct Plan {
    Status status;  // Not OK: it is not agreed on.
    bool is_in_all_lists = true;
    int owner = -1;                     // Whose selection it is; -1: the fallbacks run.
    std::vector<int> takers;            // Who needs it from the owner.
    std::vector<int> successors;        // Who searches in its place, in this order, if it is lost.
    std::string decision;               // A record's bytes; empty: this rank's own.
    bool is_found = false;              // For the owner: whether it found a config.
    std::optional<Fingerprint> digest;  // The digest of what this rank would run.
    bool is_ready = false;              // Or it failed.
  };

  /// A message of the decision stage: some keys, from the last of these ranks, because those before it were lost.
  struct Decision {
    std::vector<int> ranks;
    std::vector<std::size_t> keys;
    bool is_settled = false;      // Sent, received, or lost.
    std::string why_silent = {};  // Not empty: the mark of a lost rank is to be written into its cell.
    int rank() const { return ranks.back(); }
  };

  void Fail(std::size_t key, Status why);
  void FailMissing(std::size_t key, int rank);
  void FailAll(const Status& why);
  /// From all votes, where each key's selection comes from: the same in every rank.
  void PlanAll();
  void PlanKey(std::size_t key);
  /// Assigns each search to the rank with the least work so far, the most expensive search first (the rule of the
  /// longest processing time, Graham 1969, doi:10.1137/0117039). The same in every rank.
  void DistributeSearches();
  /// The ranks that may search for these keys with the variants that the lowest of them has.
  std::vector<int> SearchersOf(const std::vector<std::size_t>& keys) const;
  void PlanDecisions();
  /// The message that this rank has to write next in the decision stage, or null.
  const Decision* ToPost() const;
  /// The next message of that rank that this one waits for, or null.
  const Decision* AwaitedOf(int rank) const;
  std::string CellOf(const Decision& decision) const;
  Decision& Mutable(const Decision* decision);
  bool Takes(std::size_t key) const;
  /// A lost rank's keys go to their successors.
  void TakeOver(Decision* lost);
  Status LostError(int rank, const std::string& why) const;
  /// What that rank brings along of a key, or null.
  const KeyVote* VoteOf(int rank, std::size_t key) const;
  Status HeardVote(int rank, const std::string& bytes);
  Status HeardDecisions(Decision* decision, const std::string& bytes);
  Status HeardChecks(int rank, const std::string& bytes);
  /// Goes to the next stage for as long as there is nothing to do in the present one.
  void Advance();
  bool ServesNothing() const;
  bool NobodyHasKeys() const;
  bool IsOfMyKind(int rank) const;
  bool MustFind(std::size_t key) const;

  Options options_;
  Vote vote_;
  Stage stage_ = Stage::kVote;
  bool is_posted_ = false;                  // The present stage's message; not of the decision stage.
  bool has_given_up_ = false;               // It waits for nobody.
  std::vector<std::optional<Vote>> votes_;  // By rank.
  std::vector<bool> is_heard_;              // By rank, in the present stage.
  std::vector<int> my_kind_;                // The ranks of this rank's kind, itself among them.
  std::vector<Plan> plans_;
  std::deque<Decision> decisions_;   // A deque keeps addresses valid.
  std::map<int, std::string> lost_;  // Lost ranks, and why.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_AGREEMENT_H_
