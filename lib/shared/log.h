#ifndef TUNEONCE_LIB_SHARED_LOG_H_
#define TUNEONCE_LIB_SHARED_LOG_H_

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

/// Where a Runtime says what it does: to the host's function, or to stderr, each warning once. A line is one line of
/// printable text, whatever it was made of. Thread-safe; no lock is held while the host's function runs.
class Log {
 public:
  using Host = std::function<void(LogLevel level, const std::string& line)>;
  /// `most`: what is beyond it is not said. `host` empty: stderr.
  Log(LogLevel most, Host host) : most_(most), host_(std::move(host)) {}

  bool Says(LogLevel level) const { return level <= most_; }
  /// Logs a line. A line from the host's own log function is dropped, because that function would be called
  /// recursively.
  void Say(LogLevel level, const std::string& line);

 private:
  const LogLevel most_;
  const Host host_;
  Mutex mutex_;
  std::set<std::string> warned_ TUNEONCE_GUARDED_BY(mutex_);
};

/// Says what `words` returns; it is not called where nobody would read it.
template <typename Words>
void SayAt(const Runtime& runtime, LogLevel level, const Words& words) {
  if (runtime.Logs(level)) runtime.Log(level, words());
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SHARED_LOG_H_
