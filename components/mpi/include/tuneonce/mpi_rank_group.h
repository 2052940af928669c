#ifndef TUNEONCE_MPI_RANK_GROUP_H_
#define TUNEONCE_MPI_RANK_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "tuneonce/plugin/rank_group.h"

namespace tuneonce {
inline namespace v0 {

/// Options of MakeMpiRank.
struct MpiRankOptions {
  /// The communicator of the ranks as MPI_Comm_c2f returns it, a number, so that this header needs no MPI. Default:
  /// MPI_COMM_WORLD. Preferably a duplicate (MPI_Comm_dup) that nothing else uses, with the error handler
  /// MPI_ERRORS_RETURN, because MPI's default handler ends the job at any error.
  std::optional<int> communicator;
  /// Number of this group on the communicator. All ranks must pass the same number, and each new group on the
  /// communicator needs another one, so that messages of an earlier group are ignored.
  std::uint64_t attempt = 0;
  /// The lowest MPI tag of the messages: a group uses the tag `tag` + `attempt` % 1000. From 0 to 31767, so that the
  /// tags stay below the 32767 that every MPI supports. Default 31000.
  int tag = 31000;
};

/// Makes this rank's object of a group that exchanges messages by MPI, point to point: it uses no collectives, no
/// blocking calls and no additional thread. A message arrives while the receiver is in a call of its group, and a call
/// ends in time even if another rank hangs.
///
/// Rank 0 decides PutOnce while it is in a call of the group, which in an agreement is until it has received all
/// messages. If a rank dies, MPI's launchers end the job. If they do not, the calls of the other ranks return
/// DeadlineExceeded, and without rank 0 no further PutOnce is decided. With RankPolicy::mixed_kinds, ranks with another
/// device or driver than rank 0 also depend on rank 0's calls.
///
/// It needs MPI_THREAD_SERIALIZED if the calling thread is not MPI's main thread, and MPI_THREAD_MULTIPLE if the host
/// calls MPI on another thread meanwhile. The group must be destroyed before MPI_Finalize.
///
/// Errors: FailedPrecondition if MPI is not initialized or finalized; InvalidArgument for an invalid communicator or
/// tag.
TUNEONCE_API Result<std::shared_ptr<RankGroup>> MakeMpiRank(MpiRankOptions options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_MPI_RANK_GROUP_H_
