#ifndef TUNEONCE_PLUGIN_OPTION_TABLE_H_
#define TUNEONCE_PLUGIN_OPTION_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tuneonce/autotune_policy.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The value of an option: of a flag, an integer, a number, or a word or text.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One option of an AutotunePolicy by its name. The Python package's keywords, the command's flags, the C interface and
/// docs/options.md are made of these. Options that are objects (stores, timers, observers, callbacks, groups of ranks)
/// are not in the table, because they have no value as text.
struct Option {
  enum class Type {
    kFlag,
    kInteger,
    kNumber,  ///< A finite number.
    kWord,    ///< One of `words`.
    kText,
  };

  std::string_view name;    ///< "wall_budget_ms": the keyword in Python.
  std::string_view member;  ///< "search.budgets.wall": the member of AutotunePolicy.
  Type type;
  std::string_view unit;                ///< "ms" or "bytes". Empty: none.
  std::vector<std::string_view> words;  ///< For kWord: the values.
  double least = 0;                     ///< For kInteger and kNumber: the smallest value.
  double most = 0;                      ///< The largest value.
  bool is_of_search;                    ///< Whether it is an option of exhaustive_search, too.
  std::string_view since;               ///< The version that introduced it.
  std::string_view text;                ///< What it does, as a sentence.
  OptionValue (*get)(const AutotunePolicy& policy);
  /// Sets the option. REQUIRES: the value has the type of the option and is in its range; SetOption checks that.
  void (*set)(AutotunePolicy& policy, const OptionValue& value);
};

/// Returns all options, those of kernels before those of searches. The table lives as long as the process. Thread-safe.
TUNEONCE_API const std::vector<Option>& Options();
/// Returns the option with this name, or null. Thread-safe.
TUNEONCE_API const Option* FindOption(std::string_view name);

/// Sets an option of `policy`. An integer is accepted for a number. Errors: NotFound for a name that is not in the
/// table; InvalidArgument for a value of another type or outside of the range. Both name what is possible.
TUNEONCE_API Status SetOption(AutotunePolicy* policy, std::string_view name, const OptionValue& value);
/// Sets an option from its text: "true" or "false" for a flag, digits for an integer. Errors: those of SetOption.
TUNEONCE_API Status SetOptionText(AutotunePolicy* policy, std::string_view name, std::string_view text);
/// Checks what a program has set without SetOption. Errors: InvalidArgument for the first option whose value SetOption
/// would refuse; it names the member and what is possible.
TUNEONCE_API Status CheckOptions(const AutotunePolicy& policy);
TUNEONCE_API Status CheckOptions(const SearchOptions& options);
/// Prints a value as SetOptionText reads it.
TUNEONCE_API std::string OptionText(const OptionValue& value);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_OPTION_TABLE_H_
