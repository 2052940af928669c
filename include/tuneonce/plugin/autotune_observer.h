#ifndef TUNEONCE_PLUGIN_AUTOTUNE_OBSERVER_H_
#define TUNEONCE_PLUGIN_AUTOTUNE_OBSERVER_H_

#include <string>

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

enum class RecordMiss;

/// Receives notifications about the misses of a TunedKernel. Hits send none. Override the functions of interest.
///
/// Thread rule: each function is called on the thread whose launch or warm-up missed, and several threads may call at
/// once. A function must not launch kernels of this library. Exceptions from it are dropped, so that an observer cannot
/// fail a launch.
class TUNEONCE_API AutotuneObserver {
 public:
  virtual ~AutotuneObserver() = default;

  /// A search for a key begins. `kernel` is the definition's name, `key` a text such as "M=128, x:float16".
  virtual void OnTuneBegin(const std::string& /*kernel*/, const std::string& /*key*/) {}
  /// A search for a key found a config. `result` has all candidates.
  virtual void OnTuned(const std::string& /*kernel*/, const std::string& /*key*/, const TuningRecord& /*result*/) {}
  /// A key could not be tuned. `why` is the error of the search, or the error that prevented it. Launches of the key
  /// run the fallback config. Launches try again later if `why` is transient (IsTransient). Otherwise they do not, but
  /// TunedKernel::Warmup and WarmupAll do.
  virtual void OnTuneFailed(const std::string& /*kernel*/, const std::string& /*key*/, const Status& /*why*/) {}
  /// The config of a stored record was loaded without a search. `config` is its text.
  virtual void OnStoredHit(const std::string& /*kernel*/, const std::string& /*key*/, const std::string& /*config*/) {}
  /// The store has no record that serves the key. `why` is the reason. `detail` explains it and may be empty.
  virtual void OnStoredMiss(const std::string& /*kernel*/, const std::string& /*key*/, RecordMiss /*why*/,
                            const std::string& /*detail*/) {}
  /// The config for a launch on a capturing stream, or after TunedKernel::Freeze, was not loaded. The launch runs the
  /// fallback config, or returns an error if that cannot run.
  virtual void OnRefusedMiss(const std::string& /*kernel*/, const std::string& /*key*/) {}
  /// Something does not work, such as a store that cannot be written. `line` states what, and what the library does
  /// instead. The Runtime's log (RuntimeOptions::log) receives the same lines for all kernels.
  virtual void OnWarning(const std::string& /*line*/) {}
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_AUTOTUNE_OBSERVER_H_
