#ifndef TUNEONCE_REDIS_RANK_GROUP_H_
#define TUNEONCE_REDIS_RANK_GROUP_H_

#include <memory>

#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/redis_options.h"

namespace tuneonce {
inline namespace v0 {

/// Options of MakeRedisRank.
struct RedisRankOptions {
  /// The server. RedisOptions::name must be the same in all ranks and new for each start of the job, so that no data of
  /// an earlier start is found.
  RedisOptions redis;
  int rank = 0;  ///< Number of this rank, from 0 to `size` - 1.
  int size = 1;  ///< Number of ranks of the group.
  /// How long a call tries to reach a server that does not answer, in milliseconds. Default 5 s.
  int patience_ms = 5000;
  /// The server deletes the group's data this many seconds after the last write to it. At least 1. Default one day.
  int expiry_seconds = 86400;
  /// Whether the server keeps what it acknowledged (`appendonly yes`, `appendfsync always`), so that the group may
  /// continue after a restart. Default false: after a restart all calls are errors, because an agreement may be lost.
  bool survives_restart = false;
};

/// Makes this rank's object of a group that exchanges messages through a Redis server, in one hash that only Lua
/// scripts write. Each rank makes one group, in its own process or in a shared one, and ranks may start and end at any
/// time. A call ends after its wait. If the server is not reachable, it ends after the longer of its wait and
/// `patience_ms`.
///
/// Errors: InvalidArgument; Unavailable without a server; FailedPrecondition if this rank joined before, or other ranks
/// have another size. Give each start of the job a name of its own.
TUNEONCE_API Result<std::shared_ptr<RankGroup>> MakeRedisRank(RedisRankOptions options);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REDIS_RANK_GROUP_H_
