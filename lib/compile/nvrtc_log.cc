#include "compile/nvrtc_log.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "definition/source_identity.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// What stands between the first `before` of a line and the quote after it; empty if the line has no such text.
std::string Quoted(absl::string_view line, absl::string_view before) {
  std::size_t at = line.find(before);
  if (at == absl::string_view::npos) return "";
  absl::string_view rest = line.substr(at + before.size());
  return std::string(rest.substr(0, rest.find('"')));
}

/// Names that the expression has taken from among the macros.
bool IsArgument(const std::string& name, const KernelSource& source) {
  const std::vector<std::string> kept = NameExpression::Of(source.symbol, source.defines).defines;
  auto is_it = [&](const std::string& define) { return define.rfind(name + "=", 0) == 0; };
  return std::any_of(source.defines.begin(), source.defines.end(), is_it) &&
         std::none_of(kept.begin(), kept.end(), is_it);
}

constexpr absl::string_view kKernelsName = "the kernel's name '";

/// Whether a line of NVRTC's or ptxas' log begins a diagnostic: "k.cu(2): error: ...", "ptxas error : ...", "the
/// kernel's name 'k<1>': error: ...".
bool Begins(absl::string_view line, absl::string_view severity) {
  if (absl::ConsumePrefix(&line, "ptxas ")) return absl::StartsWith(line, severity);
  std::size_t at = line.find("): ");
  if (absl::StartsWith(line, kKernelsName)) at = line.find("': ");
  if (at == absl::string_view::npos || line[0] == ' ') return false;
  line.remove_prefix(at + 3);
  absl::ConsumePrefix(&line, "catastrophic ");
  return absl::StartsWith(line, severity);
}

/// A log's diagnostics, each with the lines that belong to it, in the order that they had.
struct SplitLog {
  std::string errors;  ///< And their number.
  std::string others;  ///< Warnings and remarks.
};

SplitLog SplitBySeverity(absl::string_view log) {
  SplitLog split;
  bool is_error = false;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    const bool begins_error = Begins(line, "error") || Begins(line, "fatal");
    const bool begins_other = Begins(line, "warning") || Begins(line, "info") || absl::StartsWith(line, "Remark: ");
    if (begins_error || begins_other) is_error = begins_error;
    is_error |= absl::StrContains(line, " detected in the compilation of ");
    absl::StrAppend(is_error ? &split.errors : &split.others, line, "\n");
  }
  return split;
}

constexpr std::size_t kMostBytes = 4096;

/// The first errors are about what is wrong; NVRTC goes on up to a hundred.
std::string Shortened(std::string text) {
  if (text.size() <= kMostBytes) return text;
  std::size_t line = text.rfind('\n', kMostBytes);
  std::string last = text.substr(text.rfind('\n') + 1);  // "98 errors detected in ...".
  text.resize(line == std::string::npos ? kMostBytes : line);
  return absl::StrCat(text, "\n...\n", last.substr(0, kMostBytes));
}

/// What to do about a header that was not found. `where`: the line that includes it.
std::string HowToGetHeader(const std::string& header, const std::string& where, const CudaHeaders& headers) {
  if (headers.folders.empty()) return headers.ToString();
  if (absl::StrContains(where, "/cub/") || absl::StrContains(where, "/thrust/")) {
    return "the device-wide algorithms of CUB and Thrust (cub/cub.cuh, cub/device, thrust) are host code, which "
           "NVRTC cannot compile: include only what the kernel needs from cub/block, cub/warp and cub/thread";
  }
  const bool is_in_libcuxx =
      std::any_of(headers.folders.begin(), headers.folders.end(),
                  [&](const std::string& folder) { return IsRegularFile(absl::StrCat(folder, "/cuda/std/", header)); });
  if (is_in_libcuxx) {
    return absl::StrCat("NVRTC has no C++ standard library; include <cuda/std/", header, "> of libcu++");
  }
  return "say which folder has it (-I, Include), or give its text (Header)";
}

/// Returns the first file whose byte-order mark the log reports as an error, or "" if the log reports no such error.
std::string HeaderWithByteOrderMark(absl::string_view log) {
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    const std::size_t end = line.find("(1): error: unrecognized token");
    if (end == absl::string_view::npos) continue;
    std::string path(line.substr(0, end));
    const Result<std::string> text = ReadFile(path);
    if (text.ok() && WithoutByteOrderMark(*text).size() != text->size()) return path;
  }
  return "";
}

}  // namespace

std::string ExplainNvrtcLog(const std::string& log, const KernelSource& source, const std::vector<std::string>& folders,
                            const CudaHeaders& headers) {
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    std::string header = Quoted(line, "open source file \"");
    if (header.empty()) continue;
    // "k.cu(1): catastrophic error: could not open ..."
    std::string where(line.substr(0, line.find("): ") == absl::string_view::npos ? 0 : line.find("): ") + 1));
    return absl::StrCat(where, ": the header \"", header, "\" was not found; looked in ",
                        folders.empty() ? "no folder" : absl::StrJoin(folders, ", "), ": ",
                        HowToGetHeader(header, where, headers));
  }
  if (std::string header = HeaderWithByteOrderMark(log); !header.empty()) {
    return absl::StrCat(header, "(1): the header begins with a byte-order mark, which NVRTC refuses; save it without ",
                        "one, or give its text (Header)");
  }
  const std::string expression = absl::StrCat(kKernelsName, source.symbol, "'");
  SplitLog split =
      SplitBySeverity(absl::StrReplaceAll(log, {{"__nv_name_map(2)", expression}, {"__nv_name_map", expression}}));
  std::string text = Shortened(std::string(absl::StripTrailingAsciiWhitespace(split.errors)));
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    std::string name = Quoted(line, "identifier \"");
    if (name.empty() || !IsArgument(name, source)) continue;
    absl::StrAppend(&text, "\n", name, " is a template argument in ", expression,
                    " and not a macro of the source: use the template's parameter in the source instead");
    break;
  }
  absl::StripAsciiWhitespace(&split.others);
  if (text.empty()) return Shortened(split.others);
  if (split.others.empty() || text.size() + split.others.size() > kMostBytes) return text;
  return absl::StrCat(text, "\n\n", split.others);
}

}  // namespace v0
}  // namespace tuneonce
