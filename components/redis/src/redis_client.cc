#include "redis_client.h"

#include <optional>
#include <utility>

namespace tuneonce {
inline namespace v0 {

RedisClient::RedisClient(RedisOptions options, std::vector<ServerAddress> addresses, Greeting greeting)
    : options_(std::move(options)),
      addresses_(std::move(addresses)),
      greeting_(std::move(greeting)),
      // Braces: of a cluster's slots all keys would be in one.
      prefix_("tuneonce:{" + options_.name + "}:") {}

Result<std::unique_ptr<RedisClient>> RedisClient::Create(RedisOptions options, Greeting greeting) {
  TUNEONCE_RETURN_IF_ERROR(options.Validate());
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<ServerAddress> addresses, ResolveServer(options));
  return std::unique_ptr<RedisClient>(new RedisClient(std::move(options), std::move(addresses), std::move(greeting)));
}

Status RedisClient::CheckOwner() const {
  if (getpid() == owner_) return Status();
  return FailedPreconditionError(options_.ToString() + " was opened before a fork: open it again in the child");
}

Result<RedisReply> RedisClient::Call(const RedisCommand& command, Clock::time_point deadline) {
  TUNEONCE_RETURN_IF_ERROR(CheckOwner());
  Result<RedisReply> reply = CallOn(command, deadline);
  if (!reply.ok()) return reply.status().WithPrefix(options_.ToString());
  return reply;
}

Result<RedisReply> RedisClient::CallOn(const RedisCommand& command, Clock::time_point deadline) {
  std::optional<RedisConnection> connection;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      connection.emplace(std::move(idle_.back()));
      idle_.pop_back();
    }
  }
  Result<RedisReply> reply = UnavailableError("");
  if (connection) reply = connection->Call(command, deadline);
  // An idle connection may be from before the server's restart, and then the command was not executed.
  if (!connection || (connection->is_lost() && Clock::now() < deadline)) {
    connection.reset();
    Result<RedisConnection> made = Connect(deadline);
    if (!made.ok()) return made.status();
    connection.emplace(*std::move(made));
    reply = connection->Call(command, deadline);
  }
  if (connection->is_lost()) return reply;
  std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(*std::move(connection));
  return reply;
}

Result<RedisConnection> RedisClient::Connect(Clock::time_point deadline) {
  TUNEONCE_ASSIGN_OR_RETURN(RedisConnection connection, RedisConnection::Open(options_, addresses_, deadline));
  if (greeting_) TUNEONCE_RETURN_IF_ERROR(greeting_(connection, deadline));
  return connection;
}

Result<RedisReply> RedisClient::Run(const char* script, const std::vector<std::string>& keys,
                                    const std::vector<std::string>& arguments, Clock::time_point deadline) {
  RedisCommand command{"EVAL", script, std::to_string(keys.size())};
  for (const std::string& key : keys) command.push_back(KeyOf(key));
  command.insert(command.end(), arguments.begin(), arguments.end());
  return Call(command, deadline);
}

}  // namespace v0
}  // namespace tuneonce
