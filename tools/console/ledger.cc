#include "console/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/number_text.h"
#include "console/numbers.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kHeader[] = "iteration\tchange\tlatency_ms\tcorrectness\tstatus\tpeak_bytes";
constexpr std::size_t kColumns = 6;
constexpr std::size_t kStatusColumn = 4;
/// When a loop should stop, as loops in the field do: what follows costs more than it finds.
constexpr int kMostWithoutGain = 2;
constexpr std::int64_t kMostIterations = 25;
constexpr std::size_t kMostLedgerBytes = std::size_t{64} << 20;
/// How long others' appends are waited for; each takes a moment.
constexpr std::chrono::seconds kPatience(3);
constexpr std::chrono::milliseconds kPoll(5);

Status CannotAppend(const std::string& path, const std::string& why) {
  return UnavailableError("cannot append to " + path + ": " + why);
}

Result<FileDescriptor> Open(const std::string& path, int flags) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | flags, 0666));
  if (!file.is_open()) return CannotAppend(path, std::strerror(errno));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return CannotAppend(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return CannotAppend(path, "it is not a file");
  return file;
}

/// Held until the descriptor is closed. Of an open file description, so that threads wait for each other, too.
Status Lock(const FileDescriptor& file, const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fcntl(file.get(), F_OFD_SETLK, &whole) == 0) return Status();
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return CannotAppend(path, std::strerror(errno));
    if (std::chrono::steady_clock::now() >= end) {
      return DeadlineExceededError("cannot append to " + path + ": another process has locked it");
    }
    std::this_thread::sleep_for(kPoll);
  }
}

/// What the complete rows of a ledger tell.
struct LedgerState {
  std::int64_t last_iteration = 0;
  int without_gain = 0;  ///< The number of last rows without a gain.

  void Add(std::int64_t iteration, absl::string_view status) {
    last_iteration = iteration;
    without_gain = status == "accept" || status == "minor" ? 0 : without_gain + 1;
  }
  std::string WhyStop() const {
    if (last_iteration >= kMostIterations) return absl::StrCat(last_iteration, " iterations are done");
    if (without_gain < kMostWithoutGain) return "";
    return absl::StrCat("the last ", without_gain, " changes gave no gain");
  }
};

/// Errors: the file is not a ledger.
Result<LedgerState> ReadState(const std::string& path, std::string_view content) {
  LedgerState state;
  if (content.empty()) return state;
  std::vector<absl::string_view> lines = absl::StrSplit(absl::string_view(content.data(), content.size()), '\n');
  if (lines.front() != kHeader) {
    return FailedPreconditionError(path +
                                   " is not a ledger of tuneonce compare, and stays unchanged: name another file");
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<absl::string_view> fields = absl::StrSplit(lines[i], '\t');
    if (fields.size() != kColumns) continue;  // Torn.
    const auto number = ParseNumber<std::int64_t>({fields[0].data(), fields[0].size()});
    if (number) state.Add(*number, fields[kStatusColumn]);
  }
  return state;
}

std::string TextOf(const std::string& change) {
  std::string text = change;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

std::string LineOf(std::int64_t iteration, const LedgerRow& row) {
  const std::string latency = row.latency_ms ? absl::StrFormat("%.6f", *row.latency_ms) : "nan";
  const std::string peak = row.peak_bytes ? absl::StrCat(*row.peak_bytes) : "nan";
  return absl::StrCat(iteration, "\t", TextOf(row.change), "\t", latency, "\t", row.correctness, "\t", row.status, "\t",
                      peak, "\n");
}

/// All of `text` at the end of the file, or nothing.
Status Append(const FileDescriptor& file, const std::string& path, std::size_t size, std::string_view text) {
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error = errno;
  }
  if (error == 0) return Status();
  const bool is_as_it_was = ftruncate(file.get(), static_cast<off_t>(size)) == 0;
  return CannotAppend(path, absl::StrCat(std::strerror(error),
                                         is_as_it_was ? "" : "; a part of the row remains in the file: remove it"));
}

}  // namespace

Status CheckLedger(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 && errno == ENOENT) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    return access(folder.c_str(), W_OK | X_OK) == 0 ? Status() : CannotAppend(path, std::strerror(errno));
  }
  TUNEONCE_RETURN_IF_ERROR(Open(path, 0).status());
  TUNEONCE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, kMostLedgerBytes));
  return ReadState(path, content).status();
}

Result<LedgerEnd> AppendToLedger(const std::string& path, const LedgerRow& row) {
  TUNEONCE_ASSIGN_OR_RETURN(FileDescriptor file, Open(path, O_CREAT));
  TUNEONCE_RETURN_IF_ERROR(Lock(file, path));
  TUNEONCE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, kMostLedgerBytes));
  TUNEONCE_ASSIGN_OR_RETURN(LedgerState state, ReadState(path, content));
  state.Add(state.last_iteration + 1, row.status);
  std::string text = LineOf(state.last_iteration, row);
  if (content.empty()) text = absl::StrCat(kHeader, "\n", text);
  if (!content.empty() && content.back() != '\n') text = "\n" + text;
  TUNEONCE_RETURN_IF_ERROR(Append(file, path, content.size(), text));
  return LedgerEnd{path, state.last_iteration, state.WhyStop()};
}

}  // namespace v0
}  // namespace tuneonce
