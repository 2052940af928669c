// What one launch costs in C++: the least that a call from Python can cost. Built by raw_launch.py.
#include <dlfcn.h>

#include <chrono>

namespace {

/// CUlaunchConfig of cuda.h, which need not be installed where this runs.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_memory_bytes;
  void* stream;
  void* attributes;
  unsigned num_attributes;
};
using LaunchKernelEx = int (*)(const LaunchConfig*, void* function, void** parameters, void** extra);
using LoadData = int (*)(void** module, const void* image);
using GetFunction = int (*)(void** function, void* module, const char* name);

template <typename Function>
Function Driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

/// Returns a function of a cubin, loaded in the current context, or null.
extern "C" void* RawLoad(const void* image, const char* symbol) {
  const auto load = Driver<LoadData>("cuModuleLoadData");
  const auto get = Driver<GetFunction>("cuModuleGetFunction");
  void* module = nullptr;
  void* function = nullptr;
  if (load == nullptr || get == nullptr || load(&module, image) != 0) return nullptr;
  return get(&function, module, symbol) == 0 ? function : nullptr;
}

/// Launches `count` times. Returns the microseconds of one launch on the calling thread, or the driver's error,
/// negated.
extern "C" double RawLaunch(void* function, const unsigned* grid, unsigned threads, unsigned shared_memory_bytes,
                            void* stream, void** parameters, int count) {
  static const auto launch = Driver<LaunchKernelEx>("cuLaunchKernelEx");
  if (launch == nullptr) return -1;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const LaunchConfig config = {{grid[0], grid[1], grid[2]}, {threads, 1, 1}, shared_memory_bytes, stream, nullptr, 0};
    const int error = launch(&config, function, parameters, nullptr);
    if (error != 0) return -error;
  }
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count() / count;
}
