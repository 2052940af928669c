#ifndef TUNEONCE_TRIAL_H_
#define TUNEONCE_TRIAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuneonce/api.h"
#include "tuneonce/config.h"

namespace tuneonce {
inline namespace v0 {

// What a trial of a candidate gives: a Measurement, or a Failure.

/// How long a candidate takes, as measured.
struct Measurement {
  double mean_us = 0;
  /// Half of the 95 % confidence interval of the mean. Empty with one sample, which has no spread.
  std::optional<double> error_margin_us;
  int num_samples = 0;
  double std_us = 0;  ///< Sample standard deviation; 0 with one sample.
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;

  /// Standard deviation as a share of the mean.
  double rel_std() const { return mean_us > 0 ? std_us / mean_us : 0; }
};

/// What limits a kernel of a given arithmetic intensity (operations per byte): below 10 memory, above 50 computing.
enum class Bound { kMemory, kBalanced, kCompute };

/// "memory bound", "balanced", "compute bound".
TUNEONCE_API std::string_view BoundName(Bound bound);

/// How well a run used the device, by what it must move and compute at least.
struct Roofline {
  std::optional<double> intensity;  ///< Operations per byte, where both are known.
  std::optional<Bound> bound;
  double gb_per_s = 0;     ///< Achieved; 0 if the bytes are unknown.
  double tflop_per_s = 0;  ///< Achieved; 0 if the operations are unknown.
  /// The run's time at the peaks (the longer of moving and computing), as a share of its real time. Empty if that is
  /// unknown. For types with other peaks than float16 it is a lower bound of how good the kernel is.
  std::optional<double> percent_of_peak;
};

/// Why a candidate cannot win.
enum class FailureKind {
  kCompile,      ///< The toolchain refused it.
  kLoad,         ///< The driver refused the image, or its parameters are not the declared ones.
  kResources,    ///< It needs more memory, shared memory or threads than there are.
  kLaunch,       ///< The launch was refused, or the geometry cannot be launched.
  kRun,          ///< It failed while running, or could not be timed.
  kWrongResult,  ///< It computed something else than the baseline.
  kOutOfBounds,  ///< It wrote outside of its outputs and workspaces.
  kNotWritten,   ///< It left elements of an output unwritten.
  kWroteInput,   ///< It wrote a tensor that it only reads, by its declaration.
  kNotVerified,  ///< There is no reference to compare its outputs with: the baseline failed.
  // In a worker process (SearchOptions::isolation), which the candidate ended:
  kCrash,     ///< By a fault, a trap, a signal, exit or abort.
  kTimeout,   ///< It did not end within SearchOptions::candidate_deadline_ms.
  kProtocol,  ///< What came back was no answer: it overwrote the worker's memory or its socket.
};

/// True for the kinds of candidates that ended the worker process they were tried in.
constexpr bool EndsItsProcess(FailureKind kind) { return kind >= FailureKind::kCrash; }

/// "compile", "load", ...
TUNEONCE_API std::string_view FailureKindName(FailureKind kind);

/// A candidate that failed: data of the result, not an error of the search.
struct Failure {
  Config config;
  FailureKind kind = FailureKind::kCompile;
  std::string message;  ///< The tool's or driver's own words.
  /// The reason may pass (IsTransient): no memory, no process, no compiler, no time. Another search may measure it.
  bool is_transient = false;
};

/// What a selected config was verified under. Testing proves nothing about what was not tested: this says what was. A
/// value.
struct TUNEONCE_API Verification {
  enum class Level {
    kNone,       ///< It was not run: a person pinned it, or it was decided elsewhere.
    kMemory,     ///< It wrote nothing but its outputs (Verify::kOff), and all of them where there is no reference.
    kReference,  ///< Its outputs were compared with the baseline's, or with a given reference.
  };
  /// By how much one output may have differed: Tolerance, by the output's place among the kernel's outputs.
  struct Output {
    double absolute = 0;
    double relative = 0;
    double ulps = 0;
    bool may_be_partial = false;
  };
  /// Extents of a dim that the key rounds or omits: one number for each class of extents that was verified
  /// (docs/verification.md says what a class is).
  struct Extents {
    std::string dim;
    std::vector<std::uint64_t> classes;
  };

  Level level = Level::kNone;
  std::vector<Output> outputs;
  /// False if the data that the config was verified on could not have shown an error: constant, zero, of one sign, not
  /// finite. The selection then serves this process and is not stored.
  bool is_data_sufficient = true;
  bool has_generated_data = false;  ///< It was verified on generated data too.
  std::vector<Extents> extents;     ///< Empty where the key decides all dims.
  /// What could not be verified, one line each: "M=65: not enough memory".
  std::vector<std::string> gaps;

  /// True if this offers what `demanded` asks for: as high a level, tolerances that are no larger, and no output that
  /// may be partial where it must not be.
  bool Covers(const Verification& demanded) const;
};

/// What a device was doing while it measured, as far as it is known: what is empty is not.
struct DeviceConditions {
  std::optional<std::int64_t> sm_clock_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's bits.
  std::string mig_profile;                        ///< "1g.18gb"; empty for a whole device.
};

/// One look at a device.
struct DeviceReading {
  DeviceConditions conditions;
  std::optional<std::int64_t> temperature_c;
  std::optional<std::int64_t> power_mw;  ///< Drawn.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TRIAL_H_
