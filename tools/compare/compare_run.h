#ifndef TUNEONCE_TOOLS_COMPARE_COMPARE_RUN_H_
#define TUNEONCE_TOOLS_COMPARE_COMPARE_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compare/kernel_comparison.h"
#include "console/ledger.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"
#include "tuning/tune_job.h"

namespace tuneonce {
inline namespace v0 {

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
  /// Crash or else revert if that is the verdict of any shape, else the geometric mean's.
  Verdict verdict = Verdict::kNoChange;
  bool is_conclusive = true;
  std::optional<double> latency_ms;           ///< B's, the geometric mean; empty if it failed anywhere.
  std::optional<std::uint64_t> memory_bytes;  ///< B's, at the shape that needs most.
  std::string correctness;                    ///< "fail" if B failed anywhere; "pass" if it was right everywhere.
  int accept = 0, minor = 0, no_change = 0, revert = 0, crash = 0, not_compared = 0;
};

CompareSummary SummaryOf(const CompareReport& report);
/// `ledger`: the row that the comparison added to a ledger; empty if it added none.
void PrintReport(const CompareReport& report, const CompareSummary& summary, const std::optional<LedgerEnd>& ledger,
                 bool json);

/// An operand A or B of `tuneonce compare`.
struct CompareOperand {
  enum class Kind {
    kBundle,  ///< A folder or a name; of one back end or variant: "matmul:tile".
    kStore,   ///< A file of records.
    kResult,  ///< A file that `tune --json` wrote.
  };

  Kind kind = Kind::kBundle;
  std::string text;     ///< The text on the command line.
  std::string bundle;   ///< kBundle: by which it is found.
  std::string backend;  ///< kBundle: empty: all.
};

/// "a bundle", "a store", "a result".
const char* KindName(CompareOperand::Kind kind);

/// Interprets a text by what exists: a file is a store if it is an SQLite file, else a result, and any other text is a
/// bundle. A folder with a colon in its name is that folder. Errors: InvalidArgument for "matmul:" and ":tile"; those
/// of reading a file.
Result<CompareOperand> ReadOperand(const std::string& text);

/// On what, and how, is compared.
struct CompareOptions {
  SearchOptions search;
  std::vector<std::string> shape;    ///< "M=4096", as MakeTuneJob takes it.
  std::vector<std::string> scalars;  ///< "eps=1e-5".
  std::string shapes;                ///< A file of shapes; empty: one shape.
  std::string bundle;                ///< For stores: the kernel, if its name does not find it.
};

/// Compares kernels at one shape after the other. Its device's primary context is current on this thread while it
/// lives; neither copyable nor movable. Thread rule: one thread.
class CompareRun {
 public:
  /// REQUIRES: `options` outlives it. Errors: the device's.
  static Result<std::unique_ptr<CompareRun>> Create(const Device& device, const CompareOptions& options);
  CompareRun(const CompareRun&) = delete;
  CompareRun& operator=(const CompareRun&) = delete;

  const Device& device() const { return context_.device(); }
  const DeviceIdentity& identity() const { return identity_; }
  StreamView stream() const { return stream_->view(); }
  const CompareOptions& options() const { return options_; }

  /// Compares both at a shape of A's, on the values that A declares for warm-ups. The result contains any error.
  ComparedShape At(const ComparedKernel& a, const ComparedKernel& b, const TuneJob& job) const;
  /// Errors: Cancelled, once an interrupt has come.
  Status CheckInterrupted() const;

 private:
  CompareRun(Context context, DeviceIdentity identity, const CompareOptions& options);

  Context context_;
  ScopedContext current_;
  DeviceIdentity identity_;
  std::optional<Stream> stream_;
  const CompareOptions& options_;
};

/// Compares two bundles or back ends at each shape: both are tuned there, and their best configs run in pairs. An error
/// at one shape is part of that shape's result. Errors: a missing bundle or device, different signatures, invalid
/// shapes; Cancelled.
Result<CompareReport> CompareBundles(const CompareOperand& a, const CompareOperand& b, const Device& device,
                                     const CompareOptions& options);

/// Compares what a launch on this device would run with either store, at each key of this device that both have, or at
/// the given shapes. Errors: those of CompareBundles; NotFound without such a key.
Result<CompareReport> CompareStores(const std::string& a, const std::string& b, const Device& device,
                                    const CompareOptions& options);

/// Compares the best configs of two files that `tune --json` wrote, by the files' numbers. Nothing runs, and outputs
/// are not compared. Errors: InvalidArgument for a file that is not a result of one shape, for one without an interval
/// (from a store), and for two files of different devices or shapes; those of reading a file.
Result<CompareReport> CompareResults(const std::string& a, const std::string& b);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_COMPARE_COMPARE_RUN_H_
