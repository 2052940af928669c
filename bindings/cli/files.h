#ifndef TUNEONCE_BINDINGS_CLI_FILES_H_
#define TUNEONCE_BINDINGS_CLI_FILES_H_

#include <string>

#include "base/file.h"

namespace tuneonce::cli {

// Files are read by tuneonce::ReadFile.

/// Writes the whole file, or leaves what was there: a file that exists is replaced at once by one of the same mode, and
/// of a symbolic link the target. A pipe or a device stays what it is and is written to. Errors: Unavailable, with the
/// path and the reason, also for a folder or a disk.
Status WriteFile(const std::string& path, const std::string& content);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_FILES_H_
