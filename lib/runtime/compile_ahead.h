#ifndef TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_
#define TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "shared/compile_pool.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// What is to be compiled for one key.
struct KeyJobs {
  std::optional<CompileJob> fallback;  ///< The code of the fallback config. Empty: it needs no compiling.
  std::vector<CompileJob> candidates;
};

/// Compiles what several searches will need into the caches in which they will look. A search that needs an artifact
/// which is being compiled waits for it (CompileCached). The destructor stops running compiles. Thread rule: one
/// thread.
class CompileAhead {
 public:
  /// Adds the jobs of one key for a Runtime's compilers. Returns the key's number.
  std::size_t Add(const std::shared_ptr<Runtime>& runtime, KeyJobs jobs);
  /// Starts the jobs that were added since the last Start, with these options for all of them: first those of fallback
  /// configs, then those of candidates, each in the order of Add. Sources that are long next to what each worker has to
  /// do come before others, because they tend to take long and would be waited for at the end. With
  /// CompileOptions::total_timeout they do not, so that the first keys get all.
  void Start(const Target& target, const CompileOptions& options);
  /// Waits until everything is compiled or the options end it. `on_progress` may be null.
  void Wait(const ProgressCallback& on_progress);
  /// Waits until one more job has ended, and notes it. Returns false if none was left.
  bool WaitForOne();
  /// Notes which jobs have ended, for IsFallbackDone and AreCandidatesDone.
  void Update();
  /// Returns whether the key's fallback config was compiled, or could not be, at the last Update or Wait.
  bool IsFallbackDone(std::size_t key) const { return left_[key].fallbacks == 0; }
  /// Returns the same of all of the key's candidates.
  bool AreCandidatesDone(std::size_t key) const { return left_[key].candidates == 0; }

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
    std::size_t num_fallbacks = 0;  // They are its first jobs.
    std::vector<std::size_t> keys;  // By job.
  };
  /// How many jobs of a key have not ended.
  struct Left {
    std::size_t fallbacks = 0;
    std::size_t candidates = 0;
  };

  static void MoveLongToFront(int num_workers, std::vector<Job>* jobs);
  void NoteEnd(const Pool& pool, std::size_t job);

  std::map<std::shared_ptr<Runtime>, Jobs> jobs_;
  std::vector<Pool> pools_;
  std::vector<Left> left_;  // By key.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_
