#ifndef TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_
#define TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "compile/compile_pool.h"
#include "tuneonce/compile_options.h"
#include "tuneonce/progress.h"
#include "tuneonce/runtime.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// Compiles what several searches are going to need, in their order, into the caches in which they will look for it. A
/// search that needs an artifact which is just being compiled waits for that one (CompileCached). Its destructor stops
/// what still runs. Thread rule: one thread.
class CompileAhead {
 public:
  /// What one key needs of a Runtime's compilers: its stand-in's code first, then the candidates'. All keys' stand-ins
  /// come before all candidates.
  void Add(const std::shared_ptr<Runtime>& runtime, std::vector<CompileJob> jobs);
  /// Begins with what was added since the last Start, with these options for all.
  void Start(const Target& target, const CompileOptions& options);
  /// Returns when all is compiled, or the options end it. `on_progress` may be null.
  void Wait(const ProgressCallback& on_progress);

 private:
  struct Jobs {
    std::vector<CompileJob> stand_ins;
    std::vector<CompileJob> candidates;
  };
  std::map<std::shared_ptr<Runtime>, Jobs> jobs_;
  std::list<CompilePool> pools_;
  int num_jobs_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_COMPILE_AHEAD_H_
