#ifndef TUNEONCE_REDIS_RANK_GROUP_H_
#define TUNEONCE_REDIS_RANK_GROUP_H_

#include <memory>

#include "tuneonce/rank_group.h"
#include "tuneonce/redis_options.h"

namespace tuneonce {
inline namespace v0 {

struct RedisRankOptions {
  /// `name` is the group's: of this start of the job, so that nothing of an earlier one is found.
  RedisOptions redis;
  int rank = 0;
  int size = 1;
  /// How long a call goes on trying to reach a server that is away. Default 5 s.
  int patience_ms = 5000;
  /// The server drops the group's data after this many seconds without a Put. Default one day.
  int expiry_seconds = 86400;
  /// Whether the server keeps what it acknowledged (`appendonly yes`, `appendfsync always`), so that the group may
  /// continue after a restart. Default false: after a restart all calls are errors, because an agreement may be lost.
  bool survives_restart = false;
};

/// Makes a rank of a group that exchanges messages through a Redis server, in one hash that only Lua scripts write.
/// Each rank makes one group, in its own process or in a shared one, and ranks may start and end at any time. A call
/// ends after its wait, or after `patience_ms` if the server is not reachable.
///
/// Errors: InvalidArgument; Unavailable without a server; FailedPrecondition if this rank joined before, or other ranks
/// have another size. Give each start of the job a name of its own.
TUNEONCE_API Result<std::shared_ptr<RankGroup>> MakeRedisRank(RedisRankOptions options);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REDIS_RANK_GROUP_H_
