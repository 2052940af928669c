#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "definition/source_identity.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

bool IsNameExpression(std::string_view symbol) {
  return !std::all_of(symbol.begin(), symbol.end(),
                      [](char c) { return IsWord(c) || c == '$' || c == '.' || c == '@'; });
}

std::string_view KernelNameIn(std::string_view symbol) {
  symbol = symbol.substr(0, symbol.find('<'));
  std::size_t scope = symbol.rfind("::");
  if (scope != std::string_view::npos) symbol.remove_prefix(scope + 2);
  while (!symbol.empty() && symbol.front() == ' ') symbol.remove_prefix(1);
  while (!symbol.empty() && symbol.back() == ' ') symbol.remove_suffix(1);
  return symbol;
}

NameExpression NameExpression::Of(std::string_view symbol, const std::vector<std::string>& defines) {
  std::map<std::string_view, std::string_view> values;
  for (const std::string& define : defines) {
    std::string_view text = define;
    std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) values[text.substr(0, equals)] = text.substr(equals + 1);
  }
  NameExpression expression;
  std::map<std::string_view, bool> is_named;
  const std::size_t arguments = std::min(symbol.find('<'), symbol.size());
  expression.text = symbol.substr(0, arguments);
  for (std::size_t at = arguments; at < symbol.size();) {
    std::size_t end = at;
    while (end < symbol.size() && IsWord(symbol[end])) ++end;
    std::string_view word = symbol.substr(at, end - at);
    bool is_member = at >= 2 && symbol.substr(at - 2, 2) == "::";
    auto value = is_member ? values.end() : values.find(word);
    if (word.empty()) {
      expression.text += symbol[end++];
    } else if (value == values.end()) {
      expression.text += word;
    } else {
      expression.text += value->second;
      is_named[word] = true;
    }
    at = end;
  }
  for (const std::string& define : defines) {
    if (is_named.count(std::string_view(define).substr(0, define.find('='))) == 0) expression.defines.push_back(define);
  }
  return expression;
}

}  // namespace v0
}  // namespace tuneonce
