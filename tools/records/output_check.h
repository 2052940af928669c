#ifndef TUNEONCE_TOOLS_RECORDS_OUTPUT_CHECK_H_
#define TUNEONCE_TOOLS_RECORDS_OUTPUT_CHECK_H_

#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Checks, before a command does anything, that a file which it will write does not destroy what it needs. `inputs` are
/// the paths of the files that it reads; an empty one is the user's store. Errors: InvalidArgument, with both names, if
/// `output` is one of the inputs or a tuneonce store, also through a symbolic or hard link.
Status CheckOutput(const std::string& output, const std::vector<std::string>& inputs);

/// Checks the output of a command that writes a store, which may replace a store that no process has open. The log of
/// such a store is written into its file, because SQLite would apply it to the new store. `kernel` is the only kernel
/// whose records may be replaced; empty: those of all. Errors: InvalidArgument if `output` is one of the inputs, or has
/// records of other kernels; FailedPrecondition if a process has it open.
Status CheckStoreOutput(const std::string& output, const std::vector<std::string>& inputs, const std::string& kernel);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_RECORDS_OUTPUT_CHECK_H_
