#ifndef TUNEONCE_BINDINGS_CLI_FILES_H_
#define TUNEONCE_BINDINGS_CLI_FILES_H_

#include <string>

#include "base/file.h"

namespace tuneonce::cli {

// Files are read by tuneonce::ReadFile.

/// Writes the whole file, or leaves an existing one unchanged: it is replaced atomically by a file of the same mode. A
/// symbolic link is followed. A pipe or a device is written to. Errors: Unavailable, with the path and the reason, also
/// for a folder or a disk.
Status WriteFile(const std::string& path, const std::string& content);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_FILES_H_
