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
  /// configs, then those of candidates, each in the order of Add. But sources that are more than twice as long as the
  /// mean come before the others, the longest first, because they tend to compile longest and would be waited for at
  /// the end. With CompileOptions::total_timeout they do not, so that the first keys get all.
  void Start(const Target& target, const CompileOptions& options);
  /// Waits until everything is compiled or the options end it. `on_progress` may be null.
  void Wait(const ProgressCallback& on_progress);
  /// Notes which jobs have ended, for AreCandidatesDone.
  void Update();
  /// Returns whether all candidates of the key were compiled, or could not be, at the last Update or Wait.
  bool AreCandidatesDone(std::size_t key) const { return num_candidates_left_[key] == 0; }

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
    std::vector<std::optional<std::size_t>> keys;  // By job. Empty for the code of a fallback config.
    std::size_t num_left = 0;                      // Jobs that were not noted as ended.
  };

  static void MoveLongToFront(std::vector<Job>* jobs);
  void NoteEnd(std::size_t job, Pool* pool);

  std::map<std::shared_ptr<Runtime>, Jobs> jobs_;
  std::vector<Pool> pools_;
  std::vector<std::size_t> num_candidates_left_;  // By key.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_
