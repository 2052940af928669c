#ifndef TUNEONCE_LIB_STORE_LAYERED_STORE_H_
#define TUNEONCE_LIB_STORE_LAYERED_STORE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "store/forwarding_store.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
inline namespace v0 {

/// The user's store over stores that an application ships: see MakeLayeredStore. Writes and leases are forwarded to the
/// user's store. Thread rule: any thread.
class TUNEONCE_API LayeredStore : public ForwardingStore {
 public:
  /// `shipped`: the first lies over the others.
  LayeredStore(std::shared_ptr<RecordStore> user, std::vector<std::shared_ptr<RecordStore>> shipped)
      : ForwardingStore(std::move(user)), shipped_(std::move(shipped)) {}

  Result<RecordLookup> Lookup(const TuningKey& key) const override;
  /// Returns the records of all layers, the user's first.
  Result<std::vector<TuningRecord>> List() const override;
  Result<std::optional<Artifact>> GetArtifact(const Fingerprint& key) const override;

 protected:
  const std::vector<std::shared_ptr<RecordStore>> shipped_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_LAYERED_STORE_H_
