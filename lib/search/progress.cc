#include "tuneonce/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string TimeText(double seconds) {
  constexpr double kMost = 1e9;  // A limit for times, which fits every number.
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kMost)));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrCat(whole / 60, " min ", whole % 60, " s");
  return absl::StrCat(whole / 3600, " h ", whole / 60 % 60, " min");
}

const char* StageText(SearchProgress::Stage stage) {
  switch (stage) {
    case SearchProgress::Stage::kCompile:
      return "compiled";
    case SearchProgress::Stage::kMeasure:
      return "tried";
    default:
      return "decided";
  }
}

/// Returns the terminal's width less one column, because in some terminals a cursor after the last column wraps.
std::size_t Columns() {
  constexpr std::size_t kUsual = 79;
  struct winsize size {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return kUsual;
  return size.ws_col - 1U;
}

/// Returns as many whole characters of the line as fit.
std::string Cut(const std::string& line, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t column = 0; end < line.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(line[end]) & 0xC0) != 0x80;  // UTF-8.
    if (begins && column++ == columns) break;
  }
  return line.substr(0, end);
}

}  // namespace

std::string ProgressLine(const SearchProgress& progress) {
  std::string line = absl::StrCat(progress.kernel, progress.key.empty() ? "" : " ", progress.key, ": ",
                                  StageText(progress.stage), " ", progress.done, "/", progress.total);
  const bool races = progress.stage == SearchProgress::Stage::kRace;
  if (progress.seconds_left) {
    absl::StrAppend(&line, ", ", TimeText(*progress.seconds_left), races ? " left at most" : " left");
  }
  if (progress.workers_replaced > 0) absl::StrAppend(&line, ", workers replaced: ", progress.workers_replaced);
  if (!progress.config.empty()) absl::StrAppend(&line, "  {", progress.config, "}");
  return Printable(line);
}

ProgressCallback TerminalProgress(std::function<std::string()> before) {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [before = std::move(before)](const SearchProgress& progress) {
    constexpr char kEraseLine[] = "\r\x1b[K";
    if (progress.stage == SearchProgress::Stage::kDone) {
      std::fputs(kEraseLine, stderr);
    } else {
      const std::string line = absl::StrCat("tuneonce: ", before ? Printable(before()) : "", ProgressLine(progress));
      std::fprintf(stderr, "%s%s", kEraseLine, Cut(line, Columns()).c_str());
    }
    std::fflush(stderr);
  };
}

}  // namespace v0
}  // namespace tuneonce
