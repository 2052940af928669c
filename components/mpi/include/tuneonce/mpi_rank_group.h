#ifndef TUNEONCE_MPI_RANK_GROUP_H_
#define TUNEONCE_MPI_RANK_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "tuneonce/rank_group.h"

namespace tuneonce {
inline namespace v0 {

struct MpiRankOptions {
  /// The ranks, by MPI_Comm_c2f: a number, so that this header needs no MPI. Default: MPI_COMM_WORLD. Best a duplicate
  /// (MPI_Comm_dup) that nothing else uses, with MPI_ERRORS_RETURN, since by default an error of MPI's ends the job.
  std::optional<int> communicator;
  /// Which start of the group on this communicator it is, the same in all ranks: messages of others are not taken for
  /// this one's.
  std::uint64_t attempt = 0;
  /// The messages' tags: `tag` to `tag` + 999, by the attempt. Default 31000: of those that every MPI has (up to
  /// 32767).
  int tag = 31000;
};

/// Makes a rank of a group that exchanges messages by MPI, point to point: it uses no collectives, no blocking calls
/// and no additional thread. A message arrives while the receiver is in a call of its group, and a call ends in time
/// even if another rank hangs.
///
/// Rank 0 decides PutOnce while it is in a call of the group, which in an agreement is until it has received all
/// messages. If a rank dies, MPI's launchers end the job. If they do not, the calls of the other ranks return
/// DeadlineExceeded, and without rank 0 no further cell is decided. With RankPolicy::mixed_kinds, ranks of other kinds
/// depend on rank 0's calls too.
///
/// It needs MPI_THREAD_SERIALIZED if the calling thread is not MPI's main thread, and MPI_THREAD_MULTIPLE if the host
/// calls MPI on another thread meanwhile. The group must end before MPI_Finalize.
///
/// Errors: FailedPrecondition if MPI is not initialized or finalized; InvalidArgument for an invalid communicator or
/// tag.
TUNEONCE_API Result<std::shared_ptr<RankGroup>> MakeMpiRank(MpiRankOptions options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_MPI_RANK_GROUP_H_
