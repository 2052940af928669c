// A host that was built with gcc's shared sanitizer, over a library that was not: it finds the CPU device by its run
// path.
#include <cstdio>

#include "tuneonce/device.h"
#include "tuneonce/runtime.h"

int main() {
  tuneonce::Result<tuneonce::Device> device = tuneonce::Runtime::Default()->OpenDevice("cpu");
  if (!device.ok()) std::fprintf(stderr, "%s\n", device.status().ToString().c_str());
  return device.ok() ? 0 : 1;
}
