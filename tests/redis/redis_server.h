#ifndef TUNEONCE_TESTS_REDIS_REDIS_SERVER_H_
#define TUNEONCE_TESTS_REDIS_REDIS_SERVER_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "tuneonce/redis_options.h"

namespace tuneonce {

/// A redis-server of the test's own, on a socket in a folder of its own; it ends with the object.
class RedisServer {
 public:
  /// It keeps what it acknowledged (appendfsync always), or nothing. `more`: further arguments.
  explicit RedisServer(bool keeps, std::vector<std::string> more = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// False where there is none to start: the test is to be skipped.
  static bool IsInstalled();

  void Start();
  void Kill();      ///< As kill -9, or the machine that it runs on.
  void Stop();      ///< It is there and does not answer.
  void Continue();  ///< After Stop.

  /// `timeout_ms` is one that a loaded machine keeps.
  RedisOptions Options(const std::string& name) const;
  /// What it says to a command, beside our client.
  std::string Ask(std::vector<std::string> command) const;

 private:
  const bool keeps_;
  const std::vector<std::string> more_;
  std::string folder_;
  pid_t process_ = -1;
};

}  // namespace tuneonce

#endif  // TUNEONCE_TESTS_REDIS_REDIS_SERVER_H_
