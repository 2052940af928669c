#ifndef TUNEONCE_LIB_RANKS_AGREEMENT_H_
#define TUNEONCE_LIB_RANKS_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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
/// 1. *Vote*: every rank sends its properties and, for each key, what it contributes. All ranks derive the source of
/// each
///    key's config from the same votes: the config of all, if it is the same; else the one that is already served; else
///    the record of the lowest rank that has one; else a search of the lowest rank that may search; else all run their
///    fallback configs. A key that is missing in a vote is not agreed on.
/// 2. *Decision*: a rank that provides a config for others finds it, and writes it into a write-once cell.
/// 3. *Check*: each rank makes the configs ready to run, and sends for each key a digest of what it would run, or why
/// it
///    cannot. A key is served if all digests are received and equal.
///
/// So two ranks that serve a key have each received the other's digest, which equals their own. A rank that gives up
/// states that in its check, and serves no key without all checks.
class TUNEONCE_API Agreement {
 public:
  struct Options {
    int rank = 0, size = 1;
    std::uint64_t turn = 0;
    std::uint64_t nonce = 0;  ///< Identifies this start of the rank.
    bool mixed_kinds = false;
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
  std::string cell() const { return CellOf(options_.rank); }
  std::string bytes() const;
  /// What the cell holds: this rank's bytes, or what another start of this rank wrote.
  void Posted(const std::string& held);

  /// How many of its messages this rank has sent, or passed over: what it may still say comes after these.
  int num_said() const { return static_cast<int>(stage_) + (is_posted_ || want() == Want::kHear ? 1 : 0); }
  /// What a rank has sent, or passed over, that has sent its decisions; and all.
  static constexpr int kDecided = 2, kNumMessages = 3;
  /// How many a rank has sent that has said what is waited for.
  int num_awaited() const { return static_cast<int>(stage_) + 1; }
  std::vector<int> awaited() const;
  /// Where that rank's message of the present stage is.
  std::string CellOf(int rank) const;
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
  /// kFind: the other ranks that take what this one finds for the key, and take part in searches that are shared out.
  std::vector<int> HelpersOf(std::size_t key) const;
  /// kHear: that rank searches for this one, and shares its searches out.
  bool AwaitsSharedSearchOf(int rank) const;
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
    std::string decision;               // A record's bytes; empty: this rank's own.
    bool is_found = false;              // For the owner: whether it found a config.
    std::optional<Fingerprint> digest;  // The digest of what this rank would run.
    bool is_ready = false;              // Or it failed.
  };

  void Fail(std::size_t key, Status why);
  void FailMissing(std::size_t key, int rank);
  void FailAll(const Status& why);
  /// From all votes, where each key's selection comes from: the same in every rank.
  void PlanAll();
  void PlanKey(std::size_t key);
  /// What that rank brings along of a key, or null.
  const KeyVote* VoteOf(int rank, std::size_t key) const;
  Status HeardVote(int rank, const std::string& bytes);
  Status HeardDecisions(int rank, const std::string& bytes);
  Status HeardChecks(int rank, const std::string& bytes);
  /// Goes to the next stage for as long as there is nothing to do in the present one.
  void Advance();
  bool ServesNothing() const;
  bool NobodyHasKeys() const;
  bool IsOfMyKind(int rank) const;
  bool MustFind(std::size_t key) const;
  bool GivesDecisions() const;
  bool NeedsDecisionsOf(int rank) const;

  Options options_;
  Vote vote_;
  Stage stage_ = Stage::kVote;
  bool is_posted_ = false;                  // The present stage's message.
  bool has_given_up_ = false;               // It waits for nobody.
  std::vector<std::optional<Vote>> votes_;  // By rank.
  std::vector<bool> is_heard_;              // By rank, in the present stage.
  std::vector<int> my_kind_;                // The ranks of this rank's kind, itself among them.
  std::vector<Plan> plans_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RANKS_AGREEMENT_H_
