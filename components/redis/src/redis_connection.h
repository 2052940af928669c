#ifndef TUNEONCE_COMPONENTS_REDIS_REDIS_CONNECTION_H_
#define TUNEONCE_COMPONENTS_REDIS_REDIS_CONNECTION_H_

#include <string>
#include <vector>

#include "redis_reply.h"
#include "redis_socket.h"
#include "tuneonce/redis_options.h"

struct redisReader;

namespace tuneonce {
inline namespace v0 {

using RedisCommand = std::vector<std::string>;

/// One connection, signed on. hiredis writes commands and reads replies; sockets and time are ours, since its own calls
/// block per read and may raise SIGPIPE. After an Unavailable nothing more can be asked by it. Thread rule: one thread.
class RedisConnection {
 public:
  using Clock = RedisSocket::Clock;

  /// Errors: Unavailable; FailedPrecondition if the server refuses user or password.
  static Result<RedisConnection> Open(const RedisOptions& options, const std::vector<ServerAddress>& addresses,
                                      Clock::time_point deadline);
  RedisConnection(RedisConnection&& other) noexcept;
  RedisConnection& operator=(RedisConnection&&) = delete;
  ~RedisConnection();

  /// Errors: Unavailable: the connection is lost, or the server is not ready; ResourceExhausted: it has no room;
  /// FailedPrecondition: what else it says (no permission, no such command).
  Result<RedisReply> Call(const RedisCommand& command, Clock::time_point deadline);

  bool is_lost() const { return is_lost_; }

 private:
  explicit RedisConnection(RedisSocket socket);
  Result<RedisReply> Read(Clock::time_point deadline);

  RedisSocket socket_;
  redisReader* reader_;
  bool is_lost_ = false;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_REDIS_CONNECTION_H_
