#ifndef TUNEONCE_BINDINGS_CLI_ANY_STORE_H_
#define TUNEONCE_BINDINGS_CLI_ANY_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/forwarding_store.h"
#include "tuneonce/record_store.h"

namespace tuneonce::cli {

/// A store that a command names: a file, or a fleet's by its address. Thread rule: as the store.
class AnyStore final : public ForwardingStore {
 public:
  /// `Store`: SqliteStore, RedisStore.
  template <typename Store>
  AnyStore(std::string path, const std::shared_ptr<Store>& store)
      : ForwardingStore(store),
        path_(std::move(path)),
        verify_([store] { return store->Verify(); }),
        artifact_keys_([store] { return store->ArtifactKeys(); }) {}

  /// The file's path, or the address without a password.
  const std::string& path() const { return path_; }
  Result<StoreReport> Verify() const { return verify_(); }
  Result<std::vector<Fingerprint>> ArtifactKeys() const { return artifact_keys_(); }

 private:
  const std::string path_;
  const std::function<Result<StoreReport>()> verify_;
  const std::function<Result<std::vector<Fingerprint>>()> artifact_keys_;
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_ANY_STORE_H_
