#ifndef TUNEONCE_REDIS_OPTIONS_H_
#define TUNEONCE_REDIS_OPTIONS_H_

#include <string>
#include <string_view>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The address of a Redis server and the name under which tuneonce stores its data there. The server is Redis 5 or
/// newer, or one with its protocol and Lua scripts. Connections are not encrypted (no TLS), so use a tunnel such as
/// stunnel or WireGuard in an untrusted network. Redis Cluster is not supported: redirections are errors.
struct RedisOptions {
  /// Name of the fleet or job, which begins all its keys in the server: "tuneonce:{name}:...". It has 1 to 64 letters,
  /// digits, '.', '_' and '-'. Several fleets and jobs can share a server under different names. Required.
  std::string name;
  /// Host name or IP address of the server. A host name is resolved once, when the store or group is made.
  std::string host = "127.0.0.1";
  int port = 6379;
  /// Path of a Unix domain socket, used instead of `host` and `port`. Default empty: TCP.
  std::string unix_socket;
  /// User and password for Redis's AUTH command. An empty `password` (default): no authentication. An empty `user`: the
  /// server's default user.
  std::string user, password;
  /// Number of the database, for Redis's SELECT command. Default 0.
  int database = 0;
  /// How long one call may take in milliseconds, connecting included. A launch that uses the store can be delayed that
  /// long. At least 1. Default 250 ms.
  int timeout_ms = 250;

  /// Parses an address: redis://[[USER:]PASSWORD@]HOST[:PORT]/NAME[?db=N&timeout_ms=N], or
  /// redis+unix://[[USER:]PASSWORD@]/PATH?name=NAME with the same parameters. An IPv6 address needs brackets. Errors:
  /// InvalidArgument with a message that does not contain the password.
  TUNEONCE_API static Result<RedisOptions> Parse(std::string_view address);
  /// Returns the address as text for people, without user and password: "redis://HOST:PORT/NAME", or
  /// "redis+unix://PATH?name=NAME".
  TUNEONCE_API std::string ToString() const;
  /// Checks that all fields have valid values. Errors: InvalidArgument, naming the field.
  TUNEONCE_API Status Validate() const;
};

/// Returns whether `text` begins with "redis://" or "redis+unix://". RedisOptions::Parse checks the rest.
TUNEONCE_API bool IsRedisAddress(std::string_view text);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REDIS_OPTIONS_H_
