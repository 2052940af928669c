#include "store/store_place.h"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string ErrorText() { return std::strerror(errno); }

struct SplitPath {
  std::string folder;  // "." for a path without a folder; "/" for the root.
  std::string name;
};

SplitPath Split(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  std::size_t end = path.find_last_not_of('/', slash);
  return {end == std::string::npos ? "/" : path.substr(0, end + 1), path.substr(slash + 1)};
}

Status MakeFolder(const std::string& folder) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) == 0) return Status();
  if (std::string parent = Split(folder).folder; parent != folder) TUNEONCE_RETURN_IF_ERROR(MakeFolder(parent));
  if (mkdir(folder.c_str(), 0700) != 0) {
    if (errno == EEXIST) return Status();
    return UnavailableError(absl::StrCat("the store's folder ", folder, " cannot be made: ", ErrorText()));
  }
  if (lstat(folder.c_str(), &info) != 0 || (info.st_mode & S_IRWXU) == S_IRWXU) return Status();
  rmdir(folder.c_str());
  return FailedPreconditionError(absl::StrCat(
      "the store's folder ", folder,
      " was created without permissions for its owner, because of the process's umask: set a umask such as 077"));
}

/// Checks that only this user can write a file, because a stored cubin is executable code.
Status CheckTrusted(const std::string& path, const struct stat& info, const char* what) {
  std::string subject = absl::StrCat("the store's ", what, " ", path);
  if (S_ISLNK(info.st_mode))
    return FailedPreconditionError(subject + " is a symbolic link: use its target as the path");
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;  // As in /tmp, where each user has a folder of his own.
  if (S_ISDIR(info.st_mode) && (info.st_mode & kShared) == kShared) {
    return FailedPreconditionError(absl::StrCat(subject,
                                                " is shared by all users: a stored cubin is executable code; "
                                                "use a folder of your own inside it, for example ",
                                                path, "/tuneonce-", geteuid()));
  }
  if (info.st_uid != geteuid()) {
    return FailedPreconditionError(absl::StrCat(subject, " belongs to user ", info.st_uid,
                                                ": a stored cubin is executable code; use a folder of your own"));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return FailedPreconditionError(subject +
                                   " can be written by others: a stored cubin is executable code; chmod go-w it");
  }
  return Status();
}

}  // namespace

bool IsNetworkFileSystem(unsigned long type) {
  for (unsigned long network :
       {0x6969ul /*NFS*/, 0x517Bul /*SMB*/, 0xFF534D42ul /*CIFS*/, 0xFE534D42ul /*SMB2*/, 0x5346414Ful /*AFS*/,
        0x00C36400ul /*Ceph*/, 0x0BD00BD0ul /*Lustre*/, 0x47504653ul /*GPFS*/, 0x19830326ul /*BeeGFS*/,
        0x65735546ul /*FUSE*/, 0x01021997ul /*9p*/, 0x20030528ul /*OrangeFS*/, 0xAAD7AAEAul /*PanFS*/,
        0x7461636Ful /*OCFS2*/, 0x01161970ul /*GFS2*/, 0x73757245ul /*Coda*/, 0x564Cul /*NCP*/}) {
    // f_type is signed, and on some systems 32 bits.
    if ((type & 0xFFFFFFFFul) == network) return true;
  }
  return false;
}

std::string ResolveParents(const std::string& path) {
  auto [folder, name] = Split(path);
  auto [parent, last] = Split(folder);
  bool has_last = !last.empty() && last != "." && last != "..";
  std::string resolved = RealPath(has_last ? parent : folder);
  if (resolved.empty()) return path;
  if (resolved == "/") resolved.clear();
  return has_last ? absl::StrCat(resolved, "/", last, "/", name) : absl::StrCat(resolved, "/", name);
}

Result<std::string> PrepareStorePlace(const std::string& path) {
  if (Split(path).name.empty()) {
    return InvalidArgumentError(absl::StrCat("the store's path ", path, " is a folder: add a file name"));
  }
  std::string folder = Split(path).folder;
  TUNEONCE_RETURN_IF_ERROR(MakeFolder(folder));
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) {
    return UnavailableError(absl::StrCat("the store's folder ", folder, " cannot be read: ", ErrorText()));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckTrusted(folder, info, "folder"));
  struct statfs system {};
  if (statfs(folder.c_str(), &system) == 0 && IsNetworkFileSystem(static_cast<unsigned long>(system.f_type))) {
    return FailedPreconditionError(absl::StrCat("the store's folder ", folder,
                                                " is on a network, cluster or FUSE file system, where SQLite cannot "
                                                "share a file: set TUNEONCE_STORE to a local path"));
  }
  if (lstat(path.c_str(), &info) == 0) {
    TUNEONCE_RETURN_IF_ERROR(CheckTrusted(path, info, "file"));
  } else if (errno != ENOENT) {
    return UnavailableError(absl::StrCat("the store ", path, " cannot be read: ", ErrorText()));
  }
  return ResolveParents(path);
}

}  // namespace v0
}  // namespace tuneonce
