#include "compile/tool.h"

#include <signal.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/process.h"

namespace tuneonce {
inline namespace v0 {

bool NamesFiles(const std::vector<std::string>& options) {
  auto exists = [](absl::string_view name) { return access(std::string(name).c_str(), F_OK) == 0; };
  for (const std::string& option : options) {
    for (absl::string_view part : absl::StrSplit(option, absl::ByAnyChar("=, "), absl::SkipEmpty())) {
      if (exists(part) || (part.size() > 2 && part[0] == '-' && exists(part.substr(2)))) return true;
    }
  }
  return false;
}

Result<std::string> RunCompiler(const std::vector<std::string>& arguments, const TemporaryFolder& folder,
                                const WaitLimits& limits, std::vector<std::string> environment,
                                const std::string& name) {
  ProcessOptions options;
  options.arguments = arguments;
  options.name = name;
  options.environment = std::move(environment);
  options.environment.push_back("TMPDIR=" + folder.path());
  options.folder = folder.path();
  options.timeout_ms = limits.timeout_ms;
  options.cancelled = limits.cancelled;
  TUNEONCE_ASSIGN_OR_RETURN(ProcessResult result, RunProcess(options));
  std::string said(absl::StripAsciiWhitespace(result.output));
  if (result.exit_code > 128 && result.exit_code <= 128 + SIGRTMAX) {
    return InternalError(absl::StrCat(options.NameInErrors(), " was ended by ", SignalText(result.exit_code - 128),
                                      said.empty() ? "" : ": ", said));
  }
  if (result.exit_code != 0) {
    return InvalidArgumentError(absl::StrCat(options.NameInErrors(), " failed with exit code ", result.exit_code,
                                             said.empty() ? "" : ": ", said));
  }
  return said;
}

}  // namespace v0
}  // namespace tuneonce
