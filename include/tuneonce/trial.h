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

/// The measured time of a candidate.
struct Measurement {
  /// Mean time of a launch in microseconds.
  double mean_us = 0;
  /// Half of the 95 % confidence interval of the mean, in microseconds. Empty for one sample, which shows no spread.
  std::optional<double> error_margin_us;
  int num_samples = 0;
  double std_us = 0;  ///< Sample standard deviation in microseconds; 0 for one sample.
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;

  /// Returns the standard deviation as a fraction of the mean.
  double rel_std() const { return mean_us > 0 ? std_us / mean_us : 0; }
};

/// What limits a kernel's speed, judged by its arithmetic intensity: kMemory below 10 operations per byte, kCompute
/// above 50, else kBalanced.
enum class Bound { kMemory, kBalanced, kCompute };

/// Returns "memory bound", "balanced" or "compute bound".
TUNEONCE_API std::string_view BoundName(Bound bound);

/// How well a run used the device, computed from the bytes and operations that the definition declares
/// (KernelDefinition::Work) and the measured time.
struct Roofline {
  std::optional<double> intensity;  ///< Operations per byte. Empty unless both are known.
  std::optional<Bound> bound;
  double gb_per_s = 0;     ///< Achieved bandwidth in 10^9 bytes per second; 0 if the bytes are unknown.
  double tflop_per_s = 0;  ///< Achieved throughput in 10^12 operations per second; 0 if the operations are unknown.
  /// How close the run came to the device's peaks, in percent: the longer of the times to move the bytes at the peak
  /// bandwidth and to compute the operations at the peak of float16's tensor cores, divided by the measured time. Empty
  /// if the peaks are unknown. For a run that is limited by computing, the value is too low for dtypes with a lower
  /// peak than float16's, and too high for those with a higher one.
  std::optional<double> percent_of_peak;
};

/// The outcome of a candidate in a search. lib/measure/outcomes.h has the names and the stored numbers, and a new value
/// must be added there too.
enum class OutcomeKind {
  kMeasured,
  kDuplicate,    ///< Its code equals that of another config, which was measured in its place.
  kNotMeasured,  ///< The search was cut short before it measured this candidate, or no search tried it.
  kPredicted,    ///< Its mean time is the prediction of a model. The candidate was not measured for this key.
  // The kinds below are failures: such a candidate cannot be selected.
  kCompile,      ///< The toolchain could not compile the candidate.
  kLoad,         ///< The driver refused the code, or the code's parameters are not the declared ones.
  kResources,    ///< It needs more memory, shared memory or threads than available.
  kLaunch,       ///< The launch was refused, or the geometry is invalid.
  kRun,          ///< It failed while running, or could not be timed.
  kWrongResult,  ///< Its output differs from the reference.
  kOutOfBounds,  ///< It wrote outside of its outputs and workspaces.
  kNotWritten,   ///< It left elements of an output unwritten.
  kWroteInput,   ///< It wrote a tensor that is declared as an input.
  kNotVerified,  ///< The candidate's outputs could not be compared, because the baseline failed.
  // The next three occur in a worker process (SearchOptions::isolation), which the candidate ended.
  kCrash,    ///< It ended the worker by a fault, a trap, a signal, exit or abort.
  kTimeout,  ///< It exceeded SearchOptions::candidate_deadline_ms.
  /// The worker's answer was invalid, because the candidate overwrote the worker's memory or its socket.
  kProtocol,
  kQuarantined,  ///< It failed in production and must not run. `message` states how it failed.
};

/// Returns whether candidates with this outcome failed.
constexpr bool IsFailure(OutcomeKind kind) { return kind >= OutcomeKind::kCompile; }
/// Returns whether candidates with this kind of failure ended their worker process.
constexpr bool EndsItsProcess(OutcomeKind kind) {
  return kind >= OutcomeKind::kCrash && kind <= OutcomeKind::kProtocol;
}

/// Returns the name of a kind for people: "compile", "wrong result", ...
TUNEONCE_API std::string_view OutcomeName(OutcomeKind kind);

/// The conditions under which a selected config was verified. Nothing is known about conditions that it does not list.
/// It has value semantics.
struct TUNEONCE_API Verification {
  /// How much was verified, least first.
  enum class Level {
    kNone,  ///< Nothing: a person pinned the config, or it was imported.
    /// The config wrote nothing but its outputs. If the search had no reference and Verify was not kOff, it also wrote
    /// every element of them.
    kMemory,
    kReference,  ///< Its outputs were compared with the baseline's or with a given reference.
  };
  /// The tolerance with which one output was compared (Tolerance). `outputs` has one for each output of the kernel, in
  /// order.
  struct Output {
    double absolute = 0;
    double relative = 0;
    double ulps = 0;
    bool may_be_partial = false;
  };
  /// What was verified for one dim where launches of one key can differ in its extent, because the key rounds or omits
  /// the dim. Extents that divide into tiles alike form a class, and launches run the config only at extents of a class
  /// in which it was verified. docs/verification.md defines the classes.
  struct Extents {
    std::string dim;
    std::vector<std::uint64_t> classes;  ///< Numbers that identify the verified classes; they are not extents.
  };

  Level level = Level::kNone;
  std::vector<Output> outputs;
  /// False if the data could not have shown an error, because it was constant, zero, of one sign, or not finite. The
  /// selected config then serves this process and is not stored.
  bool is_data_sufficient = true;
  /// Whether the config was verified on inputs that the library made, in addition to the caller's data or in place of
  /// it. They have the values that the definition declares for warm-ups. Floating-point tensors without a declaration
  /// have pseudo-random numbers.
  bool has_generated_data = false;
  std::vector<Extents> extents;  ///< Empty if the key decides all dims.
  /// What could not be verified, one line each: "M=65: not enough memory".
  std::vector<std::string> gaps;

  /// Returns whether this verification satisfies `demanded`: its level is at least as high. If `demanded` has
  /// kReference, no output has a larger tolerance, and none may be partial that must not be. Extents are not compared.
  bool Covers(const Verification& demanded) const;
};

/// The state of a device during a measurement. Empty values are unknown.
struct DeviceConditions {
  std::optional<std::int64_t> sm_clock_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's bits of clock throttle reasons.
  std::string mig_profile;                        ///< The MIG profile, "1g.18gb" for example. Empty for a whole device.
};

/// The state of a device at one moment.
struct DeviceReading {
  DeviceConditions conditions;
  std::optional<std::int64_t> temperature_c;
  std::optional<std::int64_t> power_mw;  ///< Current power draw in milliwatts.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TRIAL_H_
