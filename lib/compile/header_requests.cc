#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "compile/header_search.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::string_view kHasInclude = "__has_include";
constexpr std::string_view kHasIncludeNext = "__has_include_next";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool IsWordStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsWordChar(char c) { return IsWordStart(c) || IsDigit(c); }

/// The text without its cut lines (a backslash, blanks, the end of the line), as gcc and clang join them.
/// `*is_conclusive` becomes false where a comment goes on only for a compiler that allows the blanks.
std::string Joined(std::string_view text, bool* is_conclusive) {
  std::string joined;
  joined.reserve(text.size());
  std::size_t line = 0;  // Where the line begins in `joined`.
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      std::size_t end = i + 1;
      while (end < text.size() && IsBlank(text[end])) ++end;
      if (end < text.size() && text[end] == '\n') {
        const bool has_blanks = end - i > (text[end - 1] == '\r' ? 2 : 1);
        if (has_blanks && joined.find("//", line) != std::string::npos) *is_conclusive = false;
        i = end;
        continue;
      }
    }
    joined += text[i];
    if (text[i] == '\n') line = joined.size();
  }
  return joined;
}

/// A lexer of as much of C++ as it takes to tell directives from comments and strings.
class HeaderRequestFinder {
 public:
  HeaderRequestFinder(std::string_view text, const std::set<std::string>& asking) : text_(text), asking_(asking) {}

  HeaderRequests Find() {
    while (at_ < text_.size()) Step();
    return std::move(found_);
  }

 private:
  /// A macro that is being defined: the rest of the line is what it stands for.
  struct Definition {
    std::string name;
    std::vector<std::string> parameters;
  };

  char Next(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool StartsWith(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }

  void Step();
  void SkipComment();
  void SkipBlanks();
  /// A string or a character, whose opening quote is next; a lone quote, as text in a branch that is left out has it.
  void SkipQuoted();
  void SkipRawString();
  void SkipNumber();
  std::string ReadWord();
  /// <name> or "name", if that is next, up to the end of the line.
  bool ReadName(HeaderRequest* request);
  void ReadDirective();
  void ReadDefine();
  void ReadInclude(HeaderRequest::Kind kind);
  void TakeWord(const std::string& word);
  void ReadQuestion(const std::string& word);
  bool IsAsking(const std::string& word) const {
    return word == kHasInclude || word == kHasIncludeNext || asking_.count(word) != 0;
  }

  const std::string_view text_;
  const std::set<std::string>& asking_;
  std::size_t at_ = 0;
  bool is_line_start_ = true;
  bool is_definition_ = false;
  Definition definition_;
  std::string last_word_;
  HeaderRequests found_;
};

void HeaderRequestFinder::Step() {
  const char c = Next();
  if (c == '\n') {
    is_line_start_ = true;
    is_definition_ = false;
    ++at_;
    return;
  }
  if (IsBlank(c)) {
    ++at_;
    return;
  }
  if (StartsWith("//") || StartsWith("/*")) return SkipComment();
  const bool is_directive = std::exchange(is_line_start_, false) && (c == '#' || StartsWith("%:"));
  if (is_directive) return ReadDirective();
  if (IsWordStart(c)) return TakeWord(ReadWord());
  if (IsDigit(c) || (c == '.' && IsDigit(Next(1)))) return SkipNumber();
  if (c == '"' || c == '\'') return SkipQuoted();
  if (c != '(') last_word_.clear();  // "defined(NAME)" has it between.
  ++at_;
}

void HeaderRequestFinder::SkipComment() {
  const bool is_line = StartsWith("//");
  const std::size_t end = text_.find(is_line ? "\n" : "*/", at_ + 2);
  at_ = end == std::string_view::npos ? text_.size() : end + (is_line ? 0 : 2);
}

void HeaderRequestFinder::SkipBlanks() {
  while (at_ < text_.size()) {
    if (IsBlank(Next())) {
      ++at_;
    } else if (StartsWith("/*") || StartsWith("//")) {
      SkipComment();
    } else {
      return;
    }
  }
}

void HeaderRequestFinder::SkipQuoted() {
  const char quote = Next();
  for (std::size_t i = at_ + 1; i < text_.size() && text_[i] != '\n'; ++i) {
    if (text_[i] == quote) {
      at_ = i + 1;
      return;
    }
    if (text_[i] == '\\') ++i;
  }
  ++at_;
}

void HeaderRequestFinder::SkipRawString() {
  const std::size_t open = std::min(text_.find('(', at_), text_.size());
  const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
  const std::size_t close = text_.find(end, open);
  if (close == std::string_view::npos) {
    found_.is_complete = false;
    ++at_;
  } else {
    at_ = close + end.size();
  }
}

void HeaderRequestFinder::SkipNumber() {
  while (at_ < text_.size()) {
    const bool is_separator = Next() == '\'' && IsWordChar(Next(1));
    if (!IsWordChar(Next()) && Next() != '.' && !is_separator) return;
    ++at_;
  }
}

std::string HeaderRequestFinder::ReadWord() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

bool HeaderRequestFinder::ReadName(HeaderRequest* request) {
  const char close = Next() == '<' ? '>' : Next();
  if (close != '>' && close != '"') return false;
  const std::size_t end = text_.find_first_of(std::string{close, '\n'}, at_ + 1);
  if (end == std::string_view::npos || text_[end] == '\n') return false;
  request->name = std::string(text_.substr(at_ + 1, end - at_ - 1));
  request->is_quoted = close == '"';
  at_ = end + 1;
  return true;
}

void HeaderRequestFinder::ReadDirective() {
  at_ += Next() == '#' ? 1 : 2;
  SkipBlanks();
  const std::string name = ReadWord();
  if (name == "include" || name == "import") {
    ReadInclude(HeaderRequest::Kind::kInclude);
  } else if (name == "include_next") {
    ReadInclude(HeaderRequest::Kind::kIncludeNext);
  } else if (name == "embed") {
    found_.is_complete = false;
  } else if (name == "define") {
    ReadDefine();
  } else if (name == "ifdef" || name == "ifndef" || name == "elifdef" || name == "elifndef" || name == "undef") {
    SkipBlanks();
    ReadWord();
  }
}

void HeaderRequestFinder::ReadInclude(HeaderRequest::Kind kind) {
  SkipBlanks();
  HeaderRequest request;
  request.kind = kind;
  if (!ReadName(&request)) {
    if (!IsWordStart(Next())) return;  // No compiler takes it.
    if (kind == HeaderRequest::Kind::kIncludeNext) found_.is_complete = false;
    request.kind = HeaderRequest::Kind::kComputed;
  }
  found_.requests.push_back(std::move(request));
}

void HeaderRequestFinder::ReadDefine() {
  SkipBlanks();
  definition_ = Definition{ReadWord(), {}};
  is_definition_ = true;
  if (Next() != '(') return;
  while (at_ < text_.size() && Next() != ')' && Next() != '\n') {
    ++at_;
    SkipBlanks();
    if (IsWordStart(Next())) definition_.parameters.push_back(ReadWord());
  }
}

void HeaderRequestFinder::TakeWord(const std::string& word) {
  const std::string last = std::exchange(last_word_, word);
  if (Next() == '"' && (word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R")) {
    SkipRawString();
  } else if (word == "__has_embed" || word == "__has_include__") {
    found_.is_complete = found_.is_complete && last == "defined";
  } else if (IsAsking(word) && last != "defined") {
    ReadQuestion(word);
  }
}

void HeaderRequestFinder::ReadQuestion(const std::string& word) {
  SkipBlanks();
  const bool is_own = word == kHasInclude || word == kHasIncludeNext;
  if (Next() != '(') {
    // A macro of another name may stand for the question.
    if (is_definition_ || is_own) found_.is_complete = false;
    return;
  }
  ++at_;
  SkipBlanks();
  HeaderRequest request;
  request.kind = word == kHasIncludeNext ? HeaderRequest::Kind::kAskNext : HeaderRequest::Kind::kAsk;
  if (ReadName(&request)) {
    found_.requests.push_back(std::move(request));
    return;
  }
  const std::string argument = ReadWord();
  SkipBlanks();
  const std::vector<std::string>& parameters = definition_.parameters;
  const bool is_parameter = is_definition_ && parameters.size() == 1 && parameters[0] == argument;
  if (is_parameter && Next() == ')' && word != kHasIncludeNext) {
    found_.asking_macros.insert(definition_.name);
  } else {
    found_.is_complete = false;
  }
}

bool Has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

}  // namespace

HeaderRequests FindHeaderRequests(std::string_view text, const std::set<std::string>& asking_macros) {
  bool is_conclusive = true;
  std::string joined;
  if (Has(text, "\\")) {
    joined = Joined(text, &is_conclusive);
    text = joined;
  }
  if (Has(text, "\?\?=") || Has(text, "\?\?/") || Has(text, ".incbin")) is_conclusive = false;
  HeaderRequests found;
  const bool uses_macro = std::any_of(asking_macros.begin(), asking_macros.end(),
                                      [&](const std::string& macro) { return Has(text, macro); });
  if (uses_macro || Has(text, "include") || Has(text, "import") || Has(text, "embed")) {
    found = HeaderRequestFinder(text, asking_macros).Find();
  }
  found.is_complete = found.is_complete && is_conclusive;
  return found;
}

}  // namespace v0
}  // namespace tuneonce
