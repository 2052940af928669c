#include "recorded_space.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#ifdef TUNEONCE_BENCHMARKS_WITH_ZLIB
#include <zlib.h>
#endif

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace tuneonce {
namespace {

using Cells = std::vector<std::string>;

#ifdef TUNEONCE_BENCHMARKS_WITH_ZLIB
bool ReadText(const std::string& path, std::string* text) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  char buffer[1 << 16];
  int size = 0;
  while ((size = gzread(file, buffer, sizeof(buffer))) > 0) text->append(buffer, static_cast<std::size_t>(size));
  return gzclose(file) == Z_OK && size == 0;
}
#else
bool ReadText(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  *text = content.str();
  return file.good() && text->compare(0, 2, "\x1f\x8b") != 0;  // gzip's first bytes.
}
#endif

std::optional<double> Number(const std::string& cell) {
  char* end = nullptr;
  const double number = std::strtod(cell.c_str(), &end);
  if (cell.empty() || *end != '\0') return std::nullopt;
  return number;
}

/// Adds the axis of a column, whose cells have these indices.
StrategyAxis AxisOf(const std::vector<Cells>& rows, std::size_t column, std::vector<std::uint16_t>* indices) {
  StrategyAxis axis;
  std::map<std::string, double> values;  // The numbers of an ordinal axis, else the places of the words.
  for (const Cells& row : rows) {
    std::optional<double> number = Number(row[column]);
    if (!number) axis.kind = StrategyAxis::Kind::kCategorical;
    values.emplace(row[column], number.value_or(0));
  }
  double place = 0;
  for (auto& [cell, value] : values) {
    if (axis.kind == StrategyAxis::Kind::kCategorical) value = place++;
    axis.values.push_back(value);
  }
  std::sort(axis.values.begin(), axis.values.end());
  axis.values.erase(std::unique(axis.values.begin(), axis.values.end()), axis.values.end());
  for (const Cells& row : rows) {
    auto found = std::lower_bound(axis.values.begin(), axis.values.end(), values[row[column]]);
    indices->push_back(static_cast<std::uint16_t>(found - axis.values.begin()));
  }
  return axis;
}

void AddAxes(const std::vector<Cells>& rows, std::size_t num_axes, RecordedSpace* recorded) {
  std::vector<std::vector<std::uint16_t>> columns(num_axes);
  for (std::size_t a = 0; a < num_axes; ++a) recorded->space.axes.push_back(AxisOf(rows, a, &columns[a]));
  for (std::size_t config = 0; config < rows.size(); ++config) {
    for (const auto& column : columns) recorded->space.indices.push_back(column[config]);
    auto begin = rows[config].begin();
    recorded->configs.push_back(absl::StrJoin(begin, begin + static_cast<std::ptrdiff_t>(num_axes), ","));
  }
}

/// Adds what was measured of one config: the columns from `compile_column` on have the names `names`.
void AddTimes(const Cells& row, const Cells& names, std::size_t compile_column, RecordedSpace* recorded) {
  double sum_us = 0;
  std::vector<double> samples_us;
  double measure_ms = 0;
  bool is_sample = false;  // All columns from s0 on.
  for (std::size_t column = compile_column + 1; column < row.size(); ++column) {
    is_sample |= names[column] == "s0";
    const std::optional<double> ms = Number(row[column]);
    if (!ms) continue;
    if (names[column] == "verify_ms" || names[column] == "benchmark_ms") measure_ms += *ms;
    if (!is_sample) continue;
    samples_us.push_back(*ms * 1000);
    sum_us += samples_us.back();
  }
  const auto num_samples = static_cast<double>(samples_us.size());
  recorded->samples_us.push_back(std::move(samples_us));
  recorded->compile_ms.push_back(Number(row[compile_column]).value_or(0));
  recorded->measure_ms.push_back(measure_ms);
  recorded->times_us.emplace_back();
  if (num_samples == 0) return;
  recorded->times_us.back() = sum_us / num_samples;
  recorded->best_us = std::min(recorded->best_us, *recorded->times_us.back());
}

}  // namespace

std::optional<RecordedSpace> ReadRecordedSpace(const std::string& path, std::string* error) {
  std::string text;
  if (!ReadText(path, &text)) {
    *error = path + " cannot be read (a compressed one needs a build with zlib)";
    return std::nullopt;
  }
  std::vector<Cells> rows;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    rows.push_back(absl::StrSplit(line, ','));
    if (rows.back().size() != rows.front().size()) {
      *error = path + " has a row with another number of cells than its first one: " + std::string(line);
      return std::nullopt;
    }
  }
  RecordedSpace recorded;
  recorded.path = path;
  const Cells names = rows.empty() ? Cells() : rows.front();
  auto compile = std::find(names.begin(), names.end(), "compile_ms");
  auto sample = std::find(names.begin(), names.end(), "s0");
  if (compile == names.begin() || sample == names.end() || compile > sample) {
    *error = path + " is no table of a space: its columns are to be axes, compile_ms, s0 and more samples";
    return std::nullopt;
  }
  const auto num_axes = static_cast<std::size_t>(compile - names.begin());
  recorded.axis_names.assign(names.begin(), compile);
  rows.erase(rows.begin());
  AddAxes(rows, num_axes, &recorded);
  recorded.best_us = std::numeric_limits<double>::infinity();
  for (const Cells& row : rows) AddTimes(row, names, num_axes, &recorded);
  if (recorded.best_us == std::numeric_limits<double>::infinity()) {
    *error = path + " has no config with a time";
    return std::nullopt;
  }
  return recorded;
}

}  // namespace tuneonce
