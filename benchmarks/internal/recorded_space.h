#ifndef TUNEONCE_BENCHMARKS_RECORDED_SPACE_H_
#define TUNEONCE_BENCHMARKS_RECORDED_SPACE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tuneonce/plugin/search_strategy.h"

namespace tuneonce {

/// One kernel on one device, each of whose configs was measured.
struct RecordedSpace {
  std::string path;
  std::vector<std::string> axis_names;
  std::vector<std::string> configs;  ///< The values of each config as they are in the file, separated by commas.
  StrategySpace space;               ///< An axis whose values are all numbers is ordinal, any other categorical.
  std::vector<std::optional<double>> times_us;  ///< Mean of a config's samples. Empty: it failed.
  std::vector<std::vector<double>> samples_us;
  std::vector<double> compile_ms;
  std::vector<double> measure_ms;  ///< Host time in which a compiled config was verified and timed; 0 if not recorded.
  double best_us = 0;
};

/// Reads a table: a CSV file, also one that gzip compressed if the program was built with zlib. Its columns are the
/// axes, `compile_ms`, then perhaps `verify_ms` and `benchmark_ms` (host times) and others that are ignored, and `s0`,
/// `s1`, ...: samples of the kernel's time in ms, or nothing.
/// Returns nothing and sets `*error` if the file cannot be read, has rows of different lengths, or no config with a
/// time.
std::optional<RecordedSpace> ReadRecordedSpace(const std::string& path, std::string* error);

}  // namespace tuneonce

#endif  // TUNEONCE_BENCHMARKS_RECORDED_SPACE_H_
