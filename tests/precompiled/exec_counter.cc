// LD_PRELOADed into a program: writes a line to the file EXEC_COUNTER for each process that it starts ("start NAME")
// and each library of a compiler that it opens ("open NAME"). It lets all of them through.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void Note(const char* what, const char* name) {
  const char* path = std::getenv("EXEC_COUNTER");
  if (path == nullptr) return;
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) std::abort();
  std::string line = std::string(what) + " " + (name == nullptr ? "?" : name) + "\n";
  if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  close(file);
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  Note("start", path);
  return Next<int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                  char* const*)>("posix_spawn")(pid, path, actions, attributes, arguments, environment);
}

int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  Note("start", file);
  return Next<int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                  char* const*)>("posix_spawnp")(pid, file, actions, attributes, arguments, environment);
}

pid_t fork() {
  Note("start", "fork");
  return Next<pid_t()>("fork")();
}

int system(const char* command) {
  Note("start", command);
  return Next<int(const char*)>("system")(command);
}

FILE* popen(const char* command, const char* mode) {
  Note("start", command);
  return Next<FILE*(const char*, const char*)>("popen")(command, mode);
}

int execve(const char* path, char* const* arguments, char* const* environment) {
  Note("start", path);
  return Next<int(const char*, char* const*, char* const*)>("execve")(path, arguments, environment);
}

void* dlopen(const char* path, int flags) {
  if (path != nullptr && std::strstr(path, "nvrtc") != nullptr) Note("open", path);
  return Next<void*(const char*, int)>("dlopen")(path, flags);
}

}  // extern "C"
