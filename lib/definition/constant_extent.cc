#include "definition/constant_extent.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

std::optional<std::int64_t> ConstantExtent(const std::string& entry) {
  if (entry.empty() || entry[0] != '=') return std::nullopt;
  std::int64_t extent = 0;
  return absl::SimpleAtoi(entry.substr(1), &extent) && extent > 0 ? extent : 0;
}

std::int64_t ExtentAt(const KernelDefinition& definition, const std::string& entry, const Dims& dims) {
  const std::optional<std::int64_t> constant = ConstantExtent(entry);
  return constant ? *constant : dims[definition.DimOf(entry)];
}

Status OtherConstantExtent(const std::string& kernel, const std::string& parameter, std::size_t dimension,
                           std::int64_t extent, std::int64_t constant) {
  return InvalidArgumentError(absl::StrCat("kernel '", kernel, "', parameter '", parameter, "', dimension ", dimension,
                                           ": extent ", extent, " differs from the declared extent ", constant));
}

}  // namespace v0
}  // namespace tuneonce
