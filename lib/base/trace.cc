#include "base/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/number_text.h"
#include "base/printable.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// First number of a track that is not a thread. The kernel gives no thread such a number.
constexpr std::int64_t kFirstOwnTrack = 1000000000;

double Microseconds(Trace::Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// Quotes a text. Printable returns UTF-8 without control characters, so only quotes and backslashes need escapes.
std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string ValueJson(const std::variant<std::int64_t, double, std::string>& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Quoted(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return absl::StrCat(*number);
  double real = std::get<double>(value);
  return std::isfinite(real) ? ShortestText(real) : "null";
}

std::string ArgumentsJson(const Trace::Arguments& arguments) {
  std::string json;
  for (const auto& [name, value] : arguments) {
    absl::StrAppend(&json, json.empty() ? "" : ",", Quoted(name), ":", ValueJson(value));
  }
  return absl::StrCat("{", json, "}");
}

/// "M" is the format's word for what describes a process or a thread, "X" for an event with begin and duration.
std::string NameJson(const char* what, std::int64_t track, const std::string& name) {
  return absl::StrCat("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", getpid(), ",\"tid\":", track,
                      ",\"args\":{\"name\":", Quoted(name), "}}");
}

}  // namespace

void Trace::Begin(std::size_t max_events) {
  MutexLock lock(mutex_);
  began_ = Clock::now();
  max_events_ = max_events;
  num_dropped_ = 0;
  events_.clear();
  names_.clear();
  tracks_of_things_.clear();
  is_on_ = true;
}

void Trace::Add(Event event) {
  if (!is_on()) return;
  MutexLock lock(mutex_);
  if (!is_on() || event.begin < began_) return;
  if (events_.size() >= max_events_) {
    ++num_dropped_;
    return;
  }
  events_.push_back(std::move(event));
}

std::int64_t Trace::ThreadTrack() {
  static thread_local const auto track = static_cast<std::int64_t>(syscall(SYS_gettid));
  return track;
}

void Trace::NameThread(const std::string& name) {
  if (!is_on()) return;
  MutexLock lock(mutex_);
  names_.emplace(ThreadTrack(), name);
}

std::int64_t Trace::TrackOf(const void* thing, const std::string& name) {
  MutexLock lock(mutex_);
  std::int64_t next = kFirstOwnTrack + static_cast<std::int64_t>(tracks_of_things_.size());
  auto [it, is_new] = tracks_of_things_.emplace(thing, next);
  if (is_new) names_[next] = name;
  return it->second;
}

std::string Trace::End() {
  MutexLock lock(mutex_);
  is_on_ = false;
  std::string json = absl::StrCat("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped_events\":", num_dropped_,
                                  "},\"traceEvents\":[\n", NameJson("process_name", getpid(), "tuneonce"));
  for (const auto& [track, name] : names_) absl::StrAppend(&json, ",\n", NameJson("thread_name", track, name));
  for (const Event& event : events_) {
    absl::StrAppend(
        &json, ",\n{\"ph\":\"X\",\"name\":", Quoted(event.name), ",\"cat\":\"", event.category, "\",\"pid\":", getpid(),
        ",\"tid\":", event.track, ",\"ts\":", RealText(Microseconds(event.begin - began_), 'f', 3),
        ",\"dur\":", RealText(Microseconds(event.duration), 'f', 3), ",\"args\":", ArgumentsJson(event.arguments), "}");
  }
  absl::StrAppend(&json, "\n]}\n");
  events_ = {};
  names_.clear();
  tracks_of_things_.clear();
  return json;
}

}  // namespace v0
}  // namespace tuneonce
