#ifndef TUNEONCE_TUNED_KERNEL_H_
#define TUNEONCE_TUNED_KERNEL_H_

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tuneonce/argument.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

class Bundle;
struct EmbeddedBundle;
enum class RecordMiss;
struct TuningRecord;

/// What a TunedKernel did, since its Create.
struct Counters {
  std::int64_t hits = 0;           ///< Launches that found their key resident.
  std::int64_t tunes = 0;          ///< Searches made.
  std::int64_t stored_hits = 0;    ///< Keys served from a stored record, without a search.
  std::int64_t waits = 0;          ///< Launches that waited for another thread's tune.
  std::int64_t stand_ins = 0;      ///< Launches of the stand-in (the baseline, as a rule) instead of a tuned config.
  std::int64_t sealed_misses = 0;  ///< Of those: launches after Seal of keys that were not resident.
  std::int64_t failed_tunes = 0;   ///< Attempts to tune a key that failed; AutotunePolicy says when another follows.
  double tuning_seconds = 0;       ///< Wall time of searches.
  double tuning_gpu_seconds = 0;   ///< TuningCost::gpu_seconds of searches.
  std::int64_t loaded_kernels =
      0;  ///< Kernels loaded now: at most two per device, config and code (tuned and stand-in), whatever the keys.
  std::int64_t resident_entries = 0;  ///< What keys run now: as a rule two for each, its choice and its stand-in.
  std::int64_t capture_misses = 0;    ///< Of those and of errors: misses on a capturing stream.
  std::int64_t busy_elsewhere = 0;    ///< Launches that did not tune since another process tuned their key.
  std::int64_t waiting_keys = 0;      ///< Keys that wait for a safe point now.
  std::int64_t pinned_keys = 0;       ///< Keys that run a pinned config now.
  /// Device memory that copies of waiting keys' inputs hold now (AutotunePolicy::kept_inputs_bytes).
  std::int64_t kept_inputs_bytes = 0;
  std::int64_t inputs_not_kept = 0;  ///< Misses in kTuneInBackground whose inputs could not be kept.
  // Times that the store was asked for a key and had nothing that serves it, by RecordMiss.
  std::int64_t misses_no_record = 0;
  std::int64_t misses_other_driver = 0;
  std::int64_t misses_other_device = 0;
  std::int64_t misses_other_source = 0;
  std::int64_t misses_incomplete = 0;
  std::int64_t misses_refused = 0;
  std::int64_t workers_replaced = 0;  ///< Worker processes that candidates of searches ended.
};

/// What a launch would run, and why: TunedKernel::ChoiceOf. Plain data.
struct Choice {
  enum class Runs {
    kNothing,  ///< An extent is 0: there is nothing to launch.
    kChoice,   ///< The key's choice.
    kStandIn,  ///< What stands in for it.
    kSearch,   ///< A search, then what it finds: which config that is, nobody knows yet.
  };
  /// The first thing that decides, in the order in which a launch asks.
  enum class Because {
    kEmpty,       ///< Of kNothing.
    kResident,    ///< Of kChoice: it is loaded; the launch is a hit.
    kStored,      ///< Of kChoice: a record of the store serves the key; the launch loads it.
    kNoRecord,    ///< No record serves the key: of kSearch; of kStandIn where the mode does not search.
    kGuard,       ///< Of kStandIn, as all below: a guard of the choice's config does not hold for these dims.
    kUnverified,  ///< The choice's config was not verified at extents like these: it is as soon as a search may be
                  ///< made.
    kWaits,       ///< The key waits for a safe point.
    kNotAgreed,   ///< The ranks of AutotunePolicy::ranks have not agreed on it.
    kFailedTune,  ///< The key could not be tuned, and is not tried again yet: `detail` says why.
    kCapture,     ///< The stream captures, and the choice is not loaded.
    kSealed,      ///< Seal was called, and the choice is not loaded.
    kMode,        ///< AutotunePolicy::Mode::kBaselineOnly.
  };
  /// Where the choice is from.
  enum class From {
    kNowhere,   ///< There is none; what runs was not chosen.
    kSearch,    ///< A search of this process.
    kStore,     ///< A record in the user's store.
    kShipped,   ///< A record in a store under the user's.
    kPinned,    ///< TunedKernel::Pin, in this process or in the store.
    kImported,  ///< A decision from elsewhere, in the store.
    kRanks,     ///< Another rank's (AutotunePolicy::ranks).
  };

  Runs runs = Runs::kNothing;
  Because because = Because::kEmpty;
  From from = From::kNowhere;
  RecordMatch match = {};  ///< How the record fitted, where the choice is of the store.
  /// Why the store has none, where it was asked: of kNoRecord, and of what is resident since then kNone. `detail` says
  /// more, of kRefused above all.
  RecordMiss miss = {};
  std::optional<Config> config;  ///< What would run; empty for kNothing and kSearch.
  std::string variant;           ///< What builds it; empty where that shows only when it is compiled.
  std::string key;               ///< "M<=128, x:float16".
  std::string detail;            ///< For people; may be empty.
  /// What is known of the choice (tuning_record.h): how fast it is and how sure, whether the search was complete, when
  /// and where it was made. Without the other candidates where the choice is resident. Null if there is none.
  std::shared_ptr<const TuningRecord> record;
};

/// A kernel that tunes itself once per key and then launches at the cost of a plain cuLaunchKernelEx.
///
/// Duty: from a launch's arguments to the config that was found best for their key, on the device of the calling
/// thread's current context. The first launch of a key searches (or takes a stored record) on the calling thread;
/// others that ask for the same key meanwhile wait for it. A hit takes no lock, allocates nothing and makes no system
/// call of its own.
///
/// A TunedKernel serves all devices of one driver: that of the context which is current at its first launch or warm-up,
/// the CPU device's or the CUDA driver. A further context of a device needs no tuning: at a kernel's first launch there
/// the driver loads it, behind what runs in that context.
///
/// Move-only. Thread rule: Launch, IsTuned, ChoiceOf, Pin, counters from any thread. Destroying it unloads its kernels:
/// REQUIRES that no launch of it is under way and that no graph captured from it will be instantiated again.
class TUNEONCE_API TunedKernel {
 public:
  /// Needs no context: checks all of the definition that can be checked without a device. Errors: InvalidArgument. What
  /// needs one is checked at the first launch or warm-up: that there is a driver (else Unavailable) and a variant for
  /// the device (else Unimplemented, with the variants there are). The policy's store is opened then, too.
  static Result<TunedKernel> Create(KernelDefinition definition, AutotunePolicy policy = {});
  /// Bundle::Load, of a folder or of a bundle that is found by name ("rms_norm"), then Create.
  static Result<TunedKernel> FromBundle(const std::string& folder_or_name, AutotunePolicy policy = {});
  static Result<TunedKernel> FromBundle(const EmbeddedBundle& bundle, AutotunePolicy policy = {});
  /// Of a bundle that was read before: Create, without the checks that it has passed.
  static Result<TunedKernel> FromBundle(const Bundle& bundle, AutotunePolicy policy = {});
  ~TunedKernel();
  TunedKernel(TunedKernel&&) noexcept;
  TunedKernel& operator=(TunedKernel&&) noexcept;

  /// Puts one launch into `stream`. Arguments: a TensorView or scalar for each tensor and scalar parameter of the
  /// definition, in its order.
  ///
  /// What runs, in this order: the tuned config of the key, if its guards hold for these dims (else the stand-in); on a
  /// capturing stream, and after Seal, the stand-in; else AutotunePolicy::mode says: a stored record's config, or after
  /// a search made now its choice, or the stand-in. The stand-in is the baseline, else the space's own, else its
  /// first valid config. Arguments that some variants are not for (a strided tensor, say) are another key, tuned for by
  /// the variants that suit them. If an extent is 0, so that no output has elements, nothing is launched, tuned or
  /// counted.
  /// A key that cannot be tuned runs the baseline; the observer hears why. Errors: InvalidArgument, naming the
  /// parameter; FailedPrecondition (no context, a miss while capturing, called from inside a callback); where the
  /// baseline cannot run either both reasons; a lost context; the driver's, for a launch that it refuses.
  template <typename... Arguments>
  Status Launch(CUstream stream, const Arguments&... arguments) {
    const std::array<Argument, sizeof...(Arguments)> packed = {Argument(arguments)...};
    return LaunchArguments(stream, packed.data(), packed.size());
  }
  /// The same, with the arguments in an array.
  Status LaunchArguments(CUstream stream, const Argument* arguments, std::size_t count);

  /// Launches if what is to run (the stand-in, where that takes the config's place) is resident. Else does nothing,
  /// returns OK and sets `*missed`, so that a caller who must not wait (or who holds a lock that others need, as
  /// Python's) can prepare for a search first.
  Status LaunchIfResident(CUstream stream, const Argument* arguments, std::size_t count, bool* missed);

  /// True if the next Launch with such arguments in the current context is a hit of a selected config, so that a caller
  /// may free what it keeps for tuning. Always false in the mode kBaselineOnly. Errors: those of arguments, and FailedPrecondition without a context.
  template <typename... Arguments>
  Result<bool> IsTuned(const Arguments&... arguments) const {
    const std::array<Argument, sizeof...(Arguments)> packed = {Argument(arguments)...};
    return IsTunedArguments(packed.data(), packed.size());
  }
  Result<bool> IsTunedArguments(const Argument* arguments, std::size_t count) const;

  /// What the next such launch would run, why, and from where. Nothing is launched, tuned, compiled or loaded; the
  /// store is asked where a launch would ask it. Another thread's or process's search may end meanwhile. Errors: those
  /// of arguments; where a launch would be an error, that one (a capture with nothing loaded, say); FailedPrecondition
  /// without a context.
  template <typename... Arguments,
            typename = std::enable_if_t<(std::is_convertible_v<const Arguments&, Argument> && ...)>>
  Result<Choice> ChoiceOf(CUstream stream, const Arguments&... arguments) const {
    const std::array<Argument, sizeof...(Arguments)> packed = {Argument(arguments)...};
    return ChoiceOfArguments(stream, packed.data(), packed.size());
  }
  Result<Choice> ChoiceOfArguments(CUstream stream, const Argument* arguments, std::size_t count) const;

  /// One shape to be ready for, without the tensors, by names: all that decides a key, and what a trial needs. Each dim
  /// has a value; a scalar has one where the launches' is another than the definition declares (ForWarmup), or it
  /// declares none; a tensor a dtype where the definition leaves that open.
  struct Shape {
    /// A dim's extent, a scalar's number or truth value, or a tensor's dtype.
    struct Value {
      template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
      Value(T number)  // NOLINT(google-explicit-constructor)
          : what(static_cast<std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>>(number)) {}
      Value(DType dtype) : what(dtype) {}  // NOLINT(google-explicit-constructor)

      std::variant<std::int64_t, double, DType> what;
    };
    using Values = std::vector<std::pair<std::string, Value>>;

    Shape() = default;
    /// {{"M", 64}, {"N", 4096}, {"causal", true}, {"x", kFloat16}}
    Shape(std::initializer_list<Values::value_type> its_values) : values(its_values) {}

    Values values;
  };
  /// Tunes or loads these shapes in the current context, one after the other, so that their launches are hits, on
  /// tensors and scalars that hold what the definition declares (WarmupInputs); for a kernel whose speed depends on
  /// other data use the form below. A bucket is tuned at its bound, as by a launch; where some variants do not suit
  /// all of its shapes, warm up one of each kind. The stand-in is loaded, too, so that captures have something to run;
  /// where the mode, or Seal, lets nothing be tuned, only that is done, and the store asked if it may be. A shape of
  /// which nothing would be launched is done at once. `on_done` (may be null) is called after each with how many are
  /// done and its outcome.
  /// Errors: FailedPrecondition (no context, the stream is capturing); those of WarmupInputs::Create; the first shape's
  /// whose tuning failed, after all were tried: unlike a launch, which then runs the baseline, a warm-up was asked for
  /// nothing else. A key that failed is tried again by each Warmup. DeadlineExceeded: another process tunes it, for
  /// longer than AutotunePolicy::longest_wait_ms.
  Status Warmup(CUstream stream, const std::vector<Shape>& shapes,
                const std::function<void(std::size_t done, const Status& outcome)>& on_done = nullptr);

  /// The same for the key of one launch, on its arguments, which are not launched on: for a kernel whose speed depends
  /// on its data. Nothing is written to them. Errors: as above, and those of Launch's arguments.
  template <typename... Arguments,
            typename = std::enable_if_t<(std::is_convertible_v<const Arguments&, Argument> && ...)>>
  Status Warmup(CUstream stream, const Arguments&... arguments) {
    const std::array<Argument, sizeof...(Arguments)> packed = {Argument(arguments)...};
    return WarmupArguments(stream, packed.data(), packed.size());
  }
  Status WarmupArguments(CUstream stream, const Argument* arguments, std::size_t count);

  /// ChoiceOf for a shape: of contiguous, aligned tensors that do not overlap, and the scalars that the definition
  /// declares for warm-ups. Errors: those of a shape, too.
  Result<Choice> ChoiceOf(CUstream stream, const Shape& shape) const;

  /// Searches for the shape's key again although it has a choice, and puts what is found in its place: here, where
  /// launches run the old choice until then and its code retires (ReleaseRetired), and in the store. On tensors that
  /// hold what the definition declares, as Warmup. Errors: as Warmup's, after which the old choice stays;
  /// FailedPrecondition in a mode that does not search, after Seal, and for a pinned key.
  Status Retune(CUstream stream, const Shape& shape);
  /// The same on the arguments of a launch, which are not launched on.
  template <typename... Arguments,
            typename = std::enable_if_t<(std::is_convertible_v<const Arguments&, Argument> && ...)>>
  Status Retune(CUstream stream, const Arguments&... arguments) {
    const std::array<Argument, sizeof...(Arguments)> packed = {Argument(arguments)...};
    return RetuneArguments(stream, packed.data(), packed.size());
  }
  Status RetuneArguments(CUstream stream, const Argument* arguments, std::size_t count);

  /// A value for each axis, by name: {{"TILE", 64}, {"occupancy", 2}}.
  using NamedConfig = std::vector<std::pair<std::string, AxisValue>>;
  /// How long a pin lasts.
  enum class PinFor {
    kProcess,  ///< Until Unpin, or as long as this object.
    kStore,    ///< The store remembers it, too: later processes serve it like any record, and no search replaces it. Of
               ///< configs that the axes list, since a store brings none of its own.
  };
  /// From now on the shape's key, on the current context's device, runs this config: one that the host has chosen. It
  /// is compiled and loaded now, and takes the place of what the key ran by one pointer, so that launches on other
  /// threads run the one or the other. A bucket is pinned whole, but for calls that some variants do not suit: they are
  /// another key, which a stored pin serves while it has no record of its own. A launch that the config's guards do not
  /// hold for runs the stand-in. A pin outlasts Seal and max_resident_keys; it may be made after Seal.
  /// The values need not be among those that the axes list, but constraints, target filters, and the guards at this
  /// shape must hold. Errors: InvalidArgument, naming what does not fit; FailedPrecondition, naming the guard, and
  /// without a context; the compiler's; for kStore, the store's, after which the pin holds in this process. In
  /// kStoredOnly nothing is compiled: its code must be stored.
  Status Pin(const Shape& shape, const NamedConfig& config, PinFor how_long = PinFor::kProcess);
  /// Undoes Pin, in the store too: the key's next launch is a miss. Errors: NotFound, if it is not pinned; the store's.
  Status Unpin(const Shape& shape);

  /// A safe point: what must not disturb anything else is done now. Keys that wait for one are tuned on what the launch
  /// that met them read (AutotunePolicy::kept_inputs_bytes), else on tensors that hold what the definition declares
  /// (WarmupInputs) and its scalars, or looked up in the store again (kStoredOnly); another process's are left for the
  /// next time, and so are failures whose pause is not over. At most
  /// AutotunePolicy::max_resident_keys keys, and as many remembered failures, are kept; the oldest are dropped, and their
  /// memory is freed two safe points later. After Seal only that. Cheap where nothing waits: call it between two steps.
  /// REQUIRES: no stream of the process captures, and no launch of the host's is in flight: what runs beside a search
  /// would be measured with it. Every Launch that began before the previous safe point has returned. Errors:
  /// FailedPrecondition (no context, the stream is capturing); of the keys that were tried the first failure.
  Status AtSafePoint(CUstream stream);

  /// From now on nothing is tuned, compiled for a search, or served from the store, whatever the mode: a launch whose
  /// key is not resident runs the stand-in, and is counted and listed. Keys that wait for a safe point wait no more.
  /// Call it after Warmup, before captures and steady operation.
  void Seal();
  /// The keys missed since Seal, each once: "M=128, x:float16"; the first 1000.
  std::vector<std::string> sealed_misses() const;

  /// Unloads code that no key runs any more, because its keys were dropped (AutotunePolicy::max_resident_keys) or run
  /// something else now. Until then it stays loaded: a graph that was captured with it may be replayed. REQUIRES: no
  /// other call of this kernel is under way, what it launched is done, and no graph captured before the keys were
  /// dropped is used again: instantiating it anew crashes inside the driver.
  void ReleaseRetired();

  Counters counters() const;
  const KernelDefinition& definition() const;

 private:
  friend struct TunedKernelOn;
  friend class RankedKeys;
  friend class WarmupRun;
  struct Impl;
  struct Origin;
  explicit TunedKernel(std::unique_ptr<Origin> origin);
  /// Create of what ValidateForLaunch has found good.
  static Result<TunedKernel> OfValid(std::shared_ptr<const KernelDefinition> definition, AutotunePolicy policy);
  /// The state for the driver whose context is current, made at the first use.
  Result<Impl*> Bound() const;
  const RankPolicy& ranks() const;
  Status WarmupInRanks(CUstream stream, const std::vector<Shape>& shapes,
                       const std::function<void(std::size_t, const Status&)>& on_done);
  /// Agrees with the other ranks on nothing, since this one cannot, and returns `why`.
  Status TakeTurn(CUstream stream, Status why) const;

  std::unique_ptr<Origin> origin_;            // Owns what is below.
  mutable std::atomic<Impl*> impl_{nullptr};  // Null until the first use, then never changes.
};

/// A kernel, and the shapes that it is to be ready for.
struct KernelShapes {
  TunedKernel* kernel = nullptr;  ///< Outlives the call.
  std::vector<TunedKernel::Shape> shapes;
};

/// What a WarmupAll did for one key. A value.
struct WarmedKey {
  enum class State {
    kResident,    ///< It was ready before; or there is nothing to launch.
    kFromStore,   ///< The stored choice was loaded.
    kTuned,       ///< A search was made.
    kFromRanks,   ///< Another rank's choice was loaded.
    kStandIn,     ///< The mode, or Seal, lets no choice be made, or RankPolicy::may_differ: the stand-in is loaded.
    kFailed,      ///< `status` says why. If it is no wrong shape the stand-in runs.
    kNotReached,  ///< The time was over, or it was cancelled: launches do what the mode says of a new key.
  };

  std::size_t kernel = 0;           ///< Its place in the list that was given.
  std::string key;                  ///< "M<=4096, x:float16"; empty for a shape that is wrong.
  std::vector<std::size_t> shapes;  ///< Their places in the kernel's list: those of one bucket are one key.
  State state = State::kNotReached;
  bool is_complete = true;  ///< kTuned: no candidate was left out for lack of time.
  Status status;            ///< OK but for kFailed and kNotReached.
};

struct WarmupProgress {
  const WarmedKey& key;  ///< That is done now.
  std::size_t done = 0;
  std::size_t total = 0;
  double seconds_left = 0;  ///< As those took that are done, and not beyond the deadline.
};

struct WarmupAllOptions {
  /// Wall time for all, from the call on. What is left of it is shared out over the searches that are left; a search
  /// that uses up its share chooses among what it measured (WarmedKey::is_complete), and at the end what runs is
  /// given up. 0: what is stored is loaded, and nothing compiled or measured. Default: no limit.
  std::optional<int> deadline_ms;
  /// Ends the call soon after it becomes true. What was done stays. Null (default): never.
  const std::atomic<bool>* cancelled = nullptr;
  /// Called after each key, on the calling thread. It must not launch; exceptions from it are dropped.
  std::function<void(const WarmupProgress&)> on_progress;
};

/// TunedKernel::Warmup of many kernels at once, on the current context's device: what the store has is loaded first,
/// then stand-ins, then the other keys are searched in the order given, one measured at a time. All are compiled by one
/// pool of workers, those of later keys while earlier ones are measured; on the CPU device, whose cores measure,
/// before. Shapes of one bucket are one key. A key that another process tunes comes last, and is waited for while there
/// is time. What fails, a wrong shape too, stops nothing else. It is a safe point (TunedKernel::AtSafePoint), with the
/// same requirements, but keys that wait already go on waiting.
///
/// Returns each key, in the order given. Errors: InvalidArgument for a null kernel; FailedPrecondition (no context, the
/// stream is capturing, called from inside a callback).
TUNEONCE_API Result<std::vector<WarmedKey>> WarmupAll(CUstream stream, const std::vector<KernelShapes>& kernels,
                                                      const WarmupAllOptions& options = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TUNED_KERNEL_H_
