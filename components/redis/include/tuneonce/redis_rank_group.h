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
  /// What the ranks left is dropped after nobody put anything for so long. Default a day.
  int expiry_seconds = 86400;
  /// The server keeps what it acknowledged (`appendonly yes`, `appendfsync always`), so the group may go on after a
  /// restart. Default false: after one all calls are errors, as what was agreed on may be gone.
  bool survives_restart = false;
};

/// Ranks that exchange messages through a Redis server: one hash, which only Lua scripts write. Each rank has one
/// group, in a process of its own or not; ranks come and go as they like. A call ends after what it may wait, or after
/// `patience_ms` if the server is away.
///
/// Errors: InvalidArgument; Unavailable: no server; FailedPrecondition: this rank has been here before, or others say
/// another size: give each start of the job a name of its own.
TUNEONCE_API Result<std::shared_ptr<RankGroup>> MakeRedisRank(RedisRankOptions options);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REDIS_RANK_GROUP_H_
