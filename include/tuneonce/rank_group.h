#ifndef TUNEONCE_RANK_GROUP_H_
#define TUNEONCE_RANK_GROUP_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// By what the ranks of a job exchange small messages: an engine that the host already runs. A host implements it over
/// its own, or takes one of the adapters: MakeThreadRanks, MPI (mpi_rank_group.h), Redis (redis_rank_group.h),
/// torch.distributed's store (Python: tuneonce.torch.StoreRanks).
///
/// A group is of one start of a job: whoever starts a rank again gives all of them another group (a new name, for those
/// that have one). A rank that finds that it has been here before is refused.
///
/// Names have at most 100 letters, digits and slashes; bytes are a few to some ten thousands, and of compiled code
/// (RankPolicy::share_search) up to 4 MiB. What was put stays as long as the group. Thread rule: the library calls a
/// group from one thread of a rank at a time. What a group throws becomes an error that says so.
class TUNEONCE_API RankGroup {
 public:
  RankGroup();
  virtual ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// 0 to size() - 1; the same always.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Leaves `bytes` under `name` for all ranks, in place of what is there. Returns soon, whoever listens.
  virtual Status Put(const std::string& name, const std::string& bytes) = 0;
  /// What is under `name`: as soon as there is something, after `wait_ms` at the latest. Empty: there was nothing.
  virtual Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) = 0;
  /// A write-once cell: leaves `bytes` under `name` if nothing is there, and returns what is there then, which is the
  /// same for every rank and for ever. Errors: DeadlineExceeded if that is not known after `wait_ms`.
  virtual Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) = 0;

  /// What every rank gave to its call of the same number, by rank. All ranks call it, in the same order. Errors:
  /// DeadlineExceeded, naming the ranks that gave nothing for `silence_ms`.
  Result<std::vector<std::string>> AllGather(const std::string& bytes, int silence_ms);

 private:
  friend class RankTurn;
  struct State;
  const std::unique_ptr<State> state_;
};

/// How the ranks of a group agree what they run (AutotunePolicy::ranks). docs/ranks.md has the protocol and its limits.
///
/// With a group, a key's choice serves only after all ranks agreed on it, in Warmup, WarmupAll or AtSafePoint, which
/// all ranks call, in the same order. Until then launches run the stand-in, and the key waits: a launch never searches,
/// waits or sends. Records of the store are what a rank brings along: the same in all ranks is agreed on as it is, else
/// the lowest rank's that has one, else the lowest rank that may search (of its kind) searches for all. A key that only
/// some ranks were asked for is an error of Warmup, and at a safe point waits for the others.
struct RankPolicy {
  /// Null (default): this process decides alone.
  std::shared_ptr<RankGroup> group;
  /// How long another rank may say nothing before it is given up, in milliseconds. Not how long a search may take: a
  /// rank that works says so after each candidate that it compiled or tried, so that this is longer than one takes.
  /// Default one minute.
  int silence_ms = 60000;
  /// A key that the ranks could not agree on fails the warm-up, in words (default). True: it runs its stand-in here,
  /// whatever the others run, and a warning and WarmedKey::State::kStandIn say so.
  bool may_differ = false;
  /// Ranks of other devices or drivers are an error that names them (default). True: ranks of one kind agree among
  /// each other.
  bool mixed_kinds = false;
  /// A search is shared out over the ranks that say so: each compiles and tries a part of the candidates with its own
  /// compilers and GPU, all race the finalists, and compiled code goes from rank to rank, so that each candidate is
  /// compiled once. Default false: one rank does all of it. Set it where the ranks' GPUs have nothing else to do in a
  /// warm-up, and nobody but the ranks can write into the group's engine: they run the code that is there.
  bool share_search = false;
  /// What a choice that all ranks raced for minimizes (`share_search`).
  enum class Minimize {
    kWorst,  ///< Its time on the rank where it takes longest: who meets in collectives waits for that one.
    kMean,   ///< Its mean time over the ranks.
  };
  Minimize minimize = Minimize::kWorst;
};

/// Ranks that are threads of this process, for tests and for one process with several GPUs: the group of each rank.
/// Thread-safe between them.
TUNEONCE_API std::vector<std::shared_ptr<RankGroup>> MakeThreadRanks(int size);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_RANK_GROUP_H_
