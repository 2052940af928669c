#ifndef TUNEONCE_COMPONENTS_REDIS_REDIS_SOCKET_H_
#define TUNEONCE_COMPONENTS_REDIS_REDIS_SOCKET_H_

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/redis_options.h"

namespace tuneonce {
inline namespace v0 {

/// Where a server listens: all that its name stands for.
struct ServerAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};
/// Asks the resolver, which may take seconds. Errors: Unavailable; InvalidArgument for a path that is too long.
Result<std::vector<ServerAddress>> ResolveServer(const RedisOptions& options);

/// A stream of bytes, no step of which waits beyond a deadline or raises a signal. Thread rule: one thread.
class RedisSocket {
 public:
  using Clock = std::chrono::steady_clock;

  RedisSocket() = default;
  RedisSocket(RedisSocket&& other) noexcept;
  RedisSocket& operator=(RedisSocket&& other) noexcept;
  ~RedisSocket();

  /// To the first that answers. Errors: Unavailable.
  static Result<RedisSocket> Connect(const std::vector<ServerAddress>& addresses, Clock::time_point deadline);

  Status Send(std::string_view bytes, Clock::time_point deadline);
  /// At least one byte, at most `size`.
  Result<std::size_t> Receive(char* buffer, std::size_t size, Clock::time_point deadline);

 private:
  explicit RedisSocket(int file) : file_(file) {}
  Status ConnectTo(const ServerAddress& address, Clock::time_point deadline);
  Status WaitFor(short events, Clock::time_point deadline);

  int file_ = -1;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_REDIS_SOCKET_H_
