#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace tuneonce {
inline namespace v0 {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Spawn::Spawn() {
  posix_spawn_file_actions_init(&actions_);
  posix_spawnattr_init(&attributes_);
  Open(STDIN_FILENO, "/dev/null", O_RDONLY);
}

Spawn::~Spawn() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

void Spawn::Open(int descriptor, const char* path, int flags) {
  posix_spawn_file_actions_addopen(&actions_, descriptor, path, flags, 0);
}

void Spawn::Duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }

int Spawn::Start(const std::string& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, Apart apart, pid_t* pid) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes_, &none);
  posix_spawnattr_setsigdefault(&attributes_, &all);
  posix_spawnattr_setpgroup(&attributes_, 0);
  const int by = apart == Apart::kInSession ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes_, static_cast<short>(by | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  return posix_spawn(pid, program.c_str(), &actions_, &attributes_, Pointers(arguments).data(),
                     Pointers(environment).data());
}

}  // namespace v0
}  // namespace tuneonce
