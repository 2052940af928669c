#ifndef TUNEONCE_BINDINGS_CLI_COMPARE_OPERAND_H_
#define TUNEONCE_BINDINGS_CLI_COMPARE_OPERAND_H_

#include <string>

#include "tuneonce/result.h"

namespace tuneonce::cli {

/// An operand A or B of `tuneonce compare`.
struct CompareOperand {
  enum class Kind {
    kBundle,  ///< A folder or a name; of one back end or variant: "matmul:tile".
    kStore,   ///< A file of records.
    kResult,  ///< A file that `tune --json` wrote.
  };

  Kind kind = Kind::kBundle;
  std::string text;     ///< The text on the command line.
  std::string bundle;   ///< kBundle: by which it is found.
  std::string backend;  ///< kBundle: empty: all.
};

/// "a bundle", "a store", "a result".
const char* KindName(CompareOperand::Kind kind);

/// Interprets a text by what exists: a file is a store if it is an SQLite file, else a result, and any other text is a
/// bundle. A folder with a colon in its name is that folder. Errors: InvalidArgument for "matmul:" and ":tile"; those
/// of reading a file.
Result<CompareOperand> ReadOperand(const std::string& text);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMPARE_OPERAND_H_
