#ifndef TUNEONCE_LIB_RUNTIME_LAUNCHED_SHAPES_H_
#define TUNEONCE_LIB_RUNTIME_LAUNCHED_SHAPES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "launch/call_binder.h"
#include "shared/shape_log.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Counts a kernel's launches by key in its Runtime's ShapeLog, where the first launched shape stands for a key. Does
/// nothing without a log. REQUIRES: the constructor's arguments outlive it. Thread-safe.
class LaunchedShapes {
 public:
  /// `log` may be null.
  LaunchedShapes(const KernelDefinition& definition, const CallBinder& binder, ShapeLog* log)
      : definition_(definition), binder_(binder), log_(log) {}
  ~LaunchedShapes() {
    if (log_ != nullptr) log_->Flush();
  }

  bool is_on() const { return log_ != nullptr; }
  /// Counts one launch. Launches within a search are not counted.
  void Count(const BoundCall& call);

 private:
  /// The line of a launch. Errors: Unimplemented if a scalar has a value that no text gives.
  Result<std::string> TextOf(const BoundCall& call) const;

  const KernelDefinition& definition_;
  const CallBinder& binder_;
  ShapeLog* const log_;
  Mutex mutex_;
  std::map<std::vector<std::uint64_t>, ShapeLog::Counter*> by_key_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_LAUNCHED_SHAPES_H_
