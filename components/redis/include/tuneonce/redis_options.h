#ifndef TUNEONCE_REDIS_OPTIONS_H_
#define TUNEONCE_REDIS_OPTIONS_H_

#include <string>
#include <string_view>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A Redis server (5 or newer, or what speaks its protocol and runs Lua), and what of it is ours. No TLS, as hiredis
/// has none on the systems that we build for: across a network that others see put a tunnel before it (stunnel,
/// WireGuard). No cluster: redirections are errors.
struct RedisOptions {
  /// Keys are tuneonce:{name}:...; letters, digits, '.', '_' and '-', at most 64. Several fleets and jobs share a
  /// server by names of their own.
  std::string name;
  /// A host's name is looked up when the client is made, and not again.
  std::string host = "127.0.0.1";
  int port = 6379;
  /// A socket's path, in place of host and port. Default empty.
  std::string unix_socket;
  /// For AUTH. Default empty: none; without a user the server's default one.
  std::string user, password;
  /// For SELECT. Default 0.
  int database = 0;
  /// How long one call may take, connecting included: as long as a launch may be stopped. Default 250 ms.
  int timeout_ms = 250;

  /// Parses an address: redis://[[USER:]PASSWORD@]HOST[:PORT]/NAME[?db=N&timeout_ms=N], or
  /// redis+unix://[[USER:]PASSWORD@]/PATH?name=NAME with the same parameters. An IPv6 address needs brackets. Errors:
  /// InvalidArgument with a message that does not contain the password.
  TUNEONCE_API static Result<RedisOptions> Parse(std::string_view address);
  /// "redis://HOST:PORT/NAME", for people: without user and password.
  TUNEONCE_API std::string ToString() const;
  /// Errors: InvalidArgument, naming the field.
  TUNEONCE_API Status Validate() const;
};

/// Whether it begins as what RedisOptions::Parse reads.
TUNEONCE_API bool IsRedisAddress(std::string_view text);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_REDIS_OPTIONS_H_
