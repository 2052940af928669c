#include "output.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/printable.h"

namespace tuneonce::cli {

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

void PrintError(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "tuneonce: %s\n", Printable(line).c_str());
}

Status CloseOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status();
  return UnavailableError(std::string("cannot write to stdout: ") + std::strerror(errno));
}

}  // namespace tuneonce::cli
