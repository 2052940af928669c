#ifndef TUNEONCE_COMPONENTS_REDIS_REDIS_CLIENT_H_
#define TUNEONCE_COMPONENTS_REDIS_REDIS_CLIENT_H_

#include <unistd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "redis_connection.h"

namespace tuneonce {
inline namespace v0 {

/// A server with as many connections as there are calls at a time, so that no call waits for another one. Lost
/// connections are replaced. Thread rule: any thread. It cannot be used after fork: in the child process every call
/// returns an error.
class RedisClient {
 public:
  using Clock = RedisSocket::Clock;
  /// Asked of each new connection; an error closes it and fails the call.
  using Greeting = std::function<Status(RedisConnection& connection, Clock::time_point deadline)>;

  /// Connects with nothing yet. Errors: InvalidArgument; Unavailable: the host has no address.
  static Result<std::unique_ptr<RedisClient>> Create(RedisOptions options, Greeting greeting = nullptr);

  /// Executes a command, by `deadline` at the latest. It may have been executed even if its answer was lost. Errors:
  /// those of RedisConnection::Call, naming the server.
  Result<RedisReply> Call(const RedisCommand& command, Clock::time_point deadline);
  /// A Lua script: `keys` are names within ours.
  Result<RedisReply> Run(const char* script, const std::vector<std::string>& keys,
                         const std::vector<std::string>& arguments, Clock::time_point deadline);

  /// FailedPrecondition in a forked child: locks and connections are the parent's.
  Status CheckOwner() const;

  const RedisOptions& options() const { return options_; }
  Clock::time_point Deadline() const { return Clock::now() + std::chrono::milliseconds(options_.timeout_ms); }
  /// "tuneonce:{name}:KEY".
  std::string KeyOf(const std::string& key) const { return prefix_ + key; }

 private:
  RedisClient(RedisOptions options, std::vector<ServerAddress> addresses, Greeting greeting);
  Result<RedisReply> CallOn(const RedisCommand& command, Clock::time_point deadline);
  Result<RedisConnection> Connect(Clock::time_point deadline);

  const RedisOptions options_;
  const std::vector<ServerAddress> addresses_;
  const Greeting greeting_;
  const std::string prefix_;
  const pid_t owner_ = getpid();
  std::mutex mutex_;  // Guards idle_.
  std::vector<RedisConnection> idle_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_REDIS_CLIENT_H_
