// CPU time and memory of enumerating large search spaces, as JSON: public ones, and spaces of 10^9 points with about
// 10^4 valid configs. Each is enumerated in a process of its own, whose peak of resident memory is shown.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "testing/public_spaces.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
namespace {

/// Nine axes of the values 1 to 10: 10^9 points.
testing::PublicSpace Billion(std::vector<std::string> conditions) {
  testing::PublicSpace space;
  for (int i = 0; i < 9; ++i) space.axes.emplace_back("x" + std::to_string(i), testing::Range(1, 10));
  space.conditions = std::move(conditions);
  return space;
}

struct Case {
  const char* name;
  testing::PublicSpace space;
};

std::vector<Case> Cases() {
  return {{"gemm", testing::Gemm()},
          {"hotspot", testing::Hotspot()},
          {"dedispersion", testing::Dedispersion()},
          {"billion_of_divisors", Billion({"x1 % x0 == 0", "x2 % x1 == 0", "x3 % x2 == 0", "x4 % x3 == 0",
                                           "x5 % x4 == 0", "x6 % x5 == 0", "x7 % x6 == 0", "x8 % x7 == 0"})},
          {"billion_of_one_product", Billion({"x0 * x1 * x2 * x3 * x4 * x5 * x6 * x7 * x8 == 5040"})},
          {"billion_of_far_axes", Billion({"x0 == x8", "x1 == x7", "x2 == x6 || x2 == 1 && x6 == 2", "x3 + x5 == x4",
                                           "x0 * x1 * x2 <= 100"})}};
}

double CpuSeconds(const rusage& usage) {
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Enumerates the space and prints its sizes. Returns false for an error, which it prints.
bool Enumerate(const testing::PublicSpace& space) {
  SearchSpace made = space.Make();
  Result<ConfigSet> set = made.Configs(*Target::Named("sm_90"));
  if (!set.ok()) {
    std::fprintf(stderr, "%s\n", set.status().message().c_str());
    return false;
  }
  // The first, the last and some in between are made, as a search would.
  for (std::int64_t i = 0; i < 1000 && !set->empty(); ++i) {
    const auto at = static_cast<std::int64_t>(static_cast<double>(set->size() - 1) * static_cast<double>(i) / 999);
    if (!made.Contains(set->At(at), *Target::Named("sm_90")).ok()) return false;
  }
  std::printf("\"points\": %lld, \"configs\": %lld", static_cast<long long>(made.NumPoints()),
              static_cast<long long>(set->size()));
  std::fflush(stdout);
  return true;
}

int Main() {
  std::printf("[\n");
  bool is_first = true;
  for (const Case& each : Cases()) {
    std::printf("%s  {\"space\": \"%s\", ", is_first ? "" : ",\n", each.name);
    is_first = false;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(Enumerate(each.space) ? 0 : 1);
    int status = 0;
    rusage usage{};
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return 1;
    std::printf(", \"cpu_s\": %.3f, \"peak_mb\": %.1f}", CpuSeconds(usage),
                static_cast<double>(usage.ru_maxrss) / 1024);
  }
  std::printf("\n]\n");
  return 0;
}

}  // namespace
}  // namespace tuneonce

int main() { return tuneonce::Main(); }
