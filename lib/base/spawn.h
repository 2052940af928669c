#ifndef TUNEONCE_LIB_BASE_SPAWN_H_
#define TUNEONCE_LIB_BASE_SPAWN_H_

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

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

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_SPAWN_H_
