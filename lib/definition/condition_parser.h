#ifndef TUNEONCE_LIB_DEFINITION_CONDITION_PARSER_H_
#define TUNEONCE_LIB_DEFINITION_CONDITION_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "definition/term_parts.h"
#include "tuneonce/condition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Reads a condition from its text (Condition::Parse), by recursive descent with one function for each precedence.
class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text) {}

  Result<Condition> Parse();

  /// Returns the name as a text has it: in backquotes unless it is an identifier without a meaning of its own.
  static std::string NameText(std::string_view name);

 private:
  enum class Kind { kEnd, kNumber, kReal, kString, kName, kOperator, kBad };
  struct Token {
    Kind kind = Kind::kEnd;
    std::size_t begin = 0;  ///< Offset in the text.
    std::size_t end = 0;
    std::string text;        ///< An operator, a name without quotes, or the contents of a string.
    bool is_quoted = false;  ///< Whether a name is in backquotes.
    std::int64_t number = 0;
    double real = 0;
  };
  /// A term; a condition; or a value that only == and != compare with an axis.
  struct Value {
    Term term = Term(0);  ///< Also the expression of a condition.
    bool is_condition = false;
    bool is_value = false;
    AxisValue value = {};
    Token token = {};  ///< Where it begins.
  };

  void Advance();
  void ReadNumber();
  void ReadQuoted(char quote);
  bool Take(std::string_view text);
  bool IsOperator(std::string_view text) const { return token_.kind == Kind::kOperator && token_.text == text; }
  Status Error(const Token& at, std::string_view what) const;
  Status Expected(std::string_view what) const;
  std::string Described(const Token& token) const;
  Status CheckTerm(const Value& value) const;
  /// Returns the value as a condition: a term holds if it is not 0.
  Result<Condition> AsCondition(Value value) const;

  Result<Value> ParseOr();
  Result<Value> ParseAnd();
  Result<Value> ParseComparison();
  Result<Value> ParseSum();
  Result<Value> ParseProduct();
  Result<Value> ParseUnary();
  Result<Value> ParsePrimary();
  Result<Value> ParseName(const Token& name);
  Result<Value> ParseCall(const Token& name);
  Result<Value> ParseDevice();
  Result<Value> ParseAssumption(const AssumptionForm& form);
  Result<std::string> ParseArgumentName();
  Result<Value> Compared(const std::string& comparison, Value a, Value b) const;

  /// Texts come from manifests that anybody may write.
  static constexpr std::size_t kMaxSize = 4096;
  static constexpr int kMaxDepth = 64;
  static constexpr int kMaxOperations = 512;

  std::string_view text_;
  std::size_t next_ = 0;
  Token token_;
  int depth_ = 0;
  int operations_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_CONDITION_PARSER_H_
