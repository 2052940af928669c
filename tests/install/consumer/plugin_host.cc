// Loads plugins, all of their symbols visible to all, and runs them on threads at the same time. Exit code 0 only if
// all worked.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 1; i < argc; ++i) {
    void* plugin = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    if (plugin == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    auto* run = reinterpret_cast<int (*)()>(dlsym(plugin, "RunPlugin"));
    threads.emplace_back([run, &failed] { failed += run == nullptr ? 1 : run(); });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d plugins, %d failed\n", argc - 1, failed.load());
  return failed == 0 && argc > 1 ? 0 : 1;
}
