#include "shared/warning_log.h"

#include <cstdio>

#include "base/callback.h"
#include "base/printable.h"

namespace tuneonce {
inline namespace v0 {

void WarningLog::Say(const std::string& line) {
  if (host_) {
    CallbackScope scope;
    try {
      host_(line);
    } catch (...) {  // A log must not fail what it tells of.
    }
    return;
  }
  MutexLock lock(mutex_);
  if (said_.insert(line).second) std::fprintf(stderr, "tuneonce: %s\n", Printable(line).c_str());
}

}  // namespace v0
}  // namespace tuneonce
