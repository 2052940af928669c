#ifndef TUNEONCE_TUNED_KERNEL_H_
#define TUNEONCE_TUNED_KERNEL_H_

#include <cuda.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/wait_limits.h"
#include "tuneonce/result.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

enum class RecordMiss;
struct TuningRecord;

/// What a launch would run and why, as TunedKernel::Explain returns it. Plain data.
struct LaunchPlan {
  /// What a launch would do.
  enum class Action {
    kNothing,   ///< It would launch nothing, because an extent of a tensor is 0 and no output has elements.
    kSelected,  ///< It would run the key's selected config.
    kFallback,  ///< It would run the fallback config.
    kSearch,    ///< It would search, and run the config that the search selects, which is not known yet.
  };
  /// Why a launch would do what `action` states: the first condition that applies. The comment of each value begins
  /// with the action that it leads to.
  enum class Reason {
    kEmpty,  ///< kNothing: an extent of a tensor is 0, and no output has elements.
    kReady,  ///< kSelected: the selected config is loaded, and the launch is a hit.
    /// kSelected: a stored record serves the key, and the launch loads its config. kSearch: the launch first compares
    /// that config with the baseline, because it was imported and has not run here yet.
    kStored,
    kNoRecord,  ///< kSearch, or kFallback in a mode that does not search: no record serves the key.
    /// kFallback: the launch's arguments violate a guard of the selected config or an assumption of its code, or it was
    /// selected as the baseline and they have another one. `detail` names it.
    kGuard,
    /// kSearch: the selected config was not verified for extents of this class (Verification::Extents), and the launch
    /// first compares it with the baseline there. kFallback where no search may run; it is verified as soon as one may.
    kUnverified,
    kPending,    ///< kFallback: the key is pending until TunePending or Warmup.
    kNotAgreed,  ///< kFallback: the ranks of AutotunePolicy::ranks have not agreed on the key.
    /// kFallback: tuning the key failed, and launches do not try again yet, or at all (AutotunePolicy::retry_after).
    /// `detail` states the reason.
    kFailedTune,
    kCapture,  ///< kFallback: the stream is capturing, and the selected config is not loaded.
    kFrozen,   ///< kFallback: Freeze was called, and the selected config is not loaded.
    kMode,     ///< kFallback: the mode is kFallbackOnly.
  };
  /// Where the selected config comes from.
  enum class Origin {
    kNone,    ///< No config was selected.
    kSearch,  ///< A search of this process.
    kStore,   ///< A record in the user's store.
    /// A record that was shipped with the application (MakeLayeredStore) or with the kernel
    /// (KernelDefinition::ShippedSelections).
    kShipped,
    kPinned,     ///< TunedKernel::Pin, in this process or in the store.
    kImported,   ///< A config that was imported into the store.
    kRanks,      ///< Another rank (AutotunePolicy::ranks).
    kPredicted,  ///< A prediction from records of other keys (AutotunePolicy::on_new_key).
  };

  /// What the launch would do.
  Action action = Action::kNothing;
  /// Why the launch would do what `action` states.
  Reason reason = Reason::kEmpty;
  /// Where the selected config comes from.
  Origin origin = Origin::kNone;
  RecordMatch match = {};  ///< How well the record fits the key, if the config comes from the store.
  /// Why no stored record serves the key, if the launch would look it up in the store. kNone if a record serves it, or
  /// if the launch would not read the store. `detail` explains it, mainly for kRefused.
  RecordMiss miss = {};
  /// The config that would run. Empty for kNothing. For kSearch, the stored or predicted config that is compared with
  /// the baseline first, if there is one, else empty.
  std::optional<Config> config;
  std::string variant;  ///< The variant that builds `config`. Empty if that is only known after compiling.
  std::string key;      ///< The launch's key as text for people: "M<=128, x:float16". Empty for kNothing.
  std::string detail;   ///< An explanation for people, which may be empty.
  /// The record of the selected config (tuning_record.h): its time and how certain that is, whether the search was
  /// complete, and when and where it ran. Its list of candidates is empty if the config is loaded. Null if there is no
  /// record.
  std::shared_ptr<const TuningRecord> record;
};

/// Returns the name of an action: "nothing", "selected", "fallback" or "search".
TUNEONCE_API std::string_view LaunchPlanName(LaunchPlan::Action action);
/// Returns the name of a reason: "ready", "no_record", "failed_tune", ...
TUNEONCE_API std::string_view LaunchPlanName(LaunchPlan::Reason reason);
/// Returns the name of an origin: "none", "search", "store", "shipped", "pinned", "imported", "ranks" or "predicted".
TUNEONCE_API std::string_view LaunchPlanName(LaunchPlan::Origin origin);

/// A kernel that tunes itself once per key and then launches at the cost of a plain cuLaunchKernelEx.
///
/// A launch's arguments determine its key, and the key determines the config that is fastest on the device of the
/// calling thread's current context. In the default mode, the first launch of a key searches on the calling thread, or
/// takes a stored record. Other threads that launch the same key meanwhile wait for it. A hit takes no lock, allocates
/// nothing and makes no system call of its own.
///
/// A TunedKernel serves all devices of one driver (the CUDA driver or the CPU device), which is that of the current
/// context at the first launch or warm-up. Another context of the same device needs no tuning: the driver loads a
/// kernel at its first launch there, after the work that runs in that context.
///
/// Move-only. Thread rule: any thread may call Launch, IsReady, Explain, Pin and counters. The destructor unloads the
/// kernels. REQUIRES at that time: no launch is running, and no graph captured from the kernel will be instantiated
/// again.
class TUNEONCE_API TunedKernel {
 public:
  /// Makes a kernel without needing a context. It checks everything in the definition that can be checked without a
  /// device, and the policy's values (CheckOptions). Errors: InvalidArgument. The first launch or warm-up checks that
  /// there is a driver (else Unavailable) and a variant for the device (else Unimplemented, with the available
  /// variants), and opens the policy's store.
  static Result<TunedKernel> Create(KernelDefinition definition, AutotunePolicy policy = {});
  /// Makes a kernel of a bundle: of a folder or a name ("rms_norm"), of one that is embedded into the program, or of
  /// one that was loaded before. Errors: those of Bundle::Load and Create.
  static Result<TunedKernel> FromBundle(const std::variant<std::string, EmbeddedBundle, Bundle>& bundle,
                                        AutotunePolicy policy = {});
  ~TunedKernel();
  TunedKernel(TunedKernel&&) noexcept;
  TunedKernel& operator=(TunedKernel&&) noexcept;

  /// Enqueues one launch on `stream`. `arguments` has a TensorView (a PointerTable for ByPointers) or a scalar for each
  /// tensor and scalar parameter of the definition, in its order.
  ///
  /// The launch runs the first of these that applies. If the key's selected config is loaded and its guards hold for
  /// these dims, it runs that config. If a guard does not hold, if the stream is capturing, or after Freeze, it runs
  /// the fallback config. Otherwise AutotunePolicy::mode decides: the launch loads a stored record's config, searches
  /// now, or runs the fallback config. The fallback config is the baseline, else the space's own
  /// (SearchSpace::SetFallback) if it is valid, else its first valid config. Arguments that violate a variant's
  /// assumptions (a strided tensor, for example) have a key of their own, which is tuned with the other variants. If an
  /// extent is 0, so that no output has elements, nothing is launched, tuned or counted.
  ///
  /// A key that cannot be tuned runs the fallback config, and the observer is notified (AutotunePolicy::on_tune_error).
  /// Errors: InvalidArgument, naming the parameter; FailedPrecondition (no context, a miss on a capturing stream
  /// without a loaded fallback config, a call from inside a callback); an error with both reasons if the fallback
  /// config cannot run either; DataLoss (SearchOptions::allow_trials_in_place); a lost context; the driver's error for
  /// a refused launch.
  Status Launch(CUstream stream, ArgumentSpan arguments);
  /// Enqueues one launch with these arguments: `kernel.Launch(stream, x, y, 2.0f)`.
  template <typename... Arguments,
            typename = std::enable_if_t<(std::is_convertible_v<const Arguments&, Argument> && ...)>>
  Status Launch(CUstream stream, const Arguments&... arguments) {
    const std::array<Argument, sizeof...(Arguments)> packed = {Argument(arguments)...};
    return Launch(stream, ArgumentSpan(packed.data(), packed.size()));
  }

  /// Launches if the code to run is loaded (that of the selected config or, where it takes its place, of the fallback
  /// config). Otherwise it launches nothing, returns OK and sets `*missed` to true. In all other cases `*missed` is
  /// false. It is for callers that must not wait, or that hold a lock that others need (such as Python's), and want to
  /// prepare for a search first. Errors: as for Launch. REQUIRES: `missed` is not null.
  Status Launch(CUstream stream, ArgumentSpan arguments, bool* missed);

  /// Returns whether the next Launch with such arguments in the current context would run a selected config that is
  /// loaded already, or the fallback where a condition excludes that config, without a search, so that the caller may
  /// free memory that it keeps only for a search. Also true if the launch would do nothing because its outputs have no
  /// elements. Otherwise always false in mode kFallbackOnly. Errors: those of the arguments; FailedPrecondition without
  /// a context.
  Result<bool> IsReady(ArgumentSpan arguments) const;

  /// One shape to warm up, as named values instead of tensors: the extent of each dim, the value of each scalar, the
  /// dtype of each tensor. Every dim is required. A scalar can be omitted if the definition gives it a warm-up value
  /// (ForWarmup) and the launches use that value. A tensor's dtype is needed only if the definition leaves it open.
  struct Shape {
    /// A dim's extent, a scalar's number or boolean, or a tensor's dtype.
    struct Value {
      template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
      Value(T number)  // NOLINT(google-explicit-constructor)
          : what(static_cast<std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>>(number)) {
        if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::uint64_t)) {
          if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            what = std::uint64_t{number};
        }
      }
      Value(DType dtype) : what(dtype) {}  // NOLINT(google-explicit-constructor)

      std::variant<std::int64_t, double, DType, std::uint64_t> what;  ///< A std::uint64_t only above 2^63 - 1.
    };
    using Values = std::vector<std::pair<std::string, Value>>;

    Shape() = default;
    /// Makes a shape of names and values: {{"M", 64}, {"N", 4096}, {"causal", true}, {"x", kFloat16}}.
    Shape(std::initializer_list<Values::value_type> list) : values(list) {}

    Values values;
  };
  /// Tunes or loads these shapes in the current context, one after the other, so that their launches are hits. Trials
  /// run on tensors and scalars with the values that the definition declares (Parameter::ForWarmup). Use the overload
  /// for arguments for a kernel whose speed depends on its data. A bucket is tuned at its bound, as by a launch. If a
  /// variant accepts only some shapes of the bucket, warm up one shape that it accepts and one that it does not. The
  /// fallback config is loaded too, so that captures have something to run. Where the mode or Freeze forbids tuning,
  /// only the fallback config is loaded, and a stored record if the mode allows one. A shape with an extent of 0 is
  /// done at once. `on_done` (may be null) is called after each shape with the number of finished shapes and the
  /// outcome. At the end, pending keys are tuned as by TunePending.
  ///
  /// Errors: FailedPrecondition (no context, the stream is capturing); InvalidArgument for a shape that does not match
  /// the definition, or a parameter without a declared value that needs one; ResourceExhausted without memory for the
  /// tensors; DeadlineExceeded if another process tunes a key for longer than AutotunePolicy::max_wait; the error of
  /// the first shape whose tuning failed, after all shapes were tried (at once if the context is lost or the call is
  /// interrupted). Unlike a launch, a warm-up has no other purpose, so it reports the failure. Each Warmup tries failed
  /// keys again.
  Status Warmup(CUstream stream, const std::vector<Shape>& shapes,
                const std::function<void(std::size_t done, const Status& outcome)>& on_done = nullptr);

  /// Tunes or loads the key of one launch on its arguments, for a kernel whose speed depends on its data. It does not
  /// launch on them and does not write them. Errors: those of the overload for shapes, and those of Launch's arguments.
  template <typename... Arguments,
            typename = std::enable_if_t<(std::is_convertible_v<const Arguments&, Argument> && ...)>>
  Status Warmup(CUstream stream, const Arguments&... arguments) {
    const std::array<Argument, sizeof...(Arguments)> packed = {Argument(arguments)...};
    return Warmup(stream, ArgumentSpan(packed.data(), packed.size()));
  }
  Status Warmup(CUstream stream, ArgumentSpan arguments);

  /// What stands for a launch: its arguments, or a shape with contiguous, aligned tensors that do not overlap and with
  /// the scalars that the definition declares for warm-ups. Braces make either: {x, y, 2.0f} or {{"N", 4096}}. It
  /// copies the list of arguments, but not the views and scalars that they refer to.
  class CallInputs {
   public:
    CallInputs() : what_(std::vector<Argument>()) {}  ///< Makes a call without arguments.
    CallInputs(ArgumentSpan arguments)                // NOLINT(google-explicit-constructor)
        : what_(std::vector<Argument>(arguments.data(), arguments.data() + arguments.size())) {}
    CallInputs(std::vector<Argument> arguments) : what_(std::move(arguments)) {}  // NOLINT(google-explicit-constructor)
    template <std::size_t N>
    CallInputs(const std::array<Argument, N>& arguments)  // NOLINT(google-explicit-constructor)
        : what_(std::vector<Argument>(arguments.begin(), arguments.end())) {}
    CallInputs(std::initializer_list<Argument> list) : what_(std::vector<Argument>(list)) {}
    CallInputs(Shape shape) : what_(std::move(shape)) {}  // NOLINT(google-explicit-constructor)
    CallInputs(std::initializer_list<Shape::Values::value_type> list) : what_(Shape(list)) {}

    /// Returns null for a shape.
    const std::vector<Argument>* arguments() const { return std::get_if<std::vector<Argument>>(&what_); }
    /// Returns null for arguments.
    const Shape* shape() const { return std::get_if<Shape>(&what_); }

   private:
    std::variant<std::vector<Argument>, Shape> what_;
  };

  /// Returns what the next launch with such inputs would run, why, and where the config comes from. Nothing is
  /// launched, tuned, compiled or loaded. The store is read if a launch would read it. A search on another thread or in
  /// another process may end meanwhile and change the answer. Errors: those of the arguments, or an invalid shape; the
  /// error that a launch would return (for example a capture with nothing loaded); FailedPrecondition without a
  /// context.
  Result<LaunchPlan> Explain(CUstream stream, const CallInputs& inputs) const;

  /// Searches for the key of these inputs again although a config is selected, and replaces the selected config in this
  /// process and in the store. Launches run the old config until then, and its code is retired (ReleaseRetired). It
  /// does not launch on arguments. For a shape, trials run on tensors with the values that the definition declares, as
  /// in Warmup. Errors: those of Warmup, after which the old config stays, and those of Launch's arguments;
  /// FailedPrecondition in a mode that does not search, after Freeze, and for a pinned key.
  Status Retune(CUstream stream, const CallInputs& inputs);

  /// A value for each axis, by name: {{"TILE", 64}, {"occupancy", 2}}.
  using NamedConfig = std::vector<std::pair<std::string, AxisValue>>;
  /// How long a pin lasts.
  enum class PinFor {
    kProcess,  ///< Until Unpin, or until this object is destroyed.
    /// The pin is also put into the store as a record. Later processes use it like any record, and no search replaces
    /// it. Only for configs whose values the axes list, because a record is valid only for configs of the space.
    kStore,
  };
  /// Makes the shape's key on the current context's device run this config, which the host selected. The config is
  /// compiled and loaded now and replaces the current one by an atomic pointer, so that launches on other threads run
  /// one or the other. The pin applies to a whole bucket, except for arguments that violate a variant's assumptions:
  /// these have a key of their own, which a stored pin serves until it has a record. A launch for which the config's
  /// guards do not hold runs the fallback config. A pin is not affected by Freeze and max_ready_keys, and may be made
  /// after Freeze.
  ///
  /// The axes need not list the values, but the conditions of the space must hold at this shape. In
  /// mode kStoredOnly nothing is compiled, so the config's code must be stored. Errors: InvalidArgument, naming what
  /// does not fit; FailedPrecondition, naming the guard, or without a context; the compiler's; for kStore those of the
  /// store, after which the pin still applies in this process.
  Status Pin(const Shape& shape, const NamedConfig& config, PinFor how_long = PinFor::kProcess);
  /// Removes the pin of the shape's key, in this process and in the store. The key's next launch is a miss. Errors:
  /// NotFound if it is not pinned; the store's.
  Status Unpin(const Shape& shape);

  /// Tunes all pending keys now, at a moment when that disturbs nothing else. A key is tuned on the inputs of the
  /// launch that made it pending, if they were copied (AutotunePolicy::kept_inputs_bytes), else on tensors with the
  /// values that the definition declares (Parameter::ForWarmup) and the launch's scalars. In mode kStoredOnly it is
  /// looked up in the store again. Keys that run the stored config of a search that was cut short
  /// (TuningRecord::is_complete) are pending too: their search is continued, within its budgets and once in a process.
  /// Warmup does not continue it, and neither do ranks and selection groups. Keys that another process is tuning, and
  /// failed keys whose pause is not over, stay pending. At most AutotunePolicy::max_ready_keys keys, and as many
  /// remembered failures, are kept. The oldest are dropped, and their memory is freed two calls later. After Freeze
  /// nothing else happens. The call is cheap if nothing is pending, so it can be made between two steps.
  ///
  /// REQUIRES: no stream of the process captures; no launch of the host's is running, because a search would measure it
  /// too; every Launch that began before the previous call has returned. Errors: FailedPrecondition (no context, the
  /// stream is capturing); the first failure of the keys that were tried.
  Status TunePending(CUstream stream);

  /// Ends all tuning. From now on nothing is searched, compiled for a search, or served from the store, whatever the
  /// mode. A launch whose key is not loaded runs the fallback config, and is counted (Counters::frozen_misses) and
  /// listed (frozen_misses()). Pending keys are forgotten. A search that another thread has begun is completed, and its
  /// config serves; a TunePending or warm-up there begins no other. Call it after Warmup, before captures and steady
  /// operation.
  void Freeze();
  /// Returns the keys that missed since Freeze outside captures, each once, at most 1000: "M=128, x:float16".
  std::vector<std::string> frozen_misses() const;

  /// Unloads code that no key runs any more, because its keys were dropped (AutotunePolicy::max_ready_keys) or run
  /// another config now. Such code stays loaded until this call, because a graph that was captured with it may be
  /// replayed. REQUIRES: no other call of this kernel is running, its launches are done, and no graph captured before
  /// the keys were dropped is used again, because instantiating such a graph crashes inside the driver.
  void ReleaseRetired();

  /// Returns the counters since Create. In a child of fork() those of `now` are 0.
  Counters counters() const;
  /// Returns the definition in the form in which Create validated it.
  const KernelDefinition& definition() const;

 private:
  friend struct TunedKernelOn;
  friend class KernelInRanks;
  friend class LaunchExplainer;
  friend class RankedKeys;
  friend class WarmupRun;
  struct TUNEONCE_LOCAL Impl;
  struct TUNEONCE_LOCAL Origin;
  TUNEONCE_LOCAL explicit TunedKernel(std::unique_ptr<Origin> origin);
  /// Makes a kernel of a definition that ValidateForLaunch has checked.
  TUNEONCE_LOCAL static Result<TunedKernel> OfValid(std::shared_ptr<const KernelDefinition> definition,
                                                    AutotunePolicy policy);
  /// Returns the state for the driver whose context is current, which the first use creates.
  TUNEONCE_LOCAL Result<Impl*> Bound() const;
  TUNEONCE_LOCAL const RankPolicy& ranks() const;

  std::unique_ptr<Origin> origin_;            // Owns the members below.
  mutable std::atomic<Impl*> impl_{nullptr};  // Null until the first use, then constant.
};

/// A kernel and the shapes to warm up.
struct KernelShapes {
  TunedKernel* kernel = nullptr;  ///< Required, and must outlive the call.
  std::vector<TunedKernel::Shape> shapes;
};

/// The result of WarmupAll for one key. It has value semantics.
struct WarmedKey {
  /// How the key became ready, or why it is not.
  enum class State {
    kReady,      ///< Its config was loaded before the call, or nothing is to be launched because an extent is 0.
    kFromStore,  ///< The config of a stored record was loaded.
    kTuned,      ///< A search selected its config.
    kFromRanks,  ///< The config of another rank was loaded.
    kPredicted,  ///< A predicted config was loaded (AutotunePolicy::on_new_key).
    kFallback,  ///< The fallback config was loaded, because the mode, Freeze or RankPolicy::may_differ allows no other.
    /// It could not be tuned, and `status` states why. Unless the shape itself was invalid, launches run the fallback
    /// config.
    kFailed,
    /// The deadline passed (`status` is DeadlineExceeded), or the call was stopped (Cancelled), before the key was
    /// ready. Launches treat it as a new key.
    kNotReached,
  };

  std::size_t kernel = 0;  ///< Index of the kernel in the list of the call.
  std::string key;         ///< The key: "M<=4096, x:float16". Empty for an invalid shape.
  /// Indices into KernelShapes::shapes of all shapes with this key. Shapes of one bucket have one key.
  std::vector<std::size_t> shapes;
  State state = State::kNotReached;
  bool is_complete = true;  ///< For kTuned and kFromStore, whether the search was not cut short.
  Status status;            ///< OK except for kFailed and kNotReached.
};

/// The progress of WarmupAll.
struct WarmupProgress {
  const WarmedKey& key;  ///< The key that was just finished.
  /// Number of finished keys.
  std::size_t done = 0;
  /// Number of all keys of the call.
  std::size_t total = 0;
  /// Time until the call ends, in seconds, estimated from the keys finished so far; never past the deadline.
  double seconds_left = 0;
};

/// Options of WarmupAll.
struct WarmupAllOptions {
  /// Limit of the wall time of the whole call. The remaining time is divided over the remaining searches. A search that
  /// uses up its share selects from what it measured (WarmedKey::is_complete), and what still runs at the end is given
  /// up. With 0, stored configs are loaded, and nothing is compiled or measured. Default: no limit.
  std::optional<std::chrono::milliseconds> deadline;
  /// Ends the call. Finished keys stay ready. Default: never.
  StopToken stop;
  /// Called after each key, on the calling thread. It must not launch. Exceptions from it are dropped.
  std::function<void(const WarmupProgress&)> on_progress;
};

/// Warms up many kernels at once on the current context's device. Stored configs are loaded first, then fallback
/// configs. Then the other keys are searched one at a time: the next one is the first whose code is compiled, or else
/// the first in the order given. One pool of workers compiles for all of them. On a GPU, later keys are compiled while
/// earlier ones are measured. On the CPU device, whose cores also run the kernels, everything is compiled before the
/// first key is measured. Shapes of one bucket are one key. A key that another process is tuning comes last, and the
/// call waits for it while there is time. A key that fails, or an invalid shape, does not stop the others. The
/// requirements of TunedKernel::TunePending apply. Pending keys that are not in the lists stay pending.
///
/// Returns the result of each key, in the order given. Errors: InvalidArgument for a null kernel; FailedPrecondition
/// (no context, the stream is capturing, a call from inside a callback).
TUNEONCE_API Result<std::vector<WarmedKey>> WarmupAll(CUstream stream, const std::vector<KernelShapes>& kernels,
                                                      const WarmupAllOptions& options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TUNED_KERNEL_H_
