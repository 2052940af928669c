#ifndef TUNEONCE_TOOLS_TUNING_BACKGROUND_COMPILE_H_
#define TUNEONCE_TOOLS_TUNING_BACKGROUND_COMPILE_H_

#include <memory>

#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/wait_limits.h"
#include "tuneonce/result.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// One compile that starts in the constructor. It takes one of the Runtime's compile slots (RuntimeOptions::
/// compile_workers), as a search's compiles do, and keeps the code in the Runtime's store in memory. The destructor
/// stops a running compile. Thread rule: one thread at a time.
class BackgroundCompile {
 public:
  /// `stop` ends the compile. It is asked on the thread that waits.
  BackgroundCompile(std::shared_ptr<Runtime> runtime, KernelSource source, const Target& target,
                    StopToken stop);
  ~BackgroundCompile();
  BackgroundCompile(const BackgroundCompile&) = delete;
  BackgroundCompile& operator=(const BackgroundCompile&) = delete;

  /// Waits for its end, and returns the code. Later calls return the same. Errors: as Toolchain::Compile.
  const Result<Artifact>& Wait();
  /// Returns whether the code was in the store. REQUIRES: Wait returned.
  bool is_from_cache() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_TUNING_BACKGROUND_COMPILE_H_
