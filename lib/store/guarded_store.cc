#include "store/guarded_store.h"

#include <string>

#include "base/callback.h"
#include "base/span.h"

namespace tuneonce {
inline namespace v0 {
namespace {

template <typename Function>
auto Call(Trace* trace, const char* what, const char* function_name, const Function& function) {
  Span span(trace, "store", what);
  return CallForeign(std::string("the record store's ") + function_name, StatusCode::kInternal, function);
}

/// Errors: Internal if RecordStore::Lookup may not return the lookup.
Status CheckLookup(const RecordLookup& lookup) {
  const bool is_known = lookup.match >= RecordMatch::kExact && lookup.match <= RecordMatch::kNotFound &&
                        lookup.instead >= RecordMiss::kNone && lookup.instead <= RecordMiss::kRefused;
  if (!is_known) return InternalError("the record store's Lookup returned a value outside of its enumeration");
  if (lookup.record.has_value() == (lookup.match == RecordMatch::kNotFound)) {
    return InternalError(lookup.record ? "the record store's Lookup returned kNotFound with a record"
                                       : "the record store's Lookup returned a match without a record");
  }
  return lookup.complete == nullptr ? Status() : CheckLookup(*lookup.complete);
}

}  // namespace

Result<RecordLookup> GuardedStore::Lookup(const TuningKey& key) const {
  return Call(trace_, "look up a record", "Lookup", [&]() -> Result<RecordLookup> {
    TUNEONCE_ASSIGN_OR_RETURN(RecordLookup found, store_->Lookup(key));
    TUNEONCE_RETURN_IF_ERROR(CheckLookup(found));
    return found;
  });
}
Status GuardedStore::Put(const TuningRecord& record) {
  return Call(trace_, "write a record", "Put", [&] { return store_->Put(record); });
}
Result<std::vector<TuningRecord>> GuardedStore::List() const {
  return Call(trace_, "list records", "List", [&] { return store_->List(); });
}
Status GuardedStore::Remove(const TuningKey& key) {
  return Call(trace_, "remove a record", "Remove", [&] { return store_->Remove(key); });
}
Result<TuningLease> GuardedStore::Lease(const TuningKey& key, const WaitLimits& limits) {
  return Call(trace_, "lease a key", "Lease", [&] { return store_->Lease(key, limits); });
}

Result<std::optional<Artifact>> GuardedStore::GetArtifact(const Fingerprint& key) const {
  return Call(trace_, "read code", "GetArtifact", [&] { return store_->GetArtifact(key); });
}
Status GuardedStore::PutArtifact(const Fingerprint& key, const Artifact& artifact) {
  return Call(trace_, "write code", "PutArtifact", [&] { return store_->PutArtifact(key, artifact); });
}
Result<TuningLease> GuardedStore::LeaseArtifact(const Fingerprint& key, const WaitLimits& limits) {
  Result<TuningLease> lease = Call(trace_, "wait for another compile of the same", "LeaseArtifact",
                                   [&] { return store_->LeaseArtifact(key, limits); });
  // A compile continues without a lease that failed.
  bool is_broken = lease.status().code() == StatusCode::kInternal;
  return is_broken ? Result<TuningLease>(UnavailableError(lease.status().message())) : lease;
}

}  // namespace v0
}  // namespace tuneonce
