#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "inspect/ptx_facts.h"

namespace tuneonce {
inline namespace v0 {
namespace {

absl::string_view Abseil(std::string_view text) { return {text.data(), text.size()}; }
std::string_view Trimmed(std::string_view text) {
  absl::string_view trimmed = absl::StripAsciiWhitespace(Abseil(text));
  return {trimmed.data(), trimmed.size()};
}

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

/// Blanks comments, and lines that end without a semicolon: `.loc`, `.file`.
std::string PlainText(std::string_view ptx) {
  std::string plain(ptx);
  for (std::size_t i = 0; i + 1 < plain.size(); ++i) {
    if (plain[i] != '/' || (plain[i + 1] != '/' && plain[i + 1] != '*')) continue;
    bool is_line = plain[i + 1] == '/';
    std::size_t end = is_line ? plain.find('\n', i) : plain.find("*/", i + 2);
    end = end == std::string::npos ? plain.size() : is_line ? end : end + 2;
    for (; i < end; ++i) {
      if (plain[i] != '\n') plain[i] = ' ';
    }
    --i;
  }
  for (std::size_t begin = 0; begin < plain.size();) {
    std::size_t end = std::min(plain.find('\n', begin), plain.size());
    std::string_view line = Trimmed(std::string_view(plain).substr(begin, end - begin));
    if (absl::StartsWith(Abseil(line), ".loc") || absl::StartsWith(Abseil(line), ".file")) {
      plain.replace(begin, end - begin, end - begin, ' ');
    }
    begin = end + 1;
  }
  return plain;
}

/// The index behind the bracket that closes the one at `open`; npos without one.
std::size_t BehindClosing(std::string_view text, std::size_t open, char opening, char closing) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opening) ++depth;
    if (text[i] == closing && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

/// Cuts a kernel's body.
class BodyCutter {
 public:
  explicit BodyCutter(PtxKernel* kernel) : kernel_(*kernel) {}

  void Cut(std::string_view body) {
    for (std::size_t begin = 0; begin < body.size();) {
      std::size_t end = std::min(body.find(';', begin), body.size());
      AddStatement(body.substr(begin, end - begin));
      begin = end + 1;
    }
    for (const auto& [label, from] : jumps_) {
      auto to = labels_.find(label);
      if (to != labels_.end() && to->second <= from) kernel_.loops.emplace_back(to->second, from);
    }
  }

 private:
  /// Labels and braces of scopes, then a predicate, then an instruction or directive.
  void AddStatement(std::string_view statement) {
    while (true) {
      statement = Trimmed(statement);
      std::size_t name = 0;
      while (name < statement.size() && IsNameByte(statement[name])) ++name;
      if (!statement.empty() && (statement[0] == '{' || statement[0] == '}')) {
        statement.remove_prefix(1);
      } else if (name > 0 && name < statement.size() && statement[name] == ':') {
        labels_[statement.substr(0, name)] = kernel_.instructions.size();
        statement.remove_prefix(name + 1);
      } else {
        break;
      }
    }
    if (!statement.empty() && statement[0] == '@') {
      std::size_t blank = statement.find_first_of(" \t\n");
      statement = blank == std::string_view::npos ? std::string_view() : Trimmed(statement.substr(blank));
    }
    if (!statement.empty() && statement[0] != '.') AddInstruction(statement);
  }

  void AddInstruction(std::string_view statement) {
    std::size_t blank = std::min(statement.find_first_of(" \t\n"), statement.size());
    PtxInstruction instruction;
    instruction.opcode = statement.substr(0, blank);
    std::string_view rest = statement.substr(blank);
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= rest.size(); ++i) {
      char c = i < rest.size() ? rest[i] : ',';
      if (c == '{' || c == '[' || c == '(') ++depth;
      if (c == '}' || c == ']' || c == ')') --depth;
      if (i < rest.size() && (c != ',' || depth > 0)) continue;
      std::string_view operand = Trimmed(rest.substr(begin, i - begin));
      if (!operand.empty()) instruction.operands.push_back(OperandOf(operand));
      begin = i + 1;
    }
    if (instruction.Base() == "bra" && !instruction.operands.empty()) {
      jumps_.emplace_back(instruction.operands[0].text, kernel_.instructions.size());
    }
    kernel_.instructions.push_back(std::move(instruction));
  }

  PtxOperand OperandOf(std::string_view text) {
    PtxOperand operand;
    operand.is_memory = text[0] == '[';
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') continue;
      std::size_t end = i + 1;
      while (end < text.size() && (IsNameByte(text[end]) || text[end] == '.')) ++end;
      operand.registers.push_back(NumberOf(text.substr(i, end - i)));
      i = end - 1;
    }
    if (operand.is_memory) text = Trimmed(text.substr(1, text.find(']') - 1));
    operand.text = text;
    return operand;
  }

  int NumberOf(std::string_view name) {
    auto [it, is_new] = numbers_.emplace(name, static_cast<int>(kernel_.registers.size()));
    if (is_new) kernel_.registers.push_back(name);
    return it->second;
  }

  PtxKernel& kernel_;
  std::map<std::string_view, int> numbers_;
  std::map<std::string_view, std::size_t> labels_;
  std::vector<std::pair<std::string_view, std::size_t>> jumps_;
};

/// ".param .u64 .ptr .global .align 16 name".
PtxKernel::Parameter ParameterOf(std::string_view text) {
  PtxKernel::Parameter parameter;
  for (absl::string_view word : absl::StrSplit(Abseil(text), absl::ByAnyChar(" \t\n\r"), absl::SkipEmpty())) {
    parameter.is_pointer |= word == ".ptr";
    parameter.is_float |= absl::StartsWith(word, ".f") || absl::StartsWith(word, ".bf");
    absl::string_view name = word.substr(0, word.find('['));
    parameter.name = {name.data(), name.size()};
  }
  return parameter;
}

/// Where the list of parameters of the kernel begins: at its bracket.
std::optional<std::size_t> FindKernel(std::string_view text, std::string_view symbol) {
  constexpr std::string_view kEntry = ".entry";
  for (std::size_t at = text.find(kEntry); at != std::string_view::npos; at = text.find(kEntry, at + 1)) {
    std::size_t open = text.find_first_of("({;", at);
    if (open == std::string_view::npos) return std::nullopt;
    std::string_view name = Trimmed(text.substr(at + kEntry.size(), open - at - kEntry.size()));
    if (symbol.empty() || name == symbol) return open;
  }
  return std::nullopt;
}

}  // namespace

bool PtxInstruction::Has(std::string_view part) const {
  for (absl::string_view each : absl::StrSplit(Abseil(opcode), '.')) {
    if (each == Abseil(part)) return true;
  }
  return false;
}

Status PtxKernel::Read(std::string_view ptx, std::string_view symbol) {
  if (ptx.find(".version") == std::string_view::npos) return InvalidArgumentError("PTX: the text has no .version");
  text = PlainText(ptx);
  std::string_view all = text;
  std::optional<std::size_t> open = FindKernel(all, symbol);
  if (!open) return InvalidArgumentError(absl::StrCat("PTX: no kernel '", std::string(symbol), "'"));
  std::size_t behind = *open;
  if (all[*open] == '(') {
    behind = BehindClosing(all, *open, '(', ')');
    if (behind == std::string_view::npos)
      return InvalidArgumentError("PTX: the list of parameters has no closing parenthesis");
    for (absl::string_view each : absl::StrSplit(Abseil(all.substr(*open + 1, behind - *open - 2)), ',')) {
      if (!absl::StripAsciiWhitespace(each).empty()) parameters.push_back(ParameterOf({each.data(), each.size()}));
    }
  }
  std::size_t body = all.find('{', behind);
  std::size_t end = body == std::string_view::npos ? body : BehindClosing(all, body, '{', '}');
  if (end == std::string_view::npos) return InvalidArgumentError("PTX: the kernel's body has no closing brace");
  BodyCutter(this).Cut(all.substr(body + 1, end - body - 2));
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
