#ifndef TUNEONCE_LIB_BASE_PROCESS_H_
#define TUNEONCE_LIB_BASE_PROCESS_H_

#include <spawn.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Descriptors of this process are moved to this number or above, so that they do not collide with those that the new
/// process gets, even in a host that has closed some of those.
inline constexpr int kFirstDescriptor = 10;

/// Starts another process (posix_spawn) with the descriptors that the calls set, in their order; stdin is /dev/null. No
/// signal is blocked or ignored in it (a host may ignore SIGCHLD, and Python ignores SIGPIPE and SIGXFSZ, which a
/// program would inherit). Thread rule: one thread.
class Spawn {
 public:
  enum class Apart { kInGroup, kInSession };  ///< The new process leads a process group, or a session, of its own.

  Spawn();
  ~Spawn();
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void Open(int descriptor, const char* path, int flags);
  void Duplicate(int from, int to);

  /// Starts `program`, a path. `arguments` begins with its name, and `environment` is complete ("NAME=value"). Returns
  /// 0 or an errno.
  int Start(const std::string& program, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment, Apart apart, pid_t* pid);

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// Options of one run of a tool.
struct ProcessOptions {
  /// Program, as a path (FindProgram), and its arguments.
  std::vector<std::string> arguments;
  /// What errors call a program that was started. Empty: its path.
  std::string name;
  const std::string& NameInErrors() const { return name.empty() ? arguments[0] : name; }
  /// The child's whole environment, "NAME=value". The parent's is not inherited: tools misread it.
  std::vector<std::string> environment;
  /// The child and all its children are killed after this long. 0 means no deadline.
  int timeout_ms = 120000;
  /// The child and all its children are killed soon (20 ms) after this becomes true. Null: never.
  const std::atomic<bool>* cancelled = nullptr;
  /// Removed, with all that is in it, if this process dies before the tool does. Empty: none.
  std::string folder;
  /// Limit of the size of each file that the tool writes, in bytes, or this process's own limit if that is less. A tool
  /// that exceeds it gets SIGXFSZ (an exit code of 153). 0 means no further limit.
  std::int64_t max_file_bytes = std::int64_t{1} << 30;
  /// Only the first bytes of stdout and stderr together are kept.
  std::size_t max_output_bytes = std::size_t{64} * 1024;
};

struct ProcessResult {
  int exit_code = 0;   ///< The exit code, or 128 + the signal's number.
  std::string output;  ///< stdout and stderr, interleaved as written.
};

/// Runs a tool in a process group of its own and waits for it. An exit code other than 0 is a result, not an error.
/// Whatever ends first (the tool, its deadline, this process, even by SIGKILL), no process of the group is left.
/// Nothing of it depends on the host's handling of SIGCHLD, or on which descriptors the host has open.
/// Errors: Unavailable (it or its shell cannot be started), ResourceExhausted (no descriptors), DeadlineExceeded and
/// Cancelled (killed with its whole group). Thread-safe.
///
/// A shell supervises the tool: it holds one end of a pipe whose other end only this process has, and kills the group
/// when that end closes. PR_SET_PDEATHSIG would not do: it is lost on the tool's own children, and it follows the
/// thread, not the process.
Result<ProcessResult> RunProcess(const ProcessOptions& options);

/// "signal 11 (SIGSEGV)"; without a name for a signal that rarely ends a process.
std::string SignalText(int signal);

/// Returns the absolute path of a program: `name` itself if it has a slash, else the first match in `path` (colon
/// separated), else empty.
std::string FindProgram(const std::string& name, const std::string& path);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_PROCESS_H_
