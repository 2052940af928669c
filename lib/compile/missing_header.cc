#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "compile/header_search.h"
#include "launch/source_parameters.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool HasWord(std::string_view text, std::string_view word) {
  auto is_part = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

/// The text, its joined lines in one, up to the end of the last line that may include a header; empty if none may.
std::string UpToLastInclude(const std::string& text) {
  std::string joined = absl::StrReplaceAll(text, {{"\\\r\n", ""}, {"\\\n", ""}});
  std::size_t end = 0;
  for (const char* directive : {"include", "import"}) {
    const std::size_t last = joined.rfind(directive);
    if (last != std::string::npos) end = std::max(end, std::min(joined.find('\n', last), joined.size()));
  }
  joined.resize(end);
  return joined;
}

/// Reads the texts that a source leads to in its own folders.
class OwnHeaders {
 public:
  explicit OwnHeaders(const KernelSource& source) : source_(source) {
    for (const std::string& define : source.defines) macros_.push_back(define.substr(0, define.find_first_of("=(")));
    for (const std::string& option : source.options) {
      if (option.rfind("-I", 0) == 0 && option.size() > 2) folders_.push_back(option.substr(2));
    }
  }

  bool MayDependOnMacros() {
    // Options that hand over macros or headers in other ways are not read here.
    for (const std::string& option : source_.options) {
      if (absl::StrContains(option, "include") || option == "-I") return true;
    }
    const std::size_t slash = source_.file.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : source_.file.substr(0, slash);
    return DependsOnMacros(UpToLastInclude(source_.content), folder);
  }

 private:
  bool DependsOnMacros(std::string_view text, const std::string& folder) {
    // Within a raw string a quote begins nothing: comments stay in such a text.
    const std::string plain = text.find("R\"") == std::string_view::npos ? WithoutComments(text) : std::string(text);
    for (const std::string& macro : macros_) {
      if (HasWord(plain, macro)) return true;
    }
    const HeaderRequests found = FindHeaderRequests(text, {});
    if (!found.is_complete) return true;
    for (const HeaderRequest& request : found.requests) {
      if (request.kind == HeaderRequest::Kind::kComputed || HeaderDependsOnMacros(request, folder)) return true;
    }
    return false;
  }

  bool HeaderDependsOnMacros(const HeaderRequest& request, const std::string& folder) {
    for (const auto& [name, text] : source_.headers) {
      if (name == request.name) return seen_.insert(name).second && DependsOnMacros(text, "");
    }
    std::vector<std::string> places = folders_;
    if (request.is_quoted && !folder.empty()) places.insert(places.begin(), folder);
    for (const std::string& place : places) {
      const std::string path = request.name[0] == '/' ? request.name : place + "/" + request.name;
      if (!IsRegularFile(path)) continue;
      if (!seen_.insert(path).second) return false;
      Result<std::string> text = ReadFile(path);
      return !text.ok() || DependsOnMacros(*text, path.substr(0, path.rfind('/')));
    }
    return false;  // It is the compiler's, or missing.
  }

  const KernelSource& source_;
  std::vector<std::string> macros_;
  std::vector<std::string> folders_;
  std::set<std::string> seen_;
};

}  // namespace

bool LacksHeader(const Status& compiled) {
  const std::string& message = compiled.message();
  const bool is_by_nvrtc = absl::StrContains(message, "the header \"") && absl::StrContains(message, "was not found; ");
  const bool is_by_host =
      absl::StrContains(message, "fatal error: ") &&
      (absl::StrContains(message, ": No such file or directory") || absl::StrContains(message, "' file not found"));
  return compiled.code() == StatusCode::kInvalidArgument && (is_by_nvrtc || is_by_host);
}

bool MacrosMayDecideHeaders(const KernelSource& source) { return OwnHeaders(source).MayDependOnMacros(); }

}  // namespace v0
}  // namespace tuneonce
