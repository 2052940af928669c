#include "tuneonce/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/printable.h"

namespace tuneonce {
inline namespace v0 {

ProgressCallback TerminalProgress() {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [](const SearchProgress& progress) {
    constexpr char kEraseLine[] = "\r\x1b[K";
    if (progress.stage == SearchProgress::Stage::kDone) {
      std::fputs(kEraseLine, stderr);
    } else {
      std::fprintf(stderr, "%stuneonce: %s: %s %d/%d  {%s}", kEraseLine, Printable(progress.kernel).c_str(),
                   progress.stage == SearchProgress::Stage::kCompile ? "compiled" : "measured", progress.done,
                   progress.total, Printable(progress.config).c_str());
    }
    std::fflush(stderr);
  };
}

}  // namespace v0
}  // namespace tuneonce
