#ifndef TUNEONCE_BINDINGS_CLI_LOOSE_HEADER_H_
#define TUNEONCE_BINDINGS_CLI_LOOSE_HEADER_H_

#include <optional>
#include <string>

#include "tuneonce/artifact.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// The first file that a C++ source of the bundle in `folder` includes, and that is neither one of its `headers` nor
/// the compiler's own: it would not travel with the bundle, and is no part of the kernel's identity. If the compile
/// succeeded, its list of files decides; without a list (NVRTC before 13), a "header" that is in the working directory.
/// If it failed, a "header" that the error names and that the bundle's folder has. The result is relative to `folder`
/// where the file lies in it.
std::optional<std::string> FindLooseHeader(const std::string& folder, const KernelSource& source,
                                           const Result<Artifact>& compiled);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_LOOSE_HEADER_H_
