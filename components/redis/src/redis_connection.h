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

/// One authenticated connection. hiredis encodes commands and decodes replies. This class does the input and output,
/// because hiredis's own calls block per read and may raise SIGPIPE. After Unavailable it cannot be used any more.
/// Thread rule: one thread.
class RedisConnection {
 public:
  using Clock = RedisSocket::Clock;

  /// Errors: Unavailable; FailedPrecondition if the server refuses user or password.
  static Result<RedisConnection> Open(const RedisOptions& options, const std::vector<ServerAddress>& addresses,
                                      Clock::time_point deadline);
  RedisConnection(RedisConnection&& other) noexcept;
  RedisConnection& operator=(RedisConnection&&) = delete;
  ~RedisConnection();

  /// Executes a command. Errors: Unavailable if the connection is lost or the server is not ready; ResourceExhausted if
  /// the server is full; FailedPrecondition for its other errors (no permission, unknown command).
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
