#ifndef TUNEONCE_TOOLS_REPORT_PAGE_REPORT_ENTRY_H_
#define TUNEONCE_TOOLS_REPORT_PAGE_REPORT_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tuneonce {
inline namespace v0 {
namespace report {

/// A place in ReportData::configs.
using ConfigId = std::size_t;

/// The outcome of one config in a search. A value.
struct ReportCandidate {
  ConfigId config = 0;
  std::string outcome;  ///< As in records: "measured", "duplicate", "not_measured", "compile", "crash", ...
  std::string variant;
  std::optional<double> mean_us;
  std::optional<double> error_margin_us;  ///< Half of the 95 % confidence interval.
  int num_samples = 0;
  std::string message;                    ///< For a failure.
  std::optional<ConfigId> same_as;        ///< For a duplicate.
  std::optional<bool> ties_with_fastest;  ///< Of results alone.
  nlohmann::ordered_json more;            ///< What results say beyond: roofline, resources, latency. Null: nothing.
};

/// One search, or a config that was selected without a search, from a record or a result. Unknown values are empty. A
/// value.
struct ReportEntry {
  std::size_t input = 0;  ///< Which of ReportData::inputs it is from.
  std::string kernel;
  std::string key;    ///< For people: "M<=4096, x:float32"; of a result its shape.
  std::string shape;  ///< What was measured: "M=4096".
  std::string device;
  int capability = 0;
  int num_sms = 0;
  int driver_version = 0;
  std::string fingerprint;  ///< Fingerprint of the kernel: sources, configs, hints.
  std::optional<ConfigId> config;
  std::string variant;
  std::optional<double> mean_us, error_margin_us;
  std::optional<double> std_us, median_us, min_us, max_us;
  int num_samples = 0;
  std::optional<double> speedup_over_baseline;
  std::optional<ConfigId> baseline;
  std::string reason;  ///< As in records: "fastest", "tie_baseline", ...
  std::string why;     ///< The reason as a sentence.
  bool is_conclusive = true;
  bool is_complete = true;
  int num_not_measured = 0;
  bool is_pinned = false;
  std::string inputs;  ///< What the tensors held, as in records.
  std::string timer, host, toolchain;
  std::int64_t unix_seconds = 0;
  std::vector<ReportCandidate> candidates;  ///< Measured ones first, the fastest first.
  /// What only some entries have, by name, as page/data.js reads it: rows of a table, fatal, conditions; of a result
  /// cost, notes, drift, samples, timeline, substitutions.
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
};

}  // namespace report
}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_REPORT_PAGE_REPORT_ENTRY_H_
