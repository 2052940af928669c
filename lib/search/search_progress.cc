#include "search/search_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/callback.h"
#include "base/printable.h"
#include "tuneonce/runtime.h"

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

double SecondsSince(SearchProgressReports::Clock::time_point start) {
  return std::chrono::duration<double>(SearchProgressReports::Clock::now() - start).count();
}

}  // namespace

std::string ProgressLine(const SearchProgress& progress) {
  std::string line = absl::StrCat(progress.kernel, progress.key.empty() ? "" : " ", progress.key, ": ",
                                  StageText(progress.stage), " ", progress.done, "/", progress.total);
  const bool races = progress.stage == SearchProgress::Stage::kRace;
  if (progress.seconds_left) {
    absl::StrAppend(&line, ", ", TimeText(*progress.seconds_left), races ? " left at most" : " left");
  }
  if (progress.expected_gain) {
    absl::StrAppend(&line, absl::StrFormat(", %.1f %% gain expected", *progress.expected_gain * 100));
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

SearchProgressReports::SearchProgressReports(std::string kernel, std::string key, const SearchOptions& options,
                                             const TrialPlace& place)
    : kernel_(std::move(kernel)),
      key_(std::move(key)),
      options_(options),
      place_(place),
      progress_(options.on_progress) {
  if (!progress_ && !options.quiet) progress_ = TerminalProgress();
}

void SearchProgressReports::Begin(SearchProgress::Stage stage) {
  const Clock::time_point now = Clock::now();
  if (stage == SearchProgress::Stage::kCompile) compiling_began_ = preparing_began_ = race_began_ = now;
  if (stage == SearchProgress::Stage::kMeasure) preparing_began_ = now;
  if (stage == SearchProgress::Stage::kRace) race_began_ = now;
}

void SearchProgressReports::Tell(const SearchProgress& progress) const {
  CallbackScope scope;
  try {
    progress_(progress);
  } catch (...) {  // A display must not end a search.
  }
}

std::optional<double> SearchProgressReports::SecondsLeft(Clock::time_point began, double done, double total) const {
  if (done <= 0) return std::nullopt;
  double left = SecondsSince(began) / done * std::max(0.0, total - done);
  if (ends_ != Clock::time_point::max()) left = std::min(left, std::max(0.0, -SecondsSince(ends_)));
  return left;
}

SearchProgress SearchProgressReports::Make(SearchProgress::Stage stage, int done, std::size_t total) const {
  SearchProgress progress;
  progress.stage = stage;
  progress.done = done;
  progress.total = static_cast<int>(total);
  progress.kernel = kernel_;
  progress.key = key_;
  progress.workers_replaced = place_.Report().workers_replaced;
  return progress;
}

void SearchProgressReports::Report(SearchProgress::Stage stage, int done, std::size_t total,
                                   const Config* config) const {
  if (!progress_) return;
  SearchProgress progress = Make(stage, done, total);
  if (config != nullptr) progress.config = config->ToString();
  const bool compiles = stage == SearchProgress::Stage::kCompile;
  progress.expected_gain = expected_gain_;
  const bool is_sampled = num_configs_ > 0 && stage != SearchProgress::Stage::kDone;
  // How many configs will be tried is known only where their number is limited.
  const bool is_bounded = options_.budgets.trials > 0 && static_cast<std::size_t>(options_.budgets.trials) < num_configs_;
  if (is_sampled) progress.total = is_bounded ? options_.budgets.trials : static_cast<int>(num_configs_);
  if (is_sampled && !is_bounded) {
    if (ends_ != Clock::time_point::max()) progress.seconds_left = std::max(0.0, -SecondsSince(ends_));
  } else if (stage != SearchProgress::Stage::kDone) {
    progress.seconds_left = SecondsLeft(compiles ? compiling_began_ : preparing_began_, done, progress.total);
  }
  Tell(progress);
}

void SearchProgressReports::ReportRound(const Race& race, std::size_t entrants, double gpu_seconds) const {
  if (!progress_) return;
  SearchProgress progress = Make(SearchProgress::Stage::kRace, 0, entrants);
  for (std::size_t i = 0; i < entrants; ++i) progress.done += race.IsRacing(i) ? 0 : 1;
  // The limit that it reaches first, unless it is conclusive before.
  const std::optional<double> limits[] = {
      SecondsLeft(race_began_, race.num_rounds(), options_.max_rounds),
      SecondsLeft(race_began_, race.spent_ms(), options_.budgets.gpu.count() - gpu_seconds * 1000),
      std::max(0.0, options_.budgets.race.count() / 1000 - SecondsSince(race_began_)),
  };
  for (const std::optional<double>& limit : limits) {
    if (limit) progress.seconds_left = std::min(progress.seconds_left.value_or(*limit), *limit);
  }
  Tell(progress);
}

}  // namespace v0
}  // namespace tuneonce
