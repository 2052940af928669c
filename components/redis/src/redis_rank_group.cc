#include "tuneonce/redis_rank_group.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nonce.h"
#include "redis_client.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Clock = RedisClient::Clock;
using std::chrono::milliseconds;

// A group is one hash with the fields "epoch" (which is new if the server lost the hash), "size", "rank/R" (the holder)
// and "cell/NAME". If the epoch is missing, cells may be missing too, so nothing is written to such a hash.
constexpr char kGroup[] = "ranks";
constexpr char kJoin[] = R"(
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
redis.call('HSETNX', KEYS[1], 'size', ARGV[2])
redis.call('HSETNX', KEYS[1], 'rank/' .. ARGV[3], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return redis.call('HMGET', KEYS[1], 'epoch', 'size', 'rank/' .. ARGV[3])
)";
constexpr char kPutBytes[] = R"(
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
)";
constexpr char kPutOnce[] = R"(
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSETNX', KEYS[1], ARGV[2], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return redis.call('HGET', KEYS[1], ARGV[2])
)";

/// How long a rank that waits leaves the server alone: at first, and at last.
constexpr milliseconds kFirstPause(1), kLongestPause(20);

Status Lost(const RedisOptions& redis) {
  return FailedPreconditionError(
      redis.ToString() +
      " was restarted or emptied since this group began, and agreements of the ranks may be "
      "lost: start the job again, or set RedisRankOptions::survives_restart if the server keeps its data");
}

/// That each connection is to the server's same start.
class SameStart {
 public:
  explicit SameStart(bool survives_restart) : survives_restart_(survives_restart) {}

  Status Check(const RedisOptions& redis, RedisConnection& connection, Clock::time_point deadline) {
    if (survives_restart_) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(RedisReply info, connection.Call({"INFO", "server"}, deadline));
    const std::size_t begin = info.text.find("run_id:");
    if (begin == std::string::npos)
      return FailedPreconditionError(redis.ToString() +
                                     ": INFO server returned no run_id, by which a restart is detected");
    const std::string start = info.text.substr(begin, info.text.find('\r', begin) - begin);
    if (start_.empty()) start_ = start;
    return start == start_ ? Status() : Lost(redis);
  }

 private:
  const bool survives_restart_;
  std::string start_;
};

class RedisRank final : public RankGroup {
 public:
  static Result<std::shared_ptr<RankGroup>> Make(RedisRankOptions options) {
    if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
      return InvalidArgumentError(absl::StrCat("RedisRankOptions::rank is ", options.rank, " and size is ",
                                               options.size, ": the rank must be within 0 to size - 1"));
    }
    if (options.expiry_seconds < 1) return InvalidArgumentError("RedisRankOptions::expiry_seconds must be at least 1");
    auto start = std::make_shared<SameStart>(options.survives_restart);
    RedisOptions redis = options.redis;
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<RedisClient> client,
                              RedisClient::Create(options.redis, [start, redis](auto& connection, auto deadline) {
                                return start->Check(redis, connection, deadline);
                              }));
    std::shared_ptr<RedisRank> made(new RedisRank(std::move(options), std::move(client)));
    TUNEONCE_RETURN_IF_ERROR(made->Join());
    return std::shared_ptr<RankGroup>(std::move(made));
  }

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }

  Status Put(const std::string& name, const std::string& bytes) override {
    TUNEONCE_ASSIGN_OR_RETURN(RedisReply reply, Run(kPutBytes, {epoch_, Cell(name), bytes, Expiry()}, PatienceEnd()));
    return reply.integer == 1 ? Status() : Lost(options_.redis);
  }

  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    const Clock::time_point end = Clock::now() + milliseconds(wait_ms);
    for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      TUNEONCE_ASSIGN_OR_RETURN(RedisReply reply,
                                Ask(
                                    [&](Clock::time_point deadline) {
                                      return client_->Call({"HGET", client_->KeyOf(kGroup), Cell(name)}, deadline);
                                    },
                                    std::max(end, PatienceEnd())));
      if (!reply.is_nil()) return std::optional<std::string>(std::move(reply.text));
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      if (left.count() <= 0) return std::optional<std::string>();
      std::this_thread::sleep_for(std::min(pause, left));
    }
  }

  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override {
    const Clock::time_point end = std::max(Clock::now() + milliseconds(wait_ms), PatienceEnd());
    Result<RedisReply> reply = Run(kPutOnce, {epoch_, Cell(name), bytes, Expiry()}, end);
    // The server may have executed it nevertheless.
    if (reply.status().code() == StatusCode::kUnavailable) return DeadlineExceededError(reply.status().message());
    if (!reply.ok()) return reply.status();
    return reply->kind == RedisReply::Kind::kText ? Result<std::string>(std::move(reply->text)) : Lost(options_.redis);
  }

 private:
  RedisRank(RedisRankOptions options, std::unique_ptr<RedisClient> client)
      : options_(std::move(options)), client_(std::move(client)) {}

  Status Join() {
    const std::string me = Nonce();
    TUNEONCE_ASSIGN_OR_RETURN(
        RedisReply reply, Run(kJoin, {me, std::to_string(size()), std::to_string(rank()), Expiry()}, PatienceEnd()));
    if (reply.elements.size() != 3) return InternalError("Redis returned an unexpected reply");
    epoch_ = reply.elements[0].text;
    if (reply.elements[1].text != std::to_string(size())) {
      return FailedPreconditionError(
          absl::StrCat("the group '", options_.redis.name, "' has ", reply.elements[1].text, " ranks, not ", size()));
    }
    if (reply.elements[2].text == me) return Status();
    return FailedPreconditionError(absl::StrCat("rank ", rank(), " of the group '", options_.redis.name,
                                                "' joined before: use a new group name for each start of a job"));
  }

  Result<RedisReply> Run(const char* script, const std::vector<std::string>& arguments, Clock::time_point end) {
    return Ask([&](Clock::time_point deadline) { return client_->Run(script, {kGroup}, arguments, deadline); }, end);
  }

  /// Tries until `end` while the server is away. All that is asked may be asked twice.
  template <typename Question>
  Result<RedisReply> Ask(const Question& question, Clock::time_point end) {
    for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      Result<RedisReply> reply = question(std::min(client_->Deadline(), end));
      if (reply.status().code() != StatusCode::kUnavailable || Clock::now() + pause >= end) return reply;
      std::this_thread::sleep_for(pause);
    }
  }

  Clock::time_point PatienceEnd() const { return Clock::now() + milliseconds(options_.patience_ms); }
  std::string Expiry() const { return std::to_string(options_.expiry_seconds); }
  static std::string Cell(const std::string& name) { return "cell/" + name; }

  const RedisRankOptions options_;
  const std::unique_ptr<RedisClient> client_;
  std::string epoch_;
};

}  // namespace

Result<std::shared_ptr<RankGroup>> MakeRedisRank(RedisRankOptions options) {
  return RedisRank::Make(std::move(options));
}

}  // namespace v0
}  // namespace tuneonce
