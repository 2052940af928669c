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

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Most bytes of a line: names, of which there are kMaxParameters and dims, have no such length.
constexpr std::size_t kMostLineBytes = std::size_t{64} << 10;

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte > ' ' && byte != 0x7f && c != '%' && c != '=' && c != '#' && c != ',' && c != ':';
    if (is_plain) {
      escaped += c;
    } else {
      absl::StrAppend(&escaped, "%", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return escaped;
}

/// False for a '%' without two hexadecimal digits.
bool Unescape(std::string_view text, std::string* unescaped) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      *unescaped += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    if (digits.size() != 2 || !absl::ascii_isxdigit(static_cast<unsigned char>(digits[0])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(digits[1]))) {
      return false;
    }
    *unescaped += absl::HexStringToBytes(absl::string_view(digits.data(), digits.size()));
    i += 2;
  }
  return true;
}

/// Of "120 launches", as a recorded line's comment begins; 0 for any other.
std::int64_t LaunchesIn(absl::string_view comment) {
  std::int64_t launches = 0;
  const std::vector<absl::string_view> words = absl::StrSplit(comment, ' ', absl::SkipEmpty());
  const bool is_count = words.size() == 2 && words[1] == "launches" && absl::SimpleAtoi(words[0], &launches);
  return is_count ? std::max<std::int64_t>(0, launches) : 0;
}

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

Result<ShapeLine> ParseShapeLine(std::string_view line) {
  if (line.size() > kMostLineBytes)
    return InvalidArgumentError(
        absl::StrCat("the line has ", line.size(), " bytes, but a shape has at most ", kMostLineBytes));
  ShapeLine shape;
  absl::string_view text(line.data(), line.size());
  if (std::size_t comment = text.find('#'); comment != absl::string_view::npos) {
    shape.launches = LaunchesIn(text.substr(comment + 1));
    text = text.substr(0, comment);
  }
  bool is_first = true;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t\r,"), absl::SkipEmpty())) {
    const std::size_t equals = word.find('=');
    absl::string_view left = word.substr(0, equals);
    if (equals == absl::string_view::npos && is_first) absl::ConsumeSuffix(&left, ":");
    std::string name;
    std::string value;
    if (!Unescape({left.data(), left.size()}, &name)) {
      return InvalidArgumentError(absl::StrCat("'", word, "': % must be followed by two hexadecimal digits"));
    }
    if (equals == absl::string_view::npos && is_first) {
      shape.kernel = std::move(name);
    } else if (equals == absl::string_view::npos || equals == 0 || equals + 1 == word.size()) {
      return InvalidArgumentError(absl::StrCat("'", word, "' is not of the form NAME=VALUE"));
    } else {
      value = std::string(word.substr(equals + 1));
      for (const auto& [other, unused] : shape.values) {
        if (other == name) return InvalidArgumentError(absl::StrCat("'", name, "' is given twice"));
      }
      shape.values.emplace_back(std::move(name), std::move(value));
    }
    is_first = false;
  }
  return shape;
}

std::string ShapeText(const ShapeLine& shape) {
  std::string text = Escaped(shape.kernel);
  for (const auto& [name, value] : shape.values) {
    absl::StrAppend(&text, text.empty() ? "" : " ", Escaped(name), "=", Escaped(value));
  }
  return text;
}

std::string ShapeLineText(const std::string& shape_text, std::int64_t launches) {
  return absl::StrCat(shape_text, "  # ", launches, " launches");
}

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

ShapeLog::Counter& ShapeLog::CounterOfOthers(const std::string& why) {
  MutexLock lock(mutex_);
  if (!std::exchange(has_warned_of_others_, true)) {
    warn_("cannot record the shape (TUNEONCE_RECORD_SHAPES) of " + why + "; such launches are counted together");
  }
  return others_;
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
