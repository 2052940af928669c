// A plugin that holds a tuneonce of its own; it exports this function alone.
#include <cstdio>

#include "use.h"

extern "C" [[gnu::visibility("default")]] int RunPlugin() {
  tuneonce::Status status = UseTuneonce();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
