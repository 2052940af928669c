#include "search/record_origin.h"

#include <unistd.h>

#include <chrono>

namespace tuneonce {
inline namespace v0 {

void StampOrigin(TuningRecord* record) {
  char name[256] = {};
  record->host = gethostname(name, sizeof(name) - 1) == 0 ? name : "";
  record->unix_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace v0
}  // namespace tuneonce
