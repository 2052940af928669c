#ifndef TUNEONCE_BINDINGS_CLI_FILES_H_
#define TUNEONCE_BINDINGS_CLI_FILES_H_

#include <string>

#include "tuneonce/base/result.h"

namespace tuneonce::cli {

/// The whole file. Errors: NotFound, with the path and the system's reason.
Result<std::string> ReadFile(const std::string& path);
/// Writes the whole file, or leaves what was there. Errors: Unavailable, with the path and the system's reason.
Status WriteFile(const std::string& path, const std::string& content);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_FILES_H_
