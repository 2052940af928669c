#include "compare_operand.h"

#include <filesystem>
#include <system_error>

#include "report_page/report_data.h"

namespace tuneonce::cli {
const char* KindName(CompareOperand::Kind kind) {
  switch (kind) {
    case CompareOperand::Kind::kStore:
      return "a store";
    case CompareOperand::Kind::kResult:
      return "a result";
    case CompareOperand::Kind::kBundle:
      break;
  }
  return "a bundle";
}

Result<CompareOperand> ReadOperand(const std::string& text) {
  CompareOperand operand;
  operand.text = operand.bundle = text;
  std::error_code error;  // A file that cannot be read does not count as a file.
  if (std::filesystem::is_regular_file(text, error)) {
    operand.kind = report::IsSqliteFile(text) ? CompareOperand::Kind::kStore : CompareOperand::Kind::kResult;
    return operand;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::is_directory(text, error)) return operand;
  operand.bundle = text.substr(0, colon);
  operand.backend = text.substr(colon + 1);
  if (!operand.bundle.empty() && !operand.backend.empty()) return operand;
  return InvalidArgumentError("'" + text + "' is not a bundle with a back end: write it as matmul:tile");
}

}  // namespace tuneonce::cli
