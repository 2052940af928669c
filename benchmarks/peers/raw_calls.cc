// The raw launch for python_calls.py, which loads this with ctypes: one call a batch, so that what is timed is C++
// alone.
#include <chrono>
#include <memory>

#include "interleaved.h"
#include "raw_kernel.h"

namespace {
std::unique_ptr<peers::RawKernel> kernel;
}

/// Loads vector_add into the current context. REQUIRES: a context is current on this thread.
extern "C" __attribute__((visibility("default"))) void peers_raw_load(const char* folder) {
  CUdevice device = 0;
  peers::Check(cuCtxGetDevice(&device), "cuCtxGetDevice");
  kernel = std::make_unique<peers::RawKernel>(peers::ReadSource(folder), device);
}

/// Host time of a raw launch, in ns: the mean of `count` into `stream`.
extern "C" __attribute__((visibility("default"))) double peers_raw_ns(void* stream, unsigned long long buffer,
                                                                      int count) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) kernel->Launch(static_cast<CUstream>(stream), buffer, peers::kFirstSize);
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / count;
}
