#ifndef TUNEONCE_LIB_SHARED_SHAPE_LOG_H_
#define TUNEONCE_LIB_SHARED_SHAPE_LOG_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// One line of a file of shapes, as a process records them and `tuneonce tune --shapes` reads them:
///   matmul M=64 N=4096 x=float16 eps=1e-05  # 120 launches
/// A dim's extent, a scalar's number or a tensor's dtype each, by name; the kernel, and what is behind '#', may be
/// missing. Blanks or commas are between; in names these,
/// and %, = and #, are written %20 and so on. A value.
struct ShapeLine {
  std::string kernel;                                       ///< Empty: not said.
  std::vector<std::pair<std::string, std::string>> values;  ///< In the line's order, each name once.
  std::int64_t launches = 0;                                ///< 0: not said.

  bool is_empty() const { return kernel.empty() && values.empty(); }
};

/// `line` without its end. Empty for a blank line or a comment. Errors: InvalidArgument, for what is no such line.
Result<ShapeLine> ParseShapeLine(std::string_view line);

/// The line without its count, of which two are equal if they say the same in the same order.
std::string ShapeText(const ShapeLine& shape);
/// ShapeText, with the count.
std::string ShapeLineText(const std::string& shape_text, std::int64_t launches);

/// What the first line of a recorded file is.
inline constexpr char kShapesHeader[] = "# tuneonce shapes 1: tuneonce tune --shapes FILE";

/// Counts which shapes a Runtime's kernels launch, in the file that TUNEONCE_RECORD_SHAPES names. New counts are added
/// to the file's counts under a lock (FILE.lock) and by a rename, so that many processes may use one file. The file is
/// written soon after a new shape, every ten seconds while something is launched, and by Flush, so a killed process
/// loses at most what it had not added. Any other file stays unchanged, with a warning. Thread-safe.
class ShapeLog {
 public:
  /// Shapes of a process, and of the file, at most; launches of others are counted together.
  static constexpr std::size_t kMostShapes = 10000;

  using Warn = std::function<void(const std::string& line)>;
  ShapeLog(const std::string& path, Warn warn);
  ~ShapeLog() { Flush(); }
  ShapeLog(const ShapeLog&) = delete;
  ShapeLog& operator=(const ShapeLog&) = delete;

  /// A shape's counter, which lives as long as the log.
  using Counter = std::atomic<std::int64_t>;
  /// The counter of a line as ShapeText makes them; that of all others, where there are too many.
  Counter& CounterOf(const std::string& shape_text);
  /// The counter of all other shapes, for a shape that no line can express: `why` is the warning of the log's first.
  Counter& CounterOfOthers(const std::string& why);
  /// One launch more. Writes where it is time to.
  void Count(Counter& counter);
  /// Writes what is not written yet. Waits at most 10 s for other processes' writes, then gives a warning.
  void Flush();

 private:
  using Clock = std::chrono::steady_clock;

  /// Waits at most `max_wait` for other processes' writes. Errors: DeadlineExceeded after it.
  Status Write(std::chrono::milliseconds max_wait) TUNEONCE_REQUIRES(mutex_);
  /// `is_last`: no later write can make up for this one, so it waits longer, and a lock that stays taken is a warning.
  void WriteAndWarn(bool is_last) TUNEONCE_REQUIRES(mutex_);
  /// Resets the counts in a forked process, because its parent writes them.
  void ForgetParents() TUNEONCE_REQUIRES(mutex_);

  const std::string path_;
  const Warn warn_;
  std::atomic<pid_t> process_;
  std::atomic<Clock::rep> due_{0};  // When the next launch writes.
  Mutex mutex_;
  std::map<std::string, Counter> shapes_ TUNEONCE_GUARDED_BY(mutex_);  // Addresses stay. Not written yet.
  Counter others_{0};
  bool has_warned_of_others_ TUNEONCE_GUARDED_BY(mutex_) = false;
  Clock::time_point may_write_ TUNEONCE_GUARDED_BY(mutex_);  // Not before, so that writing takes little of the time.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SHARED_SHAPE_LOG_H_
