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

/// Ranks that exchange messages by MPI, point to point: no collective, nothing that blocks, no thread of ours. So what
/// is sent arrives while the receiver is in a call of its group, and a call ends in time whoever hangs.
///
/// PutOnce is decided by rank 0, while that is in a call of the group: as it is in an agreement, until it has heard of
/// all. A rank that dies takes the job along, as MPI's launchers do; where they do not, the others' calls end in
/// DeadlineExceeded, and without rank 0 nothing is decided any more. With RankPolicy::mixed_kinds, ranks of another
/// kind than rank 0's depend on its calls as well.
///
/// Needs MPI_THREAD_SERIALIZED if the thread that calls is not MPI's main thread, MPI_THREAD_MULTIPLE if the host calls
/// MPI on another one meanwhile. The group must end before MPI_Finalize.
///
/// Errors: FailedPrecondition: MPI is not initialized, or over; InvalidArgument: no such communicator or tag.
TUNEONCE_API Result<std::shared_ptr<RankGroup>> MakeMpiRank(MpiRankOptions options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_MPI_RANK_GROUP_H_
