#ifndef TUNEONCE_LIB_COMPILE_COMPILE_LIMITS_H_
#define TUNEONCE_LIB_COMPILE_COMPILE_LIMITS_H_

#include <atomic>

namespace tuneonce {

/// What bounds one compile.
struct CompileLimits {
  /// The tool is killed after this long. Default two minutes: the largest tiles take 8.5 s on an idle core. NVRTC runs
  /// in this process and cannot be stopped.
  int timeout_ms = 120000;
  /// Stops the compile soon after it becomes true. Null: never.
  const std::atomic<bool>* cancelled = nullptr;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_COMPILE_LIMITS_H_
