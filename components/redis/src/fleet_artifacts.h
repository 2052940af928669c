#ifndef TUNEONCE_COMPONENTS_REDIS_FLEET_ARTIFACTS_H_
#define TUNEONCE_COMPONENTS_REDIS_FLEET_ARTIFACTS_H_

#include <optional>
#include <string>
#include <vector>

#include "fleet_server.h"

namespace tuneonce {
inline namespace v0 {

/// A RedisStore's artifacts: their bytes by their SHA-256, and under each artifact's key, signed, which bytes are its
/// own. Thread rule: any thread.
class FleetArtifacts {
 public:
  /// REQUIRES: `server`, and `store`, whose callback receives refusals, outlive it.
  FleetArtifacts(FleetServer& server, const RecordStore& store) : server_(server), store_(store) {}

  Result<std::optional<Artifact>> Get(const Fingerprint& key);
  Status Put(const Fingerprint& key, const Artifact& artifact);
  Result<std::vector<Fingerprint>> Keys() const;
  /// Reads an artifact like Get, but returns InvalidArgument for refused data.
  Result<std::optional<Artifact>> Read(const Fingerprint& key);

 private:
  Result<RedisReply> GetAndKeep(const std::string& key, FleetServer::Clock::time_point deadline);

  FleetServer& server_;
  const RecordStore& store_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_FLEET_ARTIFACTS_H_
