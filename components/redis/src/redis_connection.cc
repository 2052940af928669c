#include "redis_connection.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

/// Maximum size of an answer. An artifact has some 100 KB, so a larger answer is invalid.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

/// Converts a server's error, whose first word is its kind.
Status ErrorOf(std::string_view text) {
  struct Word {
    std::string_view word;
    StatusCode code;
  };
  static constexpr Word kWords[] = {
      {"LOADING", StatusCode::kUnavailable},      {"BUSY", StatusCode::kUnavailable},
      {"MASTERDOWN", StatusCode::kUnavailable},   {"TRYAGAIN", StatusCode::kUnavailable},
      {"CLUSTERDOWN", StatusCode::kUnavailable},  {"OOM", StatusCode::kResourceExhausted},
      {"MISCONF", StatusCode::kResourceExhausted}};  // Usually its disk is full. All other errors are permanent.
  const std::string_view word = text.substr(0, text.find(' '));
  auto known = std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& each) { return each.word == word; });
  return Status(known == std::end(kWords) ? StatusCode::kFailedPrecondition : known->code,
                "it says: " + std::string(text));
}

Result<RedisReply> ValueOf(const redisReply& reply) {
  RedisReply value;
  switch (reply.type) {
    case REDIS_REPLY_ERROR:
      return ErrorOf({reply.str, reply.len});
    case REDIS_REPLY_INTEGER:
      value.kind = RedisReply::Kind::kInteger;
      value.integer = reply.integer;
      return value;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      value.kind = RedisReply::Kind::kText;
      value.text.assign(reply.str, reply.len);
      return value;
    case REDIS_REPLY_ARRAY:
      value.kind = RedisReply::Kind::kArray;
      for (std::size_t i = 0; i < reply.elements; ++i) {
        TUNEONCE_ASSIGN_OR_RETURN(RedisReply element, ValueOf(*reply.element[i]));
        value.elements.push_back(std::move(element));
      }
      return value;
    default:
      return value;  // Nil.
  }
}

std::string Formatted(const RedisCommand& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const std::string& word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* made = nullptr;
  const auto size = redisFormatCommandArgv(&made, static_cast<int>(words.size()), words.data(), sizes.data());
  std::string bytes(made == nullptr ? "" : made, size < 0 ? 0 : static_cast<std::size_t>(size));
  redisFreeCommand(made);
  return bytes;
}

}  // namespace

RedisConnection::RedisConnection(RedisSocket socket) : socket_(std::move(socket)), reader_(redisReaderCreate()) {}
RedisConnection::RedisConnection(RedisConnection&& other) noexcept
    : socket_(std::move(other.socket_)), reader_(std::exchange(other.reader_, nullptr)), is_lost_(other.is_lost_) {}
RedisConnection::~RedisConnection() {
  if (reader_ != nullptr) redisReaderFree(reader_);
}

Result<RedisConnection> RedisConnection::Open(const RedisOptions& options, const std::vector<ServerAddress>& addresses,
                                              Clock::time_point deadline) {
  TUNEONCE_ASSIGN_OR_RETURN(RedisSocket socket, RedisSocket::Connect(addresses, deadline));
  RedisConnection connection(std::move(socket));
  if (connection.reader_ == nullptr) return ResourceExhaustedError("there is not enough memory for the reply");
  if (!options.password.empty()) {
    RedisCommand auth{"AUTH"};
    if (!options.user.empty()) auth.push_back(options.user);
    auth.push_back(options.password);
    TUNEONCE_RETURN_IF_ERROR(connection.Call(auth, deadline).status());
  }
  if (options.database != 0) {
    TUNEONCE_RETURN_IF_ERROR(connection.Call({"SELECT", std::to_string(options.database)}, deadline).status());
  }
  return connection;
}

Result<RedisReply> RedisConnection::Call(const RedisCommand& command, Clock::time_point deadline) {
  is_lost_ = true;  // Set until the whole answer has arrived, because its rest would be read as the next answer.
  TUNEONCE_RETURN_IF_ERROR(socket_.Send(Formatted(command), deadline));
  return Read(deadline);
}

Result<RedisReply> RedisConnection::Read(Clock::time_point deadline) {
  std::string buffer(kReadBytes, '\0');
  for (std::size_t total = 0; total < kMostBytes;) {
    TUNEONCE_ASSIGN_OR_RETURN(std::size_t received, socket_.Receive(&buffer[0], buffer.size(), deadline));
    total += received;
    void* read = nullptr;
    if (redisReaderFeed(reader_, buffer.data(), received) != REDIS_OK ||
        redisReaderGetReply(reader_, &read) != REDIS_OK) {
      return UnavailableError(std::string("the server does not speak the Redis protocol: ") + reader_->errstr);
    }
    if (read == nullptr) continue;
    is_lost_ = false;
    auto* reply = static_cast<redisReply*>(read);
    Result<RedisReply> value = ValueOf(*reply);
    freeReplyObject(reply);
    return value;
  }
  return UnavailableError("the reply is too long");
}

}  // namespace v0
}  // namespace tuneonce
