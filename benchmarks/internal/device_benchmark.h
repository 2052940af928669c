#ifndef TUNEONCE_BENCHMARKS_DEVICE_BENCHMARK_H_
#define TUNEONCE_BENCHMARKS_DEVICE_BENCHMARK_H_

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tuneonce/result.h"

namespace tuneonce {

/// The value, or a line on stderr and the end of the benchmark.
template <typename T>
T OrDie(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(result);
}
inline void OrDie(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

/// What --device= says; "cpu" without it.
inline std::string device_name = "cpu";

/// main() of a benchmark that runs on a device: --device=cpu|cuda, and Google Benchmark's flags.
inline int RunDeviceBenchmarks(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("--device=", 0) != 0) {
      std::fprintf(stderr, "unknown argument %s; use --device=cpu|cuda and --benchmark_*\n", argv[i]);
      return 2;
    }
    device_name = argument.substr(9);
  }
  benchmark::AddCustomContext("tuneonce_device", device_name);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace tuneonce

#endif  // TUNEONCE_BENCHMARKS_DEVICE_BENCHMARK_H_
