#ifndef TUNEONCE_COMPONENTS_REDIS_FLEET_SERVER_H_
#define TUNEONCE_COMPONENTS_REDIS_FLEET_SERVER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "outage.h"
#include "redis_client.h"
#include "signatures.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/redis_store.h"

namespace tuneonce {
inline namespace v0 {

/// What the parts of a RedisStore share: the server, which is not called during an outage, and the signatures. Thread
/// rule: any thread.
class FleetServer {
 public:
  using Clock = RedisClient::Clock;

  FleetServer(RedisStoreOptions options, std::unique_ptr<RedisClient> client, Signatures signatures)
      : options_(std::move(options)),
        client_(std::move(client)),
        signatures_(std::move(signatures)),
        outage_(options_.first_retry_ms) {}

  Clock::time_point Deadline() const { return client_->Deadline(); }
  Result<RedisReply> Run(const char* script, const std::vector<std::string>& keys,
                         const std::vector<std::string>& arguments, Clock::time_point deadline) {
    return Ask([&] { return client_->Run(script, keys, arguments, deadline); });
  }
  Result<RedisReply> Call(const RedisCommand& command, Clock::time_point deadline) {
    return Ask([&] { return client_->Call(command, deadline); });
  }

  /// Returns the name with which a value is signed: its key, including the store's own name.
  std::string NameOf(const std::string& key) const { return client_->KeyOf(key); }
  std::string Sign(const std::string& key, std::string_view body) const { return signatures_.Sign(NameOf(key), body); }
  Result<std::string> Open(const std::string& key, std::string_view bytes) const {
    return signatures_.Open(NameOf(key), bytes);
  }
  /// Reports refused data once. Exceptions from the callback are dropped.
  void Refused(const RecordStore& store, const std::string& words) const {
    if (!options_.on_refused || !store.IsNews(words)) return;
    (void)CallForeign("RedisStoreOptions::on_refused", StatusCode::kInternal, [&] {
      options_.on_refused(words);
      return Status();
    });
  }

  const RedisStoreOptions& options() const { return options_; }
  std::string place() const { return options_.redis.ToString(); }
  std::string KeepMs() const { return std::to_string(std::int64_t{options_.keep_days} * 24 * 3600 * 1000); }
  Status CheckWritable() const {
    if (!options_.read_only) return Status();
    return FailedPreconditionError("the store " + place() + " was opened read-only");
  }

 private:
  template <typename Question>
  Result<RedisReply> Ask(const Question& question) {
    TUNEONCE_RETURN_IF_ERROR(client_->CheckOwner());  // Before a lock that another thread may have held at the fork.
    // The text is the same each time, so that its warning is logged once.
    if (!outage_.MayAsk()) {
      return UnavailableError("the store " + place() +
                              " does not answer: tuning continues without the store, which is tried again later");
    }
    Result<RedisReply> reply = question();
    if (reply.status().code() == StatusCode::kUnavailable) {
      outage_.Failed();
    } else {
      outage_.Answered();
    }
    return reply;
  }

  const RedisStoreOptions options_;
  const std::unique_ptr<RedisClient> client_;
  const Signatures signatures_;
  Outage outage_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_FLEET_SERVER_H_
