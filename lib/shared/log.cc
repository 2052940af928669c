#include "shared/log.h"

#include <cstdio>

#include "base/callback.h"
#include "base/printable.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Warnings that differ each time are no reason to grow.
constexpr std::size_t kMostRemembered = 10000;

/// What stands before a line on stderr.
const char* Prefix(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "tuneonce [info]: ";
    case LogLevel::kDebug:
      return "tuneonce [debug]: ";
    default:
      return "tuneonce: ";
  }
}

/// True on a thread on which the host's function of some log runs.
thread_local bool is_telling_host = false;

}  // namespace

void Log::Say(LogLevel level, const std::string& line) {
  if (!Says(level)) return;
  const std::string printable = Printable(line);
  if (host_) {
    if (is_telling_host) return;
    CallbackScope scope;
    is_telling_host = true;
    try {
      host_(level, printable);
    } catch (...) {  // A log must not fail what it tells of.
    }
    is_telling_host = false;
    return;
  }
  const std::string whole = Prefix(level) + printable + "\n";  // One write: lines of threads stay whole.
  MutexLock lock(mutex_);
  bool is_known = level == LogLevel::kWarn && (warned_.size() >= kMostRemembered ? warned_.count(printable) > 0
                                                                                 : !warned_.insert(printable).second);
  if (!is_known) std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace v0
}  // namespace tuneonce
