#ifndef TUNEONCE_BENCHMARKS_TRACE_H_
#define TUNEONCE_BENCHMARKS_TRACE_H_

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tuneonce {

/// One recorded search, one way of timing: row = round in which every config ran once, column = config, in
/// microseconds.
struct Trace {
  std::vector<std::vector<double>> rounds;

  std::size_t num_configs() const { return rounds.empty() ? 0 : rounds.front().size(); }
  std::vector<double> Column(std::size_t config) const {
    std::vector<double> column;
    for (const auto& round : rounds) column.push_back(round[config]);
    return column;
  }
  /// Mean of each column.
  std::vector<double> Means() const {
    std::vector<double> means(num_configs());
    for (const auto& round : rounds) {
      for (std::size_t i = 0; i < means.size(); ++i) means[i] += round[i] / static_cast<double>(rounds.size());
    }
    return means;
  }
};

/// Reads a CSV file with one header line. Empty `rounds` and `*error` set if it cannot be read, has rows of different
/// lengths, or a cell that is no positive number.
inline Trace ReadTrace(const std::string& path, std::string* error) {
  Trace trace;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    *error = path + " cannot be read, or is empty";
    return trace;
  }
  for (int number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    std::vector<double> round;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) {
      char* end = nullptr;
      double value = std::strtod(cell.c_str(), &end);
      if (end == cell.c_str() || !(value > 0)) {
        *error = path + ", line " + std::to_string(number) + ": '" + cell + "' is no time in microseconds";
        return Trace();
      }
      round.push_back(value);
    }
    if (!trace.rounds.empty() && round.size() != trace.num_configs()) {
      *error = path + ", line " + std::to_string(number) + ": another number of columns than in the first row";
      return Trace();
    }
    trace.rounds.push_back(std::move(round));
  }
  if (trace.rounds.empty()) *error = path + " has no rows";
  return trace;
}

}  // namespace tuneonce

#endif  // TUNEONCE_BENCHMARKS_TRACE_H_
