#ifndef TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_
#define TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "shared/compile_pool.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// Compiles what several searches will need, in their order, into the caches in which they will look. A search that
/// needs an artifact which is being compiled waits for it (CompileCached). The destructor stops running compiles.
/// Thread rule: one thread.
class CompileAhead {
 public:
  /// Adds the jobs of one key for a Runtime's compilers: the code of its fallback config first, then its candidates.
  /// The fallback configs of all keys are compiled before all candidates. Returns the key's number.
  std::size_t Add(const std::shared_ptr<Runtime>& runtime, std::vector<CompileJob> jobs);
  /// Starts the jobs that were added since the last Start, with these options for all of them.
  void Start(const Target& target, const CompileOptions& options);
  /// Waits until everything is compiled or the options end it. `on_progress` may be null.
  void Wait(const ProgressCallback& on_progress);
  /// Notes which jobs have ended, for NumLeft.
  void Update();
  /// Returns how many jobs of the key had not ended at the last Update or Wait.
  std::size_t NumLeft(std::size_t key) const { return num_left_[key]; }

 private:
  struct Job {
    std::size_t key = 0;
    CompileJob job;
  };
  struct Jobs {
    std::vector<Job> fallbacks;
    std::vector<Job> candidates;
  };
  struct Pool {
    std::unique_ptr<CompilePool> pool;
    std::vector<std::size_t> keys;  // By job.
  };
  std::map<std::shared_ptr<Runtime>, Jobs> jobs_;
  std::vector<Pool> pools_;
  std::vector<std::size_t> num_left_;  // By key.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_
