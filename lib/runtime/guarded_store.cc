#include "runtime/guarded_store.h"

#include "base/callback.h"
#include "base/span.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {
namespace {

template <typename Function>
auto CallCache(Trace* trace, const char* what, const char* function_name, const Function& function) {
  Span span(trace, "store", what);
  return CallForeign(std::string("the artifact cache's ") + function_name, StatusCode::kInternal, function);
}

template <typename Function>
auto CallStore(Trace* trace, const char* what, const char* function_name, const Function& function) {
  Span span(trace, "store", what);
  return CallForeign(std::string("the record store's ") + function_name, StatusCode::kInternal, function);
}

}  // namespace

Result<std::optional<Artifact>> GuardedArtifactCache::Get(const Fingerprint& key) {
  return CallCache(trace_, "read code", "Get", [&] { return cache_.Get(key); });
}
Status GuardedArtifactCache::Put(const Fingerprint& key, const Artifact& artifact) {
  return CallCache(trace_, "write code", "Put", [&] { return cache_.Put(key, artifact); });
}
Result<ArtifactLease> GuardedArtifactCache::Lease(const Fingerprint& key, const WaitLimits& limits) {
  Result<ArtifactLease> lease =
      CallCache(trace_, "wait for another compile of the same", "Lease", [&] { return cache_.Lease(key, limits); });
  // A compile continues without a lease that failed.
  bool is_broken = lease.status().code() == StatusCode::kInternal;
  return is_broken ? Result<ArtifactLease>(UnavailableError(lease.status().message())) : lease;
}

GuardedStore::GuardedStore(std::shared_ptr<RecordStore> store, Trace* trace) : store_(std::move(store)), trace_(trace) {
  Result<ArtifactCache*> artifacts =
      CallStore(trace_, "ask for artifacts", "artifacts", [&] { return store_->artifacts(); });
  if (artifacts.ok() && *artifacts != nullptr) artifacts_.emplace(**artifacts, trace_);
}

Result<RecordLookup> GuardedStore::Lookup(const TuningKey& key) const {
  return CallStore(trace_, "look up a record", "Lookup", [&] { return store_->Lookup(key); });
}
Status GuardedStore::Put(const TuningRecord& record) {
  return CallStore(trace_, "write a record", "Put", [&] { return store_->Put(record); });
}
Result<std::vector<TuningRecord>> GuardedStore::List() const {
  return CallStore(trace_, "list records", "List", [&] { return store_->List(); });
}
Status GuardedStore::Remove(const TuningKey& key) {
  return CallStore(trace_, "remove a record", "Remove", [&] { return store_->Remove(key); });
}
Result<TuningLease> GuardedStore::Lease(const TuningKey& key, const WaitLimits& limits) {
  return CallStore(trace_, "lease a key", "Lease", [&] { return store_->Lease(key, limits); });
}

}  // namespace v0
}  // namespace tuneonce
