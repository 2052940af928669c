#include "compile/compiler_remarks.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/number_text.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::size_t kMostRemarks = 32;
constexpr std::size_t kMostBytesOfALine = 400;

/// The tags of the format, in the order in which remarks are listed, and our words for them.
constexpr const char* kKinds[][2] = {
    {"!Failure", "failed"}, {"!Missed", "missed"}, {"!Analysis", "analysis"}, {"!Passed", "passed"}};

struct Remark {
  std::size_t kind = 0;  ///< Index in kKinds.
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::string file;
  std::string text;
  std::vector<std::string> details;

  std::string ToString() const {
    std::string all = absl::StrCat(kKinds[kind][1], ": ", text);
    if (!details.empty()) absl::StrAppend(&all, ": ", absl::StrJoin(details, ", "));
    if (!file.empty()) absl::StrAppend(&all, " (", file.substr(file.rfind('/') + 1), ":", line, ":", column, ")");
    return all.substr(0, kMostBytesOfALine);
  }
};

/// A scalar's value: without quotes.
std::string Unquoted(absl::string_view value) {
  value = absl::StripAsciiWhitespace(value);
  if (value.size() < 2 || value.front() != value.back() || (value.front() != '\'' && value.front() != '"')) {
    return std::string(value);
  }
  const bool is_single = value.front() == '\'';
  return absl::StrReplaceAll(value.substr(1, value.size() - 2),
                             {is_single ? std::pair("\'\'", "\'") : std::pair("\\\"", "\"")});
}

/// The value behind `name` in "{ File: 'a, b.py', Line: 11, Column: 17 }", whose first part may be quoted.
std::string PartOf(absl::string_view location, absl::string_view name) {
  const std::size_t at = location.rfind(name);
  if (at == absl::string_view::npos) return "";
  absl::string_view rest = location.substr(at + name.size());
  const std::size_t end = name == "File:" ? rest.rfind(", Line:") : rest.find_first_of(",}");
  return Unquoted(rest.substr(0, end));
}

/// A reason begins with where it applies, which the remark states too: loc("matmul.py":13:4): stride not aligned.
std::string WithoutLocation(std::string text) {
  const std::size_t end = absl::StartsWith(text, "loc(") ? text.find("): ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 3);
}

void ReadLine(absl::string_view line, Remark* remark) {
  if (absl::ConsumePrefix(&line, "DebugLoc:")) {
    remark->file = PartOf(line, "File:");
    remark->line = ParseNumber<std::int64_t>(PartOf(line, "Line:")).value_or(0);
    remark->column = ParseNumber<std::int64_t>(PartOf(line, "Column:")).value_or(0);
    return;
  }
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "- ")) return;
  const std::size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return;
  const absl::string_view name = line.substr(0, colon);
  const std::string value = WithoutLocation(Unquoted(line.substr(colon + 1)));
  if (name == "RemarkId" || value.empty()) return;
  if (name == "Remark") {
    remark->text = value;
    return;
  }
  // "Reason" and "Instruction" speak for themselves. tileiras repeats a reason for each instruction that it makes.
  const std::string detail =
      name == "Reason" || name == "Instruction" ? value : absl::StrCat(std::string(name), " ", value);
  if (std::find(remark->details.begin(), remark->details.end(), detail) == remark->details.end()) {
    remark->details.push_back(detail);
  }
}

}  // namespace

std::vector<std::string> RemarksIn(std::string_view yaml) {
  std::set<std::tuple<std::size_t, std::int64_t, std::int64_t, std::string>> sorted;
  std::optional<Remark> remark;
  auto finish = [&] {
    if (remark && !remark->text.empty()) {
      sorted.emplace(remark->kind, remark->line, remark->column, remark->ToString());
    }
    remark.reset();
  };
  for (absl::string_view line : absl::StrSplit(absl::string_view(yaml.data(), yaml.size()), '\n')) {
    if (absl::ConsumePrefix(&line, "--- ")) {
      finish();
      for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
        if (line == kKinds[kind][0]) remark.emplace().kind = kind;
      }
    } else if (remark) {
      ReadLine(line, &*remark);
    }
  }
  finish();
  std::vector<std::string> lines;
  for (const auto& each : sorted) {
    if (lines.size() < kMostRemarks) lines.push_back(std::get<3>(each));
  }
  if (sorted.size() > lines.size())
    lines.push_back(absl::StrCat("and ", sorted.size() - lines.size(), " more remarks"));
  return lines;
}

}  // namespace v0
}  // namespace tuneonce
