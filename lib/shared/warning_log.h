#ifndef TUNEONCE_LIB_SHARED_WARNING_LOG_H_
#define TUNEONCE_LIB_SHARED_WARNING_LOG_H_

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace tuneonce {
inline namespace v0 {

/// Where a Runtime's warnings go: to the host's function, or each line once to stderr. Thread-safe.
class WarningLog {
 public:
  /// Empty: stderr.
  explicit WarningLog(std::function<void(const std::string& line)> host) : host_(std::move(host)) {}

  void Say(const std::string& line);

 private:
  const std::function<void(const std::string& line)> host_;
  Mutex mutex_;
  std::set<std::string> said_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SHARED_WARNING_LOG_H_
