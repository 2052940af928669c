#ifndef TUNEONCE_LIB_COMPILE_TOOL_H_
#define TUNEONCE_LIB_COMPILE_TOOL_H_

#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "tuneonce/compile_options.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A compiler that runs as a process of its own.
struct Tool {
  std::string path;
  std::string version;  ///< Toolbox::VersionOf({path}).
};

/// Whether a part of an option (between '=', ',' or blanks, also after "-l" and the like) is the name of a file or
/// folder: what tools without a list of what they read may make code of (--options-file, --apply-controls, -l).
bool NamesFiles(const std::vector<std::string>& options);

/// Runs a tool: `arguments` (program first) with an environment of TMPDIR and `environment` alone, where TMPDIR is
/// `folder`. `name` is what errors call the tool; empty: its path. Returns what the tool printed. Errors:
/// InvalidArgument with that text for an exit code other than 0; Internal if a signal ended it; Unavailable,
/// DeadlineExceeded, Cancelled.
Result<std::string> RunCompiler(const std::vector<std::string>& arguments, const TemporaryFolder& folder,
                                const WaitLimits& limits, std::vector<std::string> environment = {},
                                const std::string& name = "");

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_TOOL_H_
