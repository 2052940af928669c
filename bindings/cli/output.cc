#include "output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/printable.h"

namespace tuneonce::cli {
namespace {

/// Between an error's message and what to do about it.
constexpr char kRemedy[] = "\x1etry: ";
/// Maximum size of a cause, which is some lines of a terminal.
constexpr std::size_t kMostCauseBytes = 600;

/// Returns where a message's first line ends, or the part of a long line that is shown. `tuneonce doctor` shows the
/// places where a missing thing was searched.
std::size_t EndOfCause(const std::string& message) {
  std::size_t end = std::min({message.find('\n'), message.find("; looked for: "), message.size()});
  if (end <= kMostCauseBytes) return end;
  end = message.rfind(' ', kMostCauseBytes);
  return end == std::string::npos || end == 0 ? kMostCauseBytes : end;
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

Status CloseOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status();
  return UnavailableError(std::string("cannot write to stdout: ") + std::strerror(errno));
}

}  // namespace tuneonce::cli
