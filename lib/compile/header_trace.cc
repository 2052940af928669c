#include "compile/header_trace.h"

#include <string_view>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::string_view kEvent = "Processing Header File";
constexpr std::string_view kBuiltIn = "__nv_nvrtc_builtin_header.h";

/// The JSON string whose opening quote is at `*at`; moves behind its closing one. Nothing for one that does not end, or
/// with an escape that no path needs.
std::optional<std::string> ReadString(std::string_view text, std::size_t* at) {
  std::string value;
  for (std::size_t i = *at + 1; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      *at = i + 1;
      return value;
    }
    if (c == '\\') {
      c = ++i < text.size() ? text[i] : '\0';
      if (c != '"' && c != '\\' && c != '/') return std::nullopt;
    }
    value += c;
  }
  return std::nullopt;
}

/// Returns the value of the string member `key` of the JSON object `event`, or nullopt if it has no such member.
std::optional<std::string> Member(std::string_view event, std::string_view key) {
  std::optional<std::string> last;  // String before the one that is read.
  for (std::size_t at = event.find('"'); at != std::string_view::npos; at = event.find('"', at)) {
    std::size_t before = at;
    std::optional<std::string> text = ReadString(event, &at);
    if (!text) return std::nullopt;
    std::size_t colon = event.find_last_not_of(" \t\r\n", before - 1);
    if (last == key && before > 0 && event[colon] == ':') return text;
    last = std::move(text);
  }
  return std::nullopt;
}

/// Returns the part of an event that holds its name, which is at `at`, and its detail. An event is one object,
/// {"args": {"detail": PATH}, ..., "name": EVENT, ...}. For sm_100 and newer, "args" is its last member.
std::optional<std::string_view> EventAround(std::string_view trace, std::size_t at, std::size_t name_size) {
  const std::size_t behind = at + name_size;
  const std::size_t close = trace.find('}', behind);
  if (close == std::string_view::npos) return std::nullopt;
  if (trace.substr(behind, close - behind).find("\"args\"") != std::string_view::npos) {
    const std::size_t key = trace.rfind("\"name\"", at);
    if (key == std::string_view::npos) return std::nullopt;
    return trace.substr(key, trace.find("}}", behind) - key);
  }
  const std::size_t begin = trace.rfind("{\"args\"", at);
  if (begin == std::string_view::npos) return std::nullopt;
  return trace.substr(begin, behind - begin);
}

}  // namespace

std::optional<std::vector<std::string>> HeadersInTrace(const std::string& trace) {
  if (trace.find("\"traceEvents\"") == std::string::npos) return std::nullopt;
  std::vector<std::string> headers;
  bool has_built_in = false;
  const std::string name = "\"" + std::string(kEvent) + "\"";
  for (std::size_t at = trace.find(name); at != std::string::npos; at = trace.find(name, at + 1)) {
    const std::optional<std::string_view> event = EventAround(trace, at, name.size());
    if (!event) return std::nullopt;
    std::optional<std::string> detail = Member(*event, "detail");
    if (!detail || Member(*event, "name") != kEvent) return std::nullopt;
    if (*detail == kBuiltIn) {
      has_built_in = true;
    } else {
      headers.push_back(*std::move(detail));
    }
  }
  if (!has_built_in) return std::nullopt;
  return headers;
}

}  // namespace v0
}  // namespace tuneonce
