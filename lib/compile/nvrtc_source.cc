#include "compile/nvrtc_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "compile/dependency_file.h"
#include "compile/header_search.h"
#include "definition/name_expression.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Whether `text` has this word, however its lines are cut.
bool Mentions(const std::string& text, const char* word) {
  if (text.find('\\') == std::string::npos) return text.find(word) != std::string::npos;
  return absl::StrReplaceAll(text, {{"\\\r\n", ""}, {"\\\n", ""}}).find(word) != std::string::npos;
}

/// Returns a macro as a line of source text ("#define TILE 64"), or "" if `define` has more than one line.
std::string DefineLine(const std::string& define) {
  std::size_t equals = define.find('=');
  bool is_one_line = define.find_first_of("\r\n") == std::string::npos;
  if (!is_one_line) return "";
  if (equals == std::string::npos) return absl::StrCat("#define ", define, " 1\n");
  return absl::StrCat("#define ", define.substr(0, equals), " ", define.substr(equals + 1), "\n");
}

}  // namespace

std::string NvrtcFileOf(const KernelSource& source) {
  return source.file.empty() ? std::string(KernelNameIn(source.symbol)) + ".cu" : source.file;
}

std::string NvrtcTextOf(const KernelSource& source, std::vector<std::string>* defines) {
  const std::string file = NvrtcFileOf(source);
  // A header that is read before the text has to see the macros, too.
  if (GivesOption(source.options, "-include", "--pre-include") || file.find_first_of("\"\\\r\n") != std::string::npos)
    return std::string(WithoutByteOrderMark(source.content));
  std::string text;
  std::vector<std::string> left;
  for (std::string& define : *defines) {
    std::string line = DefineLine(define);
    if (line.empty()) left.push_back(std::move(define));
    text += line;
  }
  *defines = std::move(left);
  if (!text.empty()) absl::StrAppend(&text, "#line 1 \"", file, "\"\n");
  return text.append(WithoutByteOrderMark(source.content));
}

bool GivesOption(const std::vector<std::string>& options, const char* one_way, const char* other_way) {
  return std::any_of(options.begin(), options.end(), [&](const std::string& option) {
    return absl::StartsWith(option, one_way) || absl::StartsWith(option, other_way);
  });
}

HeaderOptions HeaderOptionsIn(const std::vector<std::string>& options) {
  HeaderOptions found;
  for (std::size_t i = 0; i < options.size(); ++i) {
    absl::string_view option = options[i];
    auto take = [&](const char* name) { return absl::ConsumePrefix(&option, name); };
    std::vector<std::string>* list = nullptr;
    if (take("--include-path") || take("-include-path") || take("-I")) {
      list = &found.folders;
    } else if (take("--pre-include") || take("-pre-include") || take("-include")) {
      list = &found.included;
    } else {
      const bool is_macro = absl::StartsWith(option, "-D") || absl::StartsWith(option, "--define-macro");
      const bool names_header = absl::StrContains(option, "include") && option != "--no-source-include";
      if (absl::StrContains(option, "__has_") || (names_header && !is_macro)) found.is_known = false;
    }
    if (list == nullptr) continue;
    if (option.empty() && i + 1 < options.size()) {
      option = options[++i];
    } else {
      absl::ConsumePrefix(&option, "=");
    }
    list->push_back(std::string(option));
  }
  return found;
}

bool OptionsNameFiles(const std::vector<std::string>& options) {
  return std::any_of(options.begin(), options.end(), [](const std::string& option) {
    return absl::StrContains(option, "pch") || absl::StrContains(option, "time-trace");
  });
}

bool ReadsNoFile(const KernelSource& source) {
  if (Mentions(source.content, "include") || OptionsNameFiles(source.options)) return false;
  return std::none_of(source.options.begin(), source.options.end(), [](const std::string& option) {
    bool is_path = absl::StartsWith(option, "-I") || absl::StartsWith(option, "--include-path");
    return !is_path && absl::StrContains(option, "include");
  });
}

void SetReadHeaders(const KernelSource& source, const std::string& text, const std::vector<std::string>& options,
                    std::vector<std::string> headers, const timespec& started, const std::vector<std::string>& built_in,
                    Artifact* artifact) {
  HeaderOptions given = HeaderOptionsIn(options);
  const bool is_asked = std::any_of(source.defines.begin(), source.defines.end(),
                                    [](const std::string& define) { return absl::StrContains(define, "__has_"); });
  artifact->cacheable = given.is_known && !is_asked && !OptionsNameFiles(options);
  if (!artifact->cacheable) return;
  auto is_in_memory = [&](const std::string& name) {
    return std::find(built_in.begin(), built_in.end(), name) != built_in.end() ||
           std::any_of(source.headers.begin(), source.headers.end(), [&](const auto& h) { return h.first == name; });
  };
  headers.erase(std::remove_if(headers.begin(), headers.end(), is_in_memory), headers.end());
  HeaderSearch search(HeaderPath{{}, std::move(given.folders)}, headers, started);
  const std::string file = NvrtcFileOf(source);
  search.AddText(text, file.substr(0, file.rfind('/') == std::string::npos ? 0 : file.rfind('/')));
  for (const auto& [name, header] : source.headers) search.AddHeaderInMemory(name, header);
  for (const std::string& name : built_in) search.AddHeaderInMemory(name, "");
  for (const std::string& name : given.included) search.AddInclude(name, /*is_quoted=*/true, /*folder=*/"");
  SetDependencies(std::move(headers), &search, started, artifact);
}

}  // namespace v0
}  // namespace tuneonce
