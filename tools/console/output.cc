#include "console/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "base/printable.h"
#include "base/short_list.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Between an error's message and what to do about it.
constexpr char kRemedy[] = "\x1etry: ";
/// Maximum size of a cause, which is some lines of a terminal.
constexpr std::size_t kMostCauseBytes = 600;

/// Returns where a message's first line ends, or the part of a long line that is shown. `tuneonce doctor` shows the
/// places where a missing thing was searched.
std::size_t EndOfCause(const std::string& message) {
  constexpr char kPlaces[] = "; looked for: ";
  const std::size_t places = message.find(kPlaces);
  // A single place with a path is one that the user named, and belongs to the cause.
  const bool is_named = places != std::string::npos && message.find("; ", places + 1) == std::string::npos &&
                        message.compare(places + std::strlen(kPlaces), 1, "/") == 0;
  std::size_t end = std::min({message.find('\n'), is_named ? message.size() : places, message.size()});
  if (end <= kMostCauseBytes) return end;
  end = message.rfind(' ', kMostCauseBytes);
  return end == std::string::npos || end == 0 ? kMostCauseBytes : end;
}

Status CannotWrite(const std::string& path, const std::string& why) {
  return UnavailableError("cannot write " + path + ": " + why);
}

/// Returns the folder of a path, which ends with "/", or an empty text for a name in the current folder.
std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// 0, or errno. Closes the file in any case.
int WriteAndClose(int file, std::string_view content) {
  int error = 0;
  while (!content.empty() && error == 0) {
    ssize_t written = write(file, content.data(), content.size());
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error = errno;
  }
  // On disk before it takes the old file's place. A pipe or a device knows no fsync.
  if (error == 0 && fsync(file) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

/// Writes a file in the same folder, with the owner and mode of `old` (null for a new file), and renames it to `path`.
Status Replace(const std::string& path, const struct stat* old, const std::string& content) {
  std::string temporary = FolderOf(path) + ".tuneonce-XXXXXX";
  int file = mkstemp(temporary.data());
  if (file < 0) return CannotWrite(path, std::strerror(errno));
  mode_t mask = umask(0);
  umask(mask);
  // Only root can give a file away; for others it becomes theirs, as with any new file.
  if (old != nullptr && fchown(file, old->st_uid, old->st_gid) != 0) errno = 0;
  int error = fchmod(file, old != nullptr ? old->st_mode & 0777 : 0666 & ~mask) != 0 ? errno : 0;
  if (int written = WriteAndClose(file, content); error == 0) error = written;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return Status();
  unlink(temporary.c_str());
  return CannotWrite(path, std::strerror(error));
}

}  // namespace

void PrintLine(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  int length = std::vsnprintf(nullptr, 0, format, arguments);
  std::string line(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');  // vsnprintf ends it with a zero.
  std::vsnprintf(line.data(), line.size(), format, again);
  va_end(again);
  va_end(arguments);
  line.pop_back();
  PrintText(Printable(line) + "\n");
}

void PrintText(const std::string& lines) { std::fputs(PrintableLines(lines).c_str(), stdout); }

void PrintJson(const nlohmann::ordered_json& json) {
  std::string text = json.dump(2, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
  std::fputs((text + "\n").c_str(), stdout);
}

Status Remedied(Status error, const std::string& remedy) {
  return Status(error.code(), error.message() + kRemedy + remedy);
}

bool UsesColors(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && no_color[0] != '\0') return false;
  return isatty(descriptor) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
}

void PrintError(const std::string& message, bool verbose) {
  std::string cause = message.substr(0, message.find(kRemedy));
  std::string remedy = cause.size() < message.size() ? message.substr(cause.size() + std::strlen(kRemedy)) : "";
  const std::size_t end = EndOfCause(cause);
  const std::string details = cause.substr(end);
  cause.resize(end);
  if (!details.empty() && !verbose) {
    if (details.front() != ';') cause += " ...";
    if (remedy.empty()) remedy = "the same command with --verbose, which prints the full error";
  }
  std::fflush(stdout);  // Before it, where both are one file.
  const bool colors = UsesColors(STDERR_FILENO);
  std::fprintf(stderr, "%stuneonce: %s%s\n", colors ? "\x1b[31m" : "", colors ? "\x1b[0m" : "",
               Printable(cause).c_str());
  if (!details.empty() && verbose) {
    const std::size_t text = details.find_first_not_of("; \n");
    // Indented, so that no line of a file's or a tool's can pass for one of ours.
    const std::string lines = text == std::string::npos ? "" : PrintableLines(details.substr(text));
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t stop = std::min(lines.find('\n', at), lines.size());
      std::fprintf(stderr, "    %s\n", lines.substr(at, stop - at).c_str());
      at = stop + 1;
    }
  }
  if (!remedy.empty()) std::fprintf(stderr, "  try: %s\n", Printable(remedy).c_str());
}

void PrintNote(const std::string& line) { std::fprintf(stderr, "tuneonce: %s\n", Printable(line).c_str()); }

std::string TimeText(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::min(std::max(seconds, 0.0), 1e9)));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

std::string OneLine(const std::string& text) { return Printable(text); }

std::string NamesLike(const std::vector<std::string>& names, const std::string& wanted) {
  return ShortList(names, wanted);
}

Result<std::string> ReadInput(const std::string& path) { return ReadFile(path); }

Status CloseOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status();
  return UnavailableError(std::string("cannot write to stdout: ") + std::strerror(errno));
}

Result<std::string> OutputTarget(const std::string& path) {
  std::string at = path;
  constexpr int kMostLinks = 40;  // The limit of Linux.
  for (int i = 0; i < kMostLinks; ++i) {
    char bytes[PATH_MAX];
    const ssize_t length = readlink(at.c_str(), bytes, sizeof(bytes));
    if (length < 0) return at;  // No link.
    const std::string target(bytes, static_cast<std::size_t>(length));
    at = target.rfind('/', 0) == 0 ? target : FolderOf(at) + target;
  }
  return CannotWrite(path, std::strerror(ELOOP));
}

Status WriteOutput(const std::string& path, const std::string& content) {
  struct stat info {};
  bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) return CannotWrite(path, std::strerror(errno));
  if (!exists || S_ISREG(info.st_mode)) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string target, OutputTarget(path));
    return Replace(target, exists ? &info : nullptr, content);
  }
  if (S_ISDIR(info.st_mode)) return CannotWrite(path, "it is a folder: give a file name");
  if (S_ISBLK(info.st_mode)) return CannotWrite(path, "it is a block device");
  int file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  int error = file < 0 ? errno : WriteAndClose(file, content);
  return error == 0 ? Status() : CannotWrite(path, std::strerror(error));
}

}  // namespace v0
}  // namespace tuneonce
