#include "definition/condition_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/short_list.h"
#include "definition/term_parts.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::string_view kReserved[] = {"axis", "dim", "device", "ceil_div", "min",  "max",
                                          "and",  "or",  "not",    "true",     "false"};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsReserved(std::string_view name) {
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

}  // namespace

std::string ConditionParser::NameText(std::string_view name) {
  const bool is_identifier = !name.empty() && IsLetter(name.front()) &&
                             std::all_of(name.begin(), name.end(), [](char c) { return IsLetter(c) || IsDigit(c); });
  if (is_identifier && !IsReserved(name)) return std::string(name);
  std::string quoted = "`";
  for (char c : name) {
    if (c == '`' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "`";
}

// Tokens.

void ConditionParser::Advance() {
  while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\t' || text_[next_] == '\n')) ++next_;
  token_ = Token();
  token_.begin = next_;
  token_.end = next_;
  if (next_ == text_.size()) return;
  const char c = text_[next_];
  if (IsDigit(c)) {
    ReadNumber();
  } else if (IsLetter(c)) {
    token_.kind = Kind::kName;
    while (next_ < text_.size() && (IsLetter(text_[next_]) || IsDigit(text_[next_]))) token_.text += text_[next_++];
  } else if (c == '"' || c == '`') {
    ReadQuoted(c);
  } else {
    static constexpr std::string_view kOperators[] = {"&&", "||", "==", "!=", "<=", ">=", "<", ">", "+",
                                                      "-",  "*",  "/",  "%",  "!",  "(",  ")", ",", "."};
    const std::string_view rest = text_.substr(next_);
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](std::string_view each) { return rest.substr(0, each.size()) == each; });
    token_.kind = found == std::end(kOperators) ? Kind::kBad : Kind::kOperator;
    token_.text = found == std::end(kOperators) ? std::string(1, c) : std::string(*found);
    next_ += token_.text.size();
  }
  token_.end = next_;
  // C++'s other spellings of the operators.
  if (token_.kind != Kind::kName || token_.is_quoted) return;
  for (const auto& [name, symbol] : {std::pair("and", "&&"), std::pair("or", "||"), std::pair("not", "!")}) {
    if (token_.text != name) continue;
    token_.kind = Kind::kOperator;
    token_.text = symbol;
    return;
  }
}

void ConditionParser::ReadNumber() {
  const std::size_t begin = next_;
  auto digits = [&] {
    while (next_ < text_.size() && IsDigit(text_[next_])) ++next_;
  };
  digits();
  bool is_real = false;
  if (next_ < text_.size() && text_[next_] == '.') {
    is_real = true;
    ++next_;
    digits();
  }
  if (next_ < text_.size() && (text_[next_] == 'e' || text_[next_] == 'E')) {
    is_real = true;
    ++next_;
    if (next_ < text_.size() && (text_[next_] == '-' || text_[next_] == '+')) ++next_;
    digits();
  }
  const bool is_word = next_ < text_.size() && IsLetter(text_[next_]);
  while (is_word && next_ < text_.size() && (IsLetter(text_[next_]) || IsDigit(text_[next_]))) ++next_;
  const std::string_view number = text_.substr(begin, next_ - begin);
  const char* end = number.data() + number.size();
  token_.text = std::string(number);
  token_.kind = is_real ? Kind::kReal : Kind::kNumber;
  if (is_real) {
    const bool is_number = absl::SimpleAtod(absl::string_view(number.data(), number.size()), &token_.real);
    if (!is_number || !std::isfinite(token_.real) || is_word) token_.kind = Kind::kBad;
    return;
  }
  auto [stop, error] = std::from_chars(number.data(), end, token_.number);
  if (error != std::errc() || stop != end || is_word) token_.kind = Kind::kBad;
}

void ConditionParser::ReadQuoted(char quote) {
  ++next_;
  token_.kind = quote == '"' ? Kind::kString : Kind::kName;
  token_.is_quoted = true;
  while (next_ < text_.size() && text_[next_] != quote) {
    if (text_[next_] == '\\' && next_ + 1 < text_.size()) ++next_;
    token_.text += text_[next_++];
  }
  if (next_ < text_.size()) {
    ++next_;
  } else {
    token_.kind = Kind::kBad;
    token_.text = std::string(1, quote);
  }
}

bool ConditionParser::Take(std::string_view text) {
  if (!IsOperator(text)) return false;
  Advance();
  return true;
}

// Errors.

Status ConditionParser::Error(const Token& at, std::string_view what) const {
  constexpr std::size_t kMaxShown = 100;
  std::string shown(text_.substr(0, kMaxShown));
  if (text_.size() > kMaxShown) shown += "...";
  return InvalidArgumentError(
      absl::StrCat("invalid condition '", Printable(shown), "': ", std::string(what), " at position ", at.begin + 1));
}

std::string ConditionParser::Described(const Token& token) const {
  if (token.kind == Kind::kEnd) return "the end";
  return absl::StrCat(
      "'", Printable(std::string(text_.substr(token.begin, std::min<std::size_t>(20, token.end - token.begin)))), "'");
}

Status ConditionParser::Expected(std::string_view what) const {
  if (token_.kind == Kind::kBad && (token_.text == "\"" || token_.text == "`")) {
    return Error(token_, absl::StrCat("a quote that is not closed, ", token_.text, ","));
  }
  if (token_.kind == Kind::kBad && !token_.text.empty() && IsDigit(token_.text.front())) {
    return Error(token_, absl::StrCat("expected a number that fits 64 bits, got ", Described(token_)));
  }
  if (IsOperator("=") || (token_.kind == Kind::kBad && token_.text == "=")) {
    return Error(token_, "expected '==' for a comparison, got '='");
  }
  return Error(token_, absl::StrCat("expected ", std::string(what), ", got ", Described(token_)));
}

Status ConditionParser::CheckTerm(const Value& value) const {
  if (value.is_value) {
    return Error(value.token, absl::StrCat("expected a whole number or a name, got ", Described(value.token),
                                           ", which only == and != compare with an axis,"));
  }
  if (!value.is_condition) return Status();
  return Error(value.token, "expected a number, got a condition");
}

Result<Condition> ConditionParser::AsCondition(Value value) const {
  if (value.is_condition) return Condition(std::move(value.term));
  TUNEONCE_RETURN_IF_ERROR(CheckTerm(value));
  return std::move(value.term) != Term(0);
}

// Expressions.

Result<Condition> ConditionParser::Parse() {
  if (text_.size() > kMaxSize) {
    return InvalidArgumentError(
        absl::StrCat("the condition has ", text_.size(), " characters; at most ", kMaxSize, " are possible"));
  }
  Advance();
  TUNEONCE_ASSIGN_OR_RETURN(Value value, ParseOr());
  if (token_.kind != Kind::kEnd) return Expected("an operator or the end");
  return AsCondition(std::move(value));
}

Result<ConditionParser::Value> ConditionParser::ParseOr() {
  TUNEONCE_ASSIGN_OR_RETURN(Value value, ParseAnd());
  while (IsOperator("||")) {
    Advance();
    TUNEONCE_ASSIGN_OR_RETURN(Value other, ParseAnd());
    TUNEONCE_ASSIGN_OR_RETURN(Condition a, AsCondition(value));
    TUNEONCE_ASSIGN_OR_RETURN(Condition b, AsCondition(std::move(other)));
    value.term = (std::move(a) || std::move(b)).expression_;
    value.is_condition = true;
  }
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParseAnd() {
  TUNEONCE_ASSIGN_OR_RETURN(Value value, ParseComparison());
  while (IsOperator("&&")) {
    Advance();
    TUNEONCE_ASSIGN_OR_RETURN(Value other, ParseComparison());
    TUNEONCE_ASSIGN_OR_RETURN(Condition a, AsCondition(value));
    TUNEONCE_ASSIGN_OR_RETURN(Condition b, AsCondition(std::move(other)));
    value.term = (std::move(a) && std::move(b)).expression_;
    value.is_condition = true;
  }
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParseComparison() {
  static constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};
  auto is_comparison = [&] {
    return token_.kind == Kind::kOperator &&
           std::find(std::begin(kComparisons), std::end(kComparisons), token_.text) != std::end(kComparisons);
  };
  TUNEONCE_ASSIGN_OR_RETURN(Value a, ParseSum());
  if (!is_comparison()) return a;
  const std::string comparison = token_.text;
  Advance();
  TUNEONCE_ASSIGN_OR_RETURN(Value b, ParseSum());
  if (is_comparison()) {
    return Error(token_, "comparisons cannot be chained, write a < b && b < c;");
  }
  return Compared(comparison, std::move(a), std::move(b));
}

Result<ConditionParser::Value> ConditionParser::Compared(const std::string& comparison, Value a, Value b) const {
  const Token token = a.token;
  // `flag == true`.
  for (Value* value : {&a, &b}) {
    if (value->is_condition && value->term.IsConstant()) value->is_condition = false;
  }
  Value result;
  result.is_condition = true;
  result.token = token;
  if (a.is_value || b.is_value) {
    const Value& value = a.is_value ? a : b;
    const Value& axis = a.is_value ? b : a;
    if ((comparison != "==" && comparison != "!=") || axis.term.kind_ != Term::Kind::kNamed || axis.is_value ||
        axis.is_condition) {
      return CheckTerm(value);
    }
    Condition is = Condition::AxisIs(0, 0, axis.term.name_, value.value);
    is.expression_.is_qualified_ = axis.term.is_qualified_;
    result.term = (comparison == "==" ? std::move(is) : !std::move(is)).expression_;
    return result;
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTerm(a));
  TUNEONCE_RETURN_IF_ERROR(CheckTerm(b));
  Term::Kind kind = comparison == "=="   ? Term::Kind::kEqual
                    : comparison == "!=" ? Term::Kind::kNotEqual
                    : comparison == "<"  ? Term::Kind::kLess
                    : comparison == "<=" ? Term::Kind::kAtMost
                    : comparison == ">"  ? Term::Kind::kGreater
                                         : Term::Kind::kAtLeast;
  result.term = Term(kind, std::move(a.term), std::move(b.term));
  return result;
}

Result<ConditionParser::Value> ConditionParser::ParseSum() {
  TUNEONCE_ASSIGN_OR_RETURN(Value value, ParseProduct());
  while (IsOperator("+") || IsOperator("-")) {
    const bool is_sum = token_.text == "+";
    TUNEONCE_RETURN_IF_ERROR(CheckTerm(value));
    Advance();
    TUNEONCE_ASSIGN_OR_RETURN(Value other, ParseProduct());
    TUNEONCE_RETURN_IF_ERROR(CheckTerm(other));
    value.term = is_sum ? std::move(value.term) + std::move(other.term) : std::move(value.term) - std::move(other.term);
  }
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParseProduct() {
  TUNEONCE_ASSIGN_OR_RETURN(Value value, ParseUnary());
  while (IsOperator("*") || IsOperator("/") || IsOperator("%")) {
    const char operation = token_.text.front();
    TUNEONCE_RETURN_IF_ERROR(CheckTerm(value));
    Advance();
    TUNEONCE_ASSIGN_OR_RETURN(Value other, ParseUnary());
    TUNEONCE_RETURN_IF_ERROR(CheckTerm(other));
    Term a = std::move(value.term), b = std::move(other.term);
    value.term = operation == '*'   ? std::move(a) * std::move(b)
                 : operation == '/' ? std::move(a) / std::move(b)
                                    : std::move(a) % std::move(b);
  }
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParseUnary() {
  // Each operand passes here, so this bounds the size of the expression, and the stack that evaluating it takes.
  if (++operations_ > kMaxOperations || depth_ >= kMaxDepth) {
    return Error(token_, "expected fewer operators or brackets: the condition is too complex");
  }
  ++depth_;
  const Token token = token_;
  Result<Value> value = [&]() -> Result<Value> {
    if (Take("!")) {
      TUNEONCE_ASSIGN_OR_RETURN(Value operand, ParseUnary());
      TUNEONCE_ASSIGN_OR_RETURN(Condition condition, AsCondition(std::move(operand)));
      Value result;
      result.term = (!std::move(condition)).expression_;
      result.is_condition = true;
      return result;
    }
    if (!Take("-")) return ParsePrimary();
    TUNEONCE_ASSIGN_OR_RETURN(Value operand, ParseUnary());
    if (operand.is_value && std::holds_alternative<double>(operand.value)) {
      operand.value = -std::get<double>(operand.value);
      return operand;
    }
    TUNEONCE_RETURN_IF_ERROR(CheckTerm(operand));
    operand.term = operand.term.IsConstant() ? Term(-operand.term.constant_) : Term(0) - std::move(operand.term);
    return operand;
  }();
  --depth_;
  if (value.ok()) value->token = token;
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParsePrimary() {
  const Token token = token_;
  Value value;
  switch (token.kind) {
    case Kind::kNumber:
      value.term = Term(token.number);
      break;
    case Kind::kReal:
      value.is_value = true;
      value.value = token.real;
      break;
    case Kind::kString:
      value.is_value = true;
      value.value = token.text;
      break;
    case Kind::kName:
      Advance();
      return ParseName(token);
    default:
      if (!Take("(")) return Expected("a number, a name or '('");
      TUNEONCE_ASSIGN_OR_RETURN(value, ParseOr());
      if (!IsOperator(")")) return Expected("')'");
  }
  Advance();
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParseName(const Token& name) {
  Value value;
  if (!name.is_quoted && IsReserved(name.text)) {
    if (name.text == "device") return ParseDevice();
    if (name.text != "true" && name.text != "false") return ParseCall(name);
    value.term = Term(name.text == "true" ? 1 : 0);
    value.is_condition = true;
    return value;
  }
  if (name.text.empty()) return Error(name, "expected a name, got ``");
  if (IsOperator("(")) {
    const std::vector<AssumptionForm>& forms = AssumptionForm::All();
    auto form =
        std::find_if(forms.begin(), forms.end(), [&](const AssumptionForm& each) { return each.name == name.text; });
    if (form != forms.end() && !name.is_quoted) return ParseAssumption(*form);
    return Error(name, absl::StrCat("unknown function ", Described(name),
                                    "; the functions are ceil_div, min and max, and for requirements ",
                                    ShortListOf(
                                        forms, [](const auto& each) { return std::string(each.name); }, name.text),
                                    ","));
  }
  value.term = D(name.text);
  value.term.is_explicit_ = false;
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParseCall(const Token& name) {
  if (!Take("(")) return Expected(absl::StrCat("'(' after ", name.text));
  Value value;
  if (name.text == "axis" || name.text == "dim") {
    if (token_.kind != Kind::kName || token_.text.empty()) return Expected("a name");
    value.term = D(token_.text);
    value.term.is_explicit_ = name.text == "dim";
    value.term.is_qualified_ = true;
    Advance();
    if (!Take(")")) return Expected("')'");
    return value;
  }
  TUNEONCE_ASSIGN_OR_RETURN(Value a, ParseSum());
  TUNEONCE_RETURN_IF_ERROR(CheckTerm(a));
  if (!Take(",")) return Expected("','");
  TUNEONCE_ASSIGN_OR_RETURN(Value b, ParseSum());
  TUNEONCE_RETURN_IF_ERROR(CheckTerm(b));
  if (!Take(")")) return Expected("')'");
  value.term = name.text == "ceil_div" ? CeilDiv(std::move(a.term), std::move(b.term))
               : name.text == "min"    ? Min(std::move(a.term), std::move(b.term))
                                       : Max(std::move(a.term), std::move(b.term));
  return value;
}

Result<std::string> ConditionParser::ParseArgumentName() {
  if (token_.kind != Kind::kName || token_.text.empty()) return Expected("the name of a tensor or scalar");
  std::string name = token_.text;
  Advance();
  return name;
}

Result<ConditionParser::Value> ConditionParser::ParseAssumption(const AssumptionForm& form) {
  Advance();  // The bracket.
  Assumption assumption{form.kind, "", 0, 1, ""};
  Term term(1);
  TUNEONCE_ASSIGN_OR_RETURN(assumption.tensor, ParseArgumentName());
  if (form.has_dimension) {
    if (!Take(",")) return Expected("','");
    if (token_.kind != Kind::kNumber || token_.number > kMaxRank) return Expected("the number of a dimension");
    assumption.dimension = static_cast<int>(token_.number);
    Advance();
  }
  if (form.has_value) {
    if (!Take(",")) return Expected("','");
    TUNEONCE_ASSIGN_OR_RETURN(Value value, ParseSum());
    const bool is_truth = value.is_condition && value.term.IsConstant();
    const bool is_real = value.is_value && std::holds_alternative<double>(value.value);
    if (is_real && form.kind == Assumption::Kind::kScalarIs) {
      assumption.real = std::get<double>(value.value);
    } else {
      if (!is_truth) TUNEONCE_RETURN_IF_ERROR(CheckTerm(value));
      term = std::move(value.term);
    }
  }
  if (form.kind == Assumption::Kind::kNoOverlap) {
    if (!Take(",")) return Expected("','");
    TUNEONCE_ASSIGN_OR_RETURN(assumption.other, ParseArgumentName());
  }
  while (form.kind == Assumption::Kind::kDTypeIn && (assumption.dtypes.empty() || IsOperator(","))) {
    if (!Take(",")) return Expected("','");
    const std::optional<DType> dtype = token_.kind == Kind::kName ? DTypeNamed(token_.text) : std::nullopt;
    if (!dtype) return Expected("a dtype");
    assumption.dtypes.push_back(*dtype);
    Advance();
  }
  if (!Take(")")) return Expected("')'");
  Value value;
  value.term = Condition(std::move(assumption), std::move(term)).expression_;
  value.is_condition = true;
  return value;
}

Result<ConditionParser::Value> ConditionParser::ParseDevice() {
  if (!Take(".")) return Expected("'.' after device");
  const std::vector<DeviceProperty>& all = DeviceProperty::All();
  auto property = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == token_.text; });
  if (token_.kind != Kind::kName || property == all.end()) {
    return Expected(absl::StrCat("a property of the device (",
                                 ShortListOf(
                                     all, [](const auto& each) { return std::string(each.name); }, token_.text),
                                 ")"));
  }
  Value value;
  value.term = Term(static_cast<Term::Property>(property - all.begin()));
  Advance();
  return value;
}

}  // namespace v0
}  // namespace tuneonce
