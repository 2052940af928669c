#include "base/temporary_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/mutex.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kPrefix[] = "tuneonce-";
/// The file in a folder of ours that its process keeps locked.
constexpr char kMark[] = ".tuneonce-owner";
/// How the name of a folder ends that is being removed.
constexpr char kGone[] = ".gone";

void RemoveTree(const std::string& path) {
  // A file that cannot be removed stays, because the error cannot be reported here.
  auto remove = [](const char* each, const struct stat*, int, FTW*) {
    std::remove(each);
    return 0;
  };
  nftw(path.c_str(), remove, /*fd_limit=*/1, FTW_DEPTH | FTW_PHYS);  // There may be no more descriptors than that.
}

bool IsOurs(const FileDescriptor& file, mode_t type) {
  struct stat info {};
  return file.is_open() && fstat(file.get(), &info) == 0 && info.st_uid == geteuid() && (info.st_mode & S_IFMT) == type;
}

/// Locks the file before it gets its name, so that no other process finds it unlocked. If it cannot be locked (on some
/// network file systems) the folder gets no mark, and other processes never remove it. Returns a closed descriptor if
/// no file can be created there.
FileDescriptor Mark(const std::string& folder) {
  std::string mark = absl::StrCat(folder, "/", kMark);
  std::string unlocked = mark + ".new";
  FileDescriptor file(open(unlocked.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.is_open() && flock(file.get(), LOCK_EX | LOCK_NB) == 0) std::rename(unlocked.c_str(), mark.c_str());
  return file;
}

bool IsGone(const std::string& path) { return absl::EndsWith(path, kGone); }

/// Renames the folder first, so that a process which still uses the old name, such as a compiler of a dead process,
/// does not find it, and so that the name of a folder which is left by a process killed meanwhile shows that it can be
/// removed.
void RemoveFolder(const std::string& path) {
  std::string there = IsGone(path) ? path : path + kGone;
  if (there != path && std::rename(path.c_str(), there.c_str()) != 0) there = path;
  for (const std::string& name : NamesIn(there)) {
    if (name != kMark) RemoveTree(absl::StrCat(there, "/", name));
  }
  // Removed last, because it identifies a folder that kept its name as this library's.
  std::remove(absl::StrCat(there, "/", kMark).c_str());
  rmdir(there.c_str());
}

/// Once for each folder that this process makes others in.
void RemoveAbandonedFoldersOnce(const std::string& parent) {
  static Mutex* const mutex = new Mutex;
  static auto* const done = new std::set<std::string>;
  {
    MutexLock lock(*mutex);
    if (!done->insert(parent).second) return;
  }
  RemoveAbandonedFolders(parent);
}

}  // namespace

void RemoveAbandonedFolders(const std::string& parent) {
  for (const std::string& name : NamesIn(parent)) {
    if (name.rfind(kPrefix, 0) != 0) continue;
    std::string path = absl::StrCat(parent, "/", name);
    FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!IsOurs(folder, S_IFDIR)) continue;
    if (IsGone(name)) {
      RemoveFolder(path);
      continue;
    }
    FileDescriptor mark(openat(folder.get(), kMark, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!IsOurs(mark, S_IFREG) || flock(mark.get(), LOCK_EX | LOCK_NB) != 0) continue;
    RemoveFolder(path);
  }
}

Result<TemporaryFolder> TemporaryFolder::Create(const std::string& parent) {
  RemoveAbandonedFoldersOnce(parent);
  std::string name = absl::StrCat(parent, "/", kPrefix, "XXXXXX");
  bool is_made = mkdtemp(name.data()) != nullptr;
  FileDescriptor owner = is_made ? Mark(name) : FileDescriptor();
  if (owner.is_open()) return TemporaryFolder(std::move(name), std::move(owner));
  int error = errno;
  if (is_made) rmdir(name.c_str());
  std::string advice = error == EMFILE || error == ENFILE ? "" : "; set TMPDIR to a writable folder with free space";
  return ResourceExhaustedError(
      absl::StrCat("cannot make a temporary folder in ", parent, ": ", std::strerror(error), advice));
}

TemporaryFolder::~TemporaryFolder() {
  owner_.Close();  // Listing a folder takes a descriptor, and none may be left.
  if (!path_.empty()) RemoveFolder(path_);
}

Result<std::string> TemporaryFolder::WriteFile(const std::string& name, const std::string& content) const {
  std::string file = absl::StrCat(path_, "/", name);
  TUNEONCE_RETURN_IF_ERROR(tuneonce::WriteFile(file, content));
  return file;
}

}  // namespace v0
}  // namespace tuneonce
