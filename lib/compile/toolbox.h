#ifndef TUNEONCE_LIB_COMPILE_TOOLBOX_H_
#define TUNEONCE_LIB_COMPILE_TOOLBOX_H_

#include <memory>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/temporary_folder.h"
#include "compile/tool.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The tools of one environment: where they are, which version they have, and where they may write. Toolchains share
/// one; what a tool is made to do is theirs. Thread-safe.
class TUNEONCE_API Toolbox {
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
