#ifndef TUNEONCE_LIB_BASE_SPAWN_H_
#define TUNEONCE_LIB_BASE_SPAWN_H_

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace tuneonce {
inline namespace v0 {

/// What this process keeps of what a new one inherits lies from here on: above the descriptors that are replaced there,
/// also in a host that has closed some of these.
inline constexpr int kFirstDescriptor = 10;

/// How another process is started (posix_spawn): which descriptors it has, in the order of the calls; stdin is
/// /dev/null. Its signals are as a process of its own expects them: none blocked, none ignored (a host may ignore
/// SIGCHLD, and Python ignores SIGPIPE and SIGXFSZ; a program inherits both). One thread makes, uses and destroys it.
class Spawn {
 public:
  enum class Apart { kInGroup, kInSession };  ///< It leads a process group, or a session, of its own.

  Spawn();
  ~Spawn();
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void Open(int descriptor, const char* path, int flags);
  void Duplicate(int from, int to);

  /// Starts `program`, a path; `arguments` begin with its name, `environment` is all of it ("NAME=value"). Returns 0,
  /// or an errno.
  int Start(const std::string& program, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment, Apart apart, pid_t* pid);

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_SPAWN_H_
