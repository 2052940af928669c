#include "tuneonce/autotune_observer.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "base/printable.h"

namespace tuneonce {

void AutotuneObserver::OnWarning(const std::string& line) {
  static auto* const mutex = new std::mutex;
  static auto* const said = new std::set<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  if (said->insert(line).second) std::fprintf(stderr, "tuneonce: %s\n", Printable(line).c_str());
}

}  // namespace tuneonce
