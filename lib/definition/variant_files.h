#ifndef TUNEONCE_LIB_DEFINITION_VARIANT_FILES_H_
#define TUNEONCE_LIB_DEFINITION_VARIANT_FILES_H_

#include <string>

#include "tuneonce/config.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// `pattern` with each "{AXIS}" replaced by the axis's value. Errors: InvalidArgument for an axis that the config does
/// not have, or a brace that does not close.
Result<std::string> ExpandAxes(const std::string& pattern, const Config& config);

/// Makes the source from a config's file. In both patterns "{AXIS}" stands for the config's value of that axis. Errors
/// (an axis that the config lacks, a file that cannot be read) are returned by the source's Check.
KernelSource SourceInFile(SourceKind kind, const std::string& file_pattern, const std::string& symbol_pattern,
                          const Config& config);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_VARIANT_FILES_H_
