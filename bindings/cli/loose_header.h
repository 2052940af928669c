#ifndef TUNEONCE_BINDINGS_CLI_LOOSE_HEADER_H_
#define TUNEONCE_BINDINGS_CLI_LOOSE_HEADER_H_

#include <optional>
#include <string>

#include "tuneonce/artifact.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// Returns the first file that a C++ source of the bundle in `folder` includes and that is neither one of its `headers`
/// nor the compiler's own. Such a file would not be shipped with the bundle, and is not part of the kernel's identity.
/// If the compile succeeded, its list of files decides, or without a list (NVRTC before 13) a "header" in the working
/// directory. If it failed, a "header" decides that the error names and the bundle's folder contains. The result is
/// relative to `folder` if the file is in it.
std::optional<std::string> FindLooseHeader(const std::string& folder, const KernelSource& source,
                                           const Result<Artifact>& compiled);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_LOOSE_HEADER_H_
