#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "store/store_place.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kMarkBegin[] = "tuneonce store lock 1\n";
constexpr std::size_t kMostMarkBytes = 512;

/// Returns a text that distinguishes this file from every other file that ever had its name. An inode may be reused
/// after the file is removed, but the new file has a later birth time. "-" if the file does not exist, or its file
/// system has no birth times.
std::string IdentityOf(const std::string& path) {
  struct statx info {};
  int result = statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &info);
  if (result != 0 || (info.stx_mask & STATX_BTIME) == 0) return "-";
  return absl::StrCat(info.stx_dev_major, ":", info.stx_dev_minor, ".", info.stx_ino, ".", info.stx_btime.tv_sec, ".",
                      info.stx_btime.tv_nsec);
}

std::string MarkOf(const std::string& path) {
  return absl::StrCat(kMarkBegin, IdentityOf(path), "\n", IdentityOf(path + "-wal"), "\n");
}

/// Returns the first bytes of a database, or an empty text without a file. It reads by SQLite's file layer, because a
/// process that closes a file by itself loses the locks that its SQLite holds on that file. It opens no connection,
/// which would take a sixth of a store's opening time to read a hundred bytes.
Result<std::string> ReadHeader(const std::string& path, std::size_t size) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 && errno == ENOENT) return std::string();
  if (!S_ISREG(info.st_mode)) {  // Opening a FIFO would wait.
    return FailedPreconditionError(path + " is not a tuneonce store but a link, folder or device: choose another path");
  }
  if (info.st_size == 0) return std::string();
  sqlite3_vfs* layer = sqlite3_vfs_find(nullptr);
  const char* name = layer == nullptr ? nullptr : sqlite3_create_filename(path.c_str(), "", "", 0, nullptr);
  if (name == nullptr) return UnavailableError(path + " cannot be read: SQLite cannot be initialized");
  absl::Cleanup freeing = [name] { sqlite3_free_filename(const_cast<char*>(name)); };
  auto memory =
      std::make_unique<std::max_align_t[]>(static_cast<std::size_t>(layer->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* file = reinterpret_cast<sqlite3_file*>(memory.get());
  int result = layer->xOpen(layer, name, file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, nullptr);
  if (result != SQLITE_OK) {
    return UnavailableError(
        absl::StrCat(path, " cannot be read: ", std::strerror(layer->xGetLastError(layer, 0, nullptr))));
  }
  absl::Cleanup closing = [file] { file->pMethods->xClose(file); };
  std::string bytes(std::min(size, static_cast<std::size_t>(info.st_size)), '\0');
  result = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  if (result == SQLITE_OK || result == SQLITE_IOERR_SHORT_READ) return bytes;
  return UnavailableError(absl::StrCat(path, " cannot be read (SQLite ", result, ")"));
}

/// Returns the contents of FILE.lock if it is this library's mark or empty, else nothing.
std::optional<std::string> ReadLockFile(const std::string& path) {
  int file = open((path + ".lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  absl::Cleanup closing = [file] { close(file); };  // OFD locks belong to the open file: no other one loses any.
  char bytes[kMostMarkBytes];
  struct stat info {};
  ssize_t count = fstat(file, &info) == 0 && S_ISREG(info.st_mode) ? pread(file, bytes, sizeof(bytes), 0) : -1;
  if (count < 0) return std::nullopt;
  std::string mark(bytes, static_cast<std::size_t>(count));
  return mark.empty() || absl::StartsWith(mark, kMarkBegin) ? std::optional<std::string>(mark) : std::nullopt;
}

/// Returns the identities of the store and its log that WriteMark wrote, or empty ones.
std::pair<std::string, std::string> ReadIdentities(const std::string& path) {
  std::optional<std::string> mark = ReadLockFile(path);
  if (!mark || mark->empty()) return {};
  std::vector<std::string> lines = absl::StrSplit(mark->substr(std::strlen(kMarkBegin)), '\n');
  return lines.size() < 2 ? std::pair<std::string, std::string>() : std::pair(lines[0], lines[1]);
}

constexpr const char* kLogSuffixes[] = {"-wal", "-shm"};

/// A name that nothing has that was set aside before.
std::string FreeName(const std::string& path, const std::string& why) {
  auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  std::string first = absl::StrCat(path, ".", why, "-", now.count(), "-", getpid());
  std::string name = first;
  auto is_taken = [&](const char* suffix) {
    struct stat info {};
    return lstat((name + suffix).c_str(), &info) == 0;
  };
  for (int i = 1; is_taken("") || is_taken("-wal") || is_taken("-shm"); ++i) name = absl::StrCat(first, "-", i);
  return name;
}

void RenameLog(const std::string& path, const std::string& name) {
  for (const char* suffix : kLogSuffixes) std::rename((path + suffix).c_str(), (name + suffix).c_str());
}

}  // namespace

Result<StoreFile> ReadMark(const std::string& path) {
  // SQLite's file format, 1.3: the magic, and big-endian at 68 the application's id.
  const std::string kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kIdAt = 68;
  constexpr std::size_t kHeader = 100;
  TUNEONCE_ASSIGN_OR_RETURN(std::string header, ReadHeader(path, kHeader));
  if (header.empty()) return StoreFile::kMissing;
  std::string refused = absl::StrCat(path, " is not a tuneonce store");
  if (header.size() == kHeader && absl::StartsWith(header, kMagic)) {
    std::uint32_t id = 0;
    for (std::size_t i = 0; i < sizeof(id); ++i) id = id << 8 | static_cast<unsigned char>(header[kIdAt + i]);
    if (id == kStoreApplicationId) return StoreFile::kOurs;
    refused += " but another program's database";
  } else if (std::string identity = IdentityOf(path); identity != "-" && identity == ReadIdentities(path).first) {
    return StoreFile::kOursDamaged;
  }
  return FailedPreconditionError(refused + ", and was not changed: choose another path, or move the file away");
}

void WriteMark(const std::string& path) {
  std::optional<std::string> there = ReadLockFile(path);
  std::string mark = MarkOf(path);
  if (!there || *there == mark) return;
  int file = open((path + ".lock").c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  // Without a mark, or with a half of one, a damaged header is only refused.
  if (ftruncate(file, 0) == 0) (void)!pwrite(file, mark.data(), mark.size(), 0);
  close(file);
}

bool HasLogOfAnother(const std::string& path) {
  auto [store, log] = ReadIdentities(path);
  return !log.empty() && log != "-" && log == IdentityOf(path + "-wal") && store != IdentityOf(path);
}

Status SetAside(const std::string& path, const std::string& why) {
  std::string name = FreeName(path, why);
  RenameLog(path, name);  // Renamed first: without its log the file is in the state of the last checkpoint.
  if (std::rename(path.c_str(), name.c_str()) == 0) return Status();
  return UnavailableError(absl::StrCat("the store ", path, " (", why, ") cannot be renamed: ", std::strerror(errno)));
}

void SetLogAside(const std::string& path) {
  struct stat info {};
  for (const char* suffix : kLogSuffixes) {
    if (lstat((path + suffix).c_str(), &info) == 0) return RenameLog(path, FreeName(path, "left"));
  }
}

std::optional<std::string> LogOf(const std::string& path) {
  for (const char* suffix : kLogSuffixes) {
    struct stat info {};
    if (lstat((path + suffix).c_str(), &info) == 0) return path + suffix;
  }
  return std::nullopt;
}

Status FoldLog(const std::string& path) {
  if (!LogOf(path)) return Status();  // A process that has the store open keeps both.
  const Status in_use = FailedPreconditionError("another process has it open");
  Result<std::shared_ptr<void>> place = LockPlace(path, std::chrono::steady_clock::now());
  if (place.status().code() == StatusCode::kDeadlineExceeded) return in_use;
  TUNEONCE_RETURN_IF_ERROR(place.status());
  if (HasLogOfAnother(path)) SetLogAside(path);
  sqlite3* database = nullptr;
  int result = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, nullptr);
  absl::Cleanup closing = [database] { sqlite3_close(database); };
  // SQLite leaves the WAL mode only if no other connection has the file open.
  if (result == SQLITE_OK) result = sqlite3_exec(database, "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
  if ((result & 0xff) == SQLITE_BUSY) return in_use;
  return result == SQLITE_OK ? Status() : UnavailableError(sqlite3_errmsg(database));
}

}  // namespace v0
}  // namespace tuneonce
