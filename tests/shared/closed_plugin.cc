// A plugin that hosts close: with the static library, and a version script, so that nothing of it is shared.
#include <memory>

#include "tuneonce/runtime.h"

extern "C" __attribute__((visibility("default"))) bool MakeAndDestroyARuntime() {
  return tuneonce::Runtime::Create({}).ok();
}
