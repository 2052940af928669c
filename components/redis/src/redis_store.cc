#include "tuneonce/redis_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "fleet_artifacts.h"
#include "fleet_leases.h"
#include "fleet_records.h"
#include "fleet_server.h"

namespace tuneonce {
inline namespace v0 {

struct RedisStore::Impl {
  Impl(std::shared_ptr<FleetServer> made, const RecordStore& store)
      : server(std::move(made)), records(*server, store), artifacts(*server, store) {}

  const std::shared_ptr<FleetServer> server;
  FleetRecords records;
  FleetArtifacts artifacts;
  const std::shared_ptr<FleetLeases> leases = std::make_shared<FleetLeases>(server);
  // Its leases are among this process's threads that compile.
  const std::shared_ptr<RecordStore> locks = MakeMemoryStore();
};

RedisStore::RedisStore(std::shared_ptr<FleetServer> server) : impl_(std::make_unique<Impl>(std::move(server), *this)) {}
RedisStore::~RedisStore() = default;

Result<std::shared_ptr<RedisStore>> RedisStore::Open(RedisStoreOptions options) {
  if (options.keep_days < 1) return InvalidArgumentError("RedisStoreOptions::keep_days must be at least 1");
  constexpr int kLeastLeaseMs = 100;
  if (options.lease_ms < kLeastLeaseMs) {
    return InvalidArgumentError(absl::StrCat("RedisStoreOptions::lease_ms must be at least ", kLeastLeaseMs));
  }
  TUNEONCE_ASSIGN_OR_RETURN(Signatures signatures, Signatures::Create(options.keys));
  TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<RedisClient> client, RedisClient::Create(options.redis));
  auto server = std::make_shared<FleetServer>(std::move(options), std::move(client), std::move(signatures));
  return std::shared_ptr<RedisStore>(new RedisStore(std::move(server)));
}

std::string RedisStore::place() const { return impl_->server->place(); }

Result<RecordLookup> RedisStore::Lookup(const TuningKey& key) const { return impl_->records.Lookup(key); }

Status RedisStore::Put(const TuningRecord& record) {
  return impl_->records.Put(record, impl_->leases->TokenOf(record.key));
}

Result<std::vector<TuningRecord>> RedisStore::List() const { return impl_->records.List(nullptr); }

Status RedisStore::Remove(const TuningKey& key) { return impl_->records.Remove(key); }

Result<TuningLease> RedisStore::Lease(const TuningKey& key, const WaitLimits& limits) {
  return impl_->leases->Acquire(key, limits);
}

Result<std::optional<Artifact>> RedisStore::GetArtifact(const Fingerprint& key) const {
  return impl_->artifacts.Get(key);
}

Status RedisStore::PutArtifact(const Fingerprint& key, const Artifact& artifact) {
  return impl_->artifacts.Put(key, artifact);
}

Result<TuningLease> RedisStore::LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) {
  return impl_->locks->LeaseArtifact(key, limits);
}

Result<std::vector<Fingerprint>> RedisStore::ArtifactKeys() const { return impl_->artifacts.Keys(); }

Result<StoreReport> RedisStore::Verify() const {
  StoreReport report;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<TuningRecord> records, impl_->records.List(&report.problems));
  report.num_records = static_cast<std::int64_t>(records.size() + report.problems.size());
  report.are_records_whole = report.problems.empty();
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Fingerprint> keys, impl_->artifacts.Keys());
  for (const Fingerprint& key : keys) {
    ++report.num_artifacts;
    Result<std::optional<Artifact>> artifact = impl_->artifacts.Read(key);
    if (artifact.status().code() == StatusCode::kInvalidArgument) {
      report.problems.push_back(absl::StrCat("artifact ", key.ToString(), ": ", artifact.status().message()));
      continue;
    }
    TUNEONCE_RETURN_IF_ERROR(artifact.status());
    if (!*artifact)
      report.problems.push_back(absl::StrCat("artifact ", key.ToString(), ": its bytes have expired or were deleted"));
    if (*artifact) report.artifact_bytes += static_cast<std::int64_t>((*artifact)->image.size());
  }
  return report;
}

}  // namespace v0
}  // namespace tuneonce
