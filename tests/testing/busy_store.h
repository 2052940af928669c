#ifndef TUNEONCE_TESTS_TESTING_BUSY_STORE_H_
#define TUNEONCE_TESTS_TESTING_BUSY_STORE_H_

#include <atomic>
#include <string>

#include "store/forwarding_store.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce::testing {

/// A store in memory, some of whose keys another process tunes.
class BusyStore final : public ForwardingStore {
 public:
  BusyStore() : ForwardingStore(MakeMemoryStore()) {}
  Status Put(const TuningRecord& record) override {
    return is_full ? ResourceExhaustedError("the disk is full") : store_->Put(record);
  }
  Result<TuningLease> Lease(const TuningKey& key, const WaitLimits&) override {
    bool is_meant = theirs.empty() || key.key_text.find(theirs) != std::string::npos;
    if (is_theirs && is_meant) return DeadlineExceededError("theirs");
    return TuningLease();
  }

  std::string theirs;  ///< Keys with this in their text; empty: all.
  std::atomic<bool> is_theirs{true};
  std::atomic<bool> is_full{false};
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_BUSY_STORE_H_
