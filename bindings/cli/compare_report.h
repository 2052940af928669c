#ifndef TUNEONCE_BINDINGS_CLI_COMPARE_REPORT_H_
#define TUNEONCE_BINDINGS_CLI_COMPARE_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compare/kernel_comparison.h"
#include "tuneonce/status.h"

namespace tuneonce::cli {

/// How one of the two ran at a shape, as it is shown.
struct ComparedSide {
  nlohmann::ordered_json config;  ///< In the form of ConfigJson.
  std::string variant;
  std::optional<Measurement> measurement;     ///< Empty if it failed, or was not measured since the other did.
  std::optional<std::uint64_t> memory_bytes;  ///< Empty: not known.
};

/// The result for one shape.
struct ComparedShape {
  std::string kernel;
  std::string shape;  ///< "M=64, N=32"
  Status status;      ///< The reason for a missing verdict. If it is not OK, nothing else is set.
  ComparedSide a, b;
  std::optional<Speedup> speedup;
  Verdict verdict = Verdict::kNoChange;
  bool is_conclusive = true;
  bool is_same_code = false;
  std::string correctness = "not_compared";  ///< Or "pass", "fail".
  std::string failure;                       ///< Why B failed.
  std::optional<OutputDifference> largest_difference;
  int num_pairs = 0;
  std::string timer;
  bool is_isolated = false;
  std::vector<std::string> notes;

  static ComparedShape Of(const KernelComparison& comparison);
};

/// A comparison over all shapes.
struct CompareReport {
  std::string a, b;  ///< The operands on the command line.
  std::string device;
  std::vector<ComparedShape> shapes;
};

/// All shapes together. Those without a verdict count in `not_compared` alone.
struct CompareSummary {
  std::optional<Speedup> speedup;  ///< The geometric mean of where both ran, 1 for the same code; empty: nowhere.
  /// Revert if that is the verdict of any shape, else the geometric mean's.
  Verdict verdict = Verdict::kNoChange;
  bool is_conclusive = true;
  std::optional<double> latency_ms;           ///< B's, the geometric mean; empty if it failed anywhere.
  std::optional<std::uint64_t> memory_bytes;  ///< B's, at the shape that needs most.
  std::string correctness;                    ///< "fail" if B failed anywhere; "pass" if it was right everywhere.
  int accept = 0, minor = 0, no_change = 0, revert = 0, not_compared = 0;
};

CompareSummary SummaryOf(const CompareReport& report);
void PrintReport(const CompareReport& report, const CompareSummary& summary, bool json);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_COMPARE_REPORT_H_
