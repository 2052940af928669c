#include "shared/shape_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "shared/shape_line.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kInterval(10);
/// A write is followed by so many times its own time without one.
constexpr int kQuietTimes = 20;
/// How long a launch waits at most for other processes' writes. What it could not write is written later.
constexpr std::chrono::milliseconds kLongestWait(250);
/// How long a flush waits at most. After it, at a process's end, nothing is written any more.
constexpr std::chrono::milliseconds kLongestFlushWait(10000);
constexpr std::chrono::milliseconds kPoll(1);
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr char kOthers[] = "# launches of other shapes: ";

Result<FileDescriptor> LockFile(const std::string& path, std::chrono::milliseconds max_wait) {
  const std::string name = path + ".lock";
  FileDescriptor file(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open()) return UnavailableError(absl::StrCat("cannot open ", name, ": ", std::strerror(errno)));
  const Clock::time_point end = Clock::now() + max_wait;
  for (;;) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fcntl(file.get(), F_OFD_SETLK, &whole) == 0) return file;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return UnavailableError(absl::StrCat("cannot lock ", name, ": ", std::strerror(errno)));
    }
    if (Clock::now() >= end) return DeadlineExceededError(name + " is locked by another process");
    std::this_thread::sleep_for(kPoll);
  }
}

/// A file's shapes, in their order.
struct Recorded {
  std::vector<std::pair<std::string, std::int64_t>> shapes;
  std::map<std::string, std::size_t> place_of;
  std::int64_t others = 0;

  void Add(const std::string& text, std::int64_t launches) {
    if (auto it = place_of.find(text); it != place_of.end()) {
      shapes[it->second].second += launches;
    } else if (shapes.size() < ShapeLog::kMostShapes) {
      place_of.emplace(text, shapes.size());
      shapes.emplace_back(text, launches);
    } else {
      others += launches;
    }
  }

  std::string Text() const {
    std::string text = absl::StrCat(kShapesHeader, "\n");
    for (const auto& [shape, launches] : shapes) absl::StrAppend(&text, ShapeLineText(shape, launches), "\n");
    if (others > 0) absl::StrAppend(&text, kOthers, others, "\n");
    return text;
  }
};

Result<Recorded> Read(const std::string& path) {
  Recorded recorded;
  Result<std::string> content = ReadFile(path, kMostBytes);
  if (content.status().code() == StatusCode::kNotFound) return recorded;
  TUNEONCE_RETURN_IF_ERROR(content.status());
  if (content->empty()) return recorded;
  std::vector<absl::string_view> lines = absl::StrSplit(*content, '\n');
  if (lines.front() != kShapesHeader) {
    return InvalidArgumentError(path + " is not a file of recorded shapes, and was not changed: use another file");
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    absl::string_view line = lines[i];
    if (absl::ConsumePrefix(&line, kOthers)) {
      std::int64_t launches = 0;
      if (absl::SimpleAtoi(line, &launches)) recorded.others += std::max<std::int64_t>(0, launches);
      continue;
    }
    Result<ShapeLine> shape = ParseShapeLine(std::string_view(line.data(), line.size()));
    if (!shape.ok()) {
      return InvalidArgumentError(absl::StrCat(path, ", line ", i + 1, ": ", shape.status().message(),
                                               "; the file was not changed: correct the line, or use another file"));
    }
    if (!shape->is_empty()) recorded.Add(ShapeText(*shape), shape->launches);
  }
  return recorded;
}

}  // namespace

ShapeLog::ShapeLog(const std::string& path, Warn warn)
    : path_(AbsolutePath(path)), warn_(std::move(warn)), process_(getpid()) {
  due_ = (Clock::now() + kInterval).time_since_epoch().count();
}

ShapeLog::Counter& ShapeLog::CounterOf(const std::string& shape_text) {
  MutexLock lock(mutex_);
  if (auto it = shapes_.find(shape_text); it != shapes_.end()) return it->second;
  if (shapes_.size() >= kMostShapes) return others_;
  due_ = std::min(due_.load(), may_write_.time_since_epoch().count());  // With its first launch.
  return shapes_.try_emplace(shape_text, 0).first->second;
}

void ShapeLog::Count(Counter& counter) {
  if (process_.load(std::memory_order_relaxed) != getpid()) {
    MutexLock lock(mutex_);
    ForgetParents();
  }
  counter.fetch_add(1, std::memory_order_relaxed);
  Clock::rep due = due_.load(std::memory_order_relaxed);
  const Clock::time_point now = Clock::now();
  if (now.time_since_epoch().count() < due) return;
  // One thread writes; the others go on.
  if (!due_.compare_exchange_strong(due, (now + kInterval).time_since_epoch().count())) return;
  MutexLock lock(mutex_);
  WriteAndWarn(/*is_last=*/false);
}

void ShapeLog::ForgetParents() {
  if (process_ == getpid()) return;
  for (auto& [text, counter] : shapes_) counter = 0;
  others_ = 0;
  process_ = getpid();
}

void ShapeLog::Flush() {
  MutexLock lock(mutex_);
  ForgetParents();
  WriteAndWarn(/*is_last=*/true);
}

void ShapeLog::WriteAndWarn(bool is_last) {
  const Clock::time_point begin = Clock::now();
  Status written = Write(is_last ? kLongestFlushWait : kLongestWait);
  const Clock::time_point end = Clock::now();
  may_write_ = end + kQuietTimes * (end - begin);
  due_ = std::max(may_write_, end + kInterval).time_since_epoch().count();
  // A lock that is held now may be free at the next launch's write.
  if (!written.ok() && (is_last || written.code() != StatusCode::kDeadlineExceeded)) {
    warn_("cannot record launched shapes (TUNEONCE_RECORD_SHAPES): " + written.message());
  }
}

Status ShapeLog::Write(std::chrono::milliseconds max_wait) {
  std::vector<std::pair<Counter*, std::int64_t>> taken;
  for (auto& [text, counter] : shapes_) {
    if (std::int64_t launches = counter.load(); launches > 0) taken.emplace_back(&counter, launches);
  }
  const std::int64_t others = others_.load();
  if (taken.empty() && others == 0) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(FileDescriptor locked, LockFile(path_, max_wait));
  TUNEONCE_ASSIGN_OR_RETURN(Recorded recorded, Read(path_));
  std::size_t next = 0;
  for (auto& [text, counter] : shapes_) {
    if (next < taken.size() && taken[next].first == &counter) recorded.Add(text, taken[next++].second);
  }
  recorded.others += others;
  const std::string real = RealPath(path_);  // The target of a link.
  TUNEONCE_RETURN_IF_ERROR(WriteFile(real.empty() ? path_ : real, recorded.Text()));
  for (auto& [counter, launches] : taken) *counter -= launches;
  others_ -= others;
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
