#ifndef TUNEONCE_LIB_SHARED_KERNEL_LIST_H_
#define TUNEONCE_LIB_SHARED_KERNEL_LIST_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// The kernels of a Runtime that are alive, for metrics. Thread-safe.
class KernelList {
 public:
  /// Keeps a kernel in the list while it lives.
  class Listed {
   public:
    /// `counters` is called on any thread until the destructor returns.
    Listed(KernelList& list, std::string kernel, std::function<Counters()> counters);
    ~Listed();
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;

   private:
    KernelList& list_;
    std::uint64_t number_ = 0;
    // In a child of fork() the lock of the list may stay locked, and nothing reads the list.
    const pid_t owner_;
  };

  /// Returns the counters of each kernel, in the order in which they were added.
  std::vector<KernelCounters> Read() const;

 private:
  struct Entry {
    std::string kernel;
    std::function<Counters()> counters;
  };

  mutable Mutex mutex_;
  std::map<std::uint64_t, Entry> entries_ TUNEONCE_GUARDED_BY(mutex_);
  std::uint64_t num_added_ TUNEONCE_GUARDED_BY(mutex_) = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SHARED_KERNEL_LIST_H_
