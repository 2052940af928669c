#include "compile/nvrtc_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "definition/name_expression.h"

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

/// The first errors are about what is wrong; NVRTC goes on up to a hundred.
std::string Shortened(std::string text) {
  constexpr std::size_t kMostBytes = 4096;
  if (text.size() <= kMostBytes) return text;
  std::size_t line = text.rfind('\n', kMostBytes);
  std::string last = text.substr(text.rfind('\n') + 1);  // "98 errors detected in ...".
  text.resize(line == std::string::npos ? kMostBytes : line);
  return absl::StrCat(text, "\n...\n", last.substr(0, kMostBytes));
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
                        headers.folders.empty() ? headers.ToString()
                                                : "say which folder has it (-I, Include), or give its text (Header)");
  }
  const std::string expression = absl::StrCat("the kernel's name '", source.symbol, "'");
  std::string text = absl::StrReplaceAll(log, {{"__nv_name_map(2)", expression}, {"__nv_name_map", expression}});
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    std::string name = Quoted(line, "identifier \"");
    if (name.empty() || !IsArgument(name, source)) continue;
    absl::StrAppend(&text, name, " is an argument in ", expression,
                    " and therefore no macro of the text: its template has it as a parameter");
    break;
  }
  return Shortened(std::string(absl::StripTrailingAsciiWhitespace(text)));
}

}  // namespace v0
}  // namespace tuneonce
