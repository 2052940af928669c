#ifndef TUNEONCE_LIB_BASE_PROCESS_H_
#define TUNEONCE_LIB_BASE_PROCESS_H_

#include <string>
#include <vector>

#include "tuneonce/base/result.h"

namespace tuneonce {

/// One run of a tool.
struct ProcessOptions {
  /// Program (a path, or a name found in `Environment::path`) and its arguments.
  std::vector<std::string> arguments;
  /// The child's whole environment, "NAME=value". The parent's is not inherited: tools misread it.
  std::vector<std::string> environment;
  /// The child and all its children are killed after this long. 0 means no deadline.
  int timeout_ms = 120000;
  /// Only the first bytes of stdout and stderr together are kept.
  std::size_t max_output_bytes = std::size_t{64} * 1024;
};

struct ProcessResult {
  int exit_code = 0;   ///< The exit code, or 128 + the signal's number.
  std::string output;  ///< stdout and stderr, interleaved as written.
};

/// Runs a tool in a process group of its own and waits for it. An exit code other than 0 is a result, not an error.
/// Errors: Unavailable (cannot be started), DeadlineExceeded (killed with its whole group). Thread-safe.
Result<ProcessResult> RunProcess(const ProcessOptions& options);

/// The absolute path of a program: `name` itself if it has a slash, else the first hit in `path` (colon separated).
/// Empty if there is none.
std::string FindProgram(const std::string& name, const std::string& path);

/// A folder of its own under `Environment::temporary_folder`, removed with its files (not sub-folders) at the end.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Create();
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }

  const std::string& path() const { return path_; }
  /// Writes `path()/name` and returns its full path.
  Result<std::string> WriteFile(const std::string& name, const std::string& content) const;

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The whole content of a file. Errors: NotFound, with the path and the system's reason.
Result<std::string> ReadFile(const std::string& path);

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_PROCESS_H_
