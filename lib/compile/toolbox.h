#ifndef TUNEONCE_LIB_COMPILE_TOOLBOX_H_
#define TUNEONCE_LIB_COMPILE_TOOLBOX_H_

#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/temporary_folder.h"
#include "tuneonce/plugin/toolchain.h"
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

/// Where PyPI's wheels may lie, best first: this library's own site-packages, then site-packages and dist-packages of
/// any python3 of $VIRTUAL_ENV, ~/.local, /usr/local and /usr. But for the first, those that are there.
std::vector<std::string> PythonPackageFolders(const Environment& environment);

/// The path of the program `tuneonce_worker`, in which trials and NVRTC run: `Environment::worker`, else beside this
/// library or program (a build), else libexec/tuneonce there (a Python package) or of the installation that it is in,
/// as seen from the folders of this library, of the program, and of the libraries that this code needs (a program that
/// a static library was linked into). Errors: Unavailable, with all places.
Result<std::string> FindWorker(const Environment& environment);

/// The tools of one environment: where they are, which version they have, and where they may write. Toolchains share
/// one; what a tool is made to do is theirs. Thread-safe.
class Toolbox {
 public:
  explicit Toolbox(Environment environment);
  ~Toolbox();

  const Environment& environment() const { return environment_; }

  /// What `command --version` (a program and its first arguments) says in the line that names a release, "... release
  /// 13.5, V13.5.37", else in its first line. Asked once per file; who asks for the same at that time waits for the
  /// answer, who asks for another does not. Errors: Unavailable, if it fails or says nothing that could be a version;
  /// DeadlineExceeded.
  Result<std::string> VersionOf(const std::vector<std::string>& command) const;

  /// Finds one of NVIDIA's compilers by name ("tileiras", "ptxas"):
  /// 1. `explicit_path`, if it is not empty; then nothing else is tried.
  /// 2. PyPI's wheel, nvidia/cu13/bin below: this library's own site-packages, $VIRTUAL_ENV, ~/.local, /usr/local/lib
  ///    and /usr/lib (site-packages or dist-packages of any python3).
  /// 3. CUDA: $CUDA_HOME/bin (or $CUDA_PATH/bin), /usr/local/cuda/bin.
  /// 4. PATH.
  /// Errors: Unavailable with the places; as VersionOf.
  Result<Tool> Find(const std::string& name, const std::string& explicit_path) const;

  /// FindWorker for this environment, which looks at its places once.
  const Result<std::string>& Worker() const;

  /// A folder for one compile. Errors: as TemporaryFolder::Create.
  Result<TemporaryFolder> MakeFolder() const { return TemporaryFolder::Create(environment_.temporary_folder); }

  /// What a tool needs that starts others: PATH, and LC_ALL, which keeps its messages in one language.
  std::vector<std::string> VariablesForTools() const { return {"PATH=" + environment_.path, "LC_ALL=C"}; }

 private:
  struct State;

  const Environment environment_;
  const std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_TOOLBOX_H_
