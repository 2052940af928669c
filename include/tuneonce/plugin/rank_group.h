#ifndef TUNEONCE_PLUGIN_RANK_GROUP_H_
#define TUNEONCE_PLUGIN_RANK_GROUP_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Exchanges small messages between the ranks of a job, by a transport that the host already runs. A host implements
/// this interface, or uses an adapter: MakeThreadRanks, MPI (mpi_rank_group.h), Redis (redis_rank_group.h), or
/// torch.distributed's store (tuneonce.torch.StoreRanks in Python).
///
/// A group serves one start of a job. When a rank is started again, all ranks need another group (a new name, for
/// groups that have one). A rank that detects that it joined this group before is refused.
///
/// Names have at most 100 letters, digits and slashes. Messages have a few bytes to tens of thousands, and up to 4 MiB
/// for compiled code (RankPolicy::exchange_code). A stored message lasts as long as the group. Thread rule: the library
/// calls a group from one thread of a rank at a time. An exception from a group becomes an error.
class TUNEONCE_API RankGroup {
 public:
  RankGroup();
  virtual ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// Returns this rank's number, from 0 to size() - 1. It never changes.
  virtual int rank() const = 0;
  /// Returns the number of ranks. It never changes.
  virtual int size() const = 0;

  /// Stores `bytes` under `name` for all ranks, and replaces an earlier value. It does not wait for other ranks.
  /// Errors: the transport's.
  virtual Status Put(const std::string& name, const std::string& bytes) = 0;
  /// Returns what is stored under `name`, and waits up to `wait_ms` milliseconds for it. Empty: nothing was stored in
  /// time. Errors: the transport's.
  virtual Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) = 0;
  /// Stores `bytes` under `name` unless something is stored there already, and returns what is stored then. Every rank
  /// receives the same value, which never changes. Errors: DeadlineExceeded if the value is not known after `wait_ms`
  /// milliseconds. A rank that has other work calls it with 0, and again later, with the same name.
  virtual Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) = 0;

  /// Sends `bytes` to all ranks, and returns what each rank sent, indexed by rank. All ranks must make the same
  /// sequence of calls. Errors: DeadlineExceeded, naming the ranks whose bytes did not arrive within `silence_ms`
  /// milliseconds; the transport's.
  Result<std::vector<std::string>> AllGather(const std::string& bytes, int silence_ms);

 private:
  friend class RankTurn;
  struct State;
  const std::unique_ptr<State> state_;
};

/// How the ranks of a group agree on the configs that they run (AutotunePolicy::ranks). docs/internal/ranks.md
/// describes the protocol and its limits.
///
/// With a group, a key's config is used only after all ranks agreed on it, in Warmup, WarmupAll or TunePending, which
/// all ranks call in the same order. Until then launches run the fallback config and the key is pending: a launch never
/// searches, waits or sends. Each rank contributes the record of its store. If all ranks have the same record, they
/// agree on it. Otherwise they agree on the record of the lowest rank that has one. The keys of a list that no rank has
/// a record of are distributed over the ranks with the same device, driver and variants: each rank searches for its
/// keys and then for those that no other rank has started, and sends the records. A key that only some ranks asked for
/// is an error of Warmup, and stays pending at TunePending until the others ask for it.
struct RankPolicy {
  /// The group. Null (default): this process decides alone.
  std::shared_ptr<RankGroup> group;
  /// How long the ranks wait for a rank that sends nothing. After that they stop waiting for it, and the keys that need
  /// it are not agreed on (see `may_differ`). The time need not cover a whole search: a rank that
  /// works reports after each candidate that it compiled or tried, so the time must be longer than one candidate takes.
  /// Default one minute.
  std::chrono::milliseconds silence = std::chrono::minutes(1);
  /// Whether a rank may run another config than the others. If false (default), a key that the ranks could not agree on
  /// fails the warm-up with an error. If true, this rank runs the key's fallback config, and reports it by a warning
  /// and by WarmedKey::State::kFallback.
  bool may_differ = false;
  /// Whether ranks may have different devices or drivers. If false (default), that is an error that names them. If
  /// true, ranks with the same device and driver agree among each other.
  bool mixed_kinds = false;
  /// Whether ranks send the code of agreed configs to each other, so that it is compiled once in the group. Code that
  /// does not arrive is compiled where it is needed. Default false: set it where ranks have no store in common, and
  /// where only the ranks can write to the transport, because they run the code that they receive.
  bool exchange_code = false;
};

/// Makes a group of `size` ranks that are threads of this process, for tests and for one process with several GPUs.
/// Returns the group object of each rank, indexed by rank. Thread rule: each rank may run on its own thread.
TUNEONCE_API std::vector<std::shared_ptr<RankGroup>> MakeThreadRanks(int size);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_RANK_GROUP_H_
