#ifndef TUNEONCE_BINDINGS_CLI_ANY_STORE_H_
#define TUNEONCE_BINDINGS_CLI_ANY_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/record_store.h"

namespace tuneonce::cli {

/// A store that a command names: a file, or a fleet's by its address. Thread rule: as the store.
class AnyStore final : public RecordStore {
 public:
  /// `Store`: SqliteStore, RedisStore.
  template <typename Store>
  AnyStore(std::string path, const std::shared_ptr<Store>& store)
      : path_(std::move(path)),
        store_(store),
        verify_([store] { return store->Verify(); }),
        artifact_keys_([store] { return store->ArtifactKeys(); }) {}

  /// The file's path, or the address without a password.
  const std::string& path() const { return path_; }
  Result<StoreReport> Verify() const { return verify_(); }
  Result<std::vector<Fingerprint>> ArtifactKeys() const { return artifact_keys_(); }

  Result<RecordLookup> Lookup(const TuningKey& key) const override { return store_->Lookup(key); }
  Status Put(const TuningRecord& record) override { return store_->Put(record); }
  Result<std::vector<TuningRecord>> List() const override { return store_->List(); }
  Status Remove(const TuningKey& key) override { return store_->Remove(key); }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits& limits) override {
    return store_->Lease(key, limits);
  }
  /// Never null.
  ArtifactCache* artifacts() override { return store_->artifacts(); }

 private:
  const std::string path_;
  const std::shared_ptr<RecordStore> store_;
  const std::function<Result<StoreReport>()> verify_;
  const std::function<Result<std::vector<Fingerprint>>()> artifact_keys_;
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_ANY_STORE_H_
