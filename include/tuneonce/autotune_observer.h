#ifndef TUNEONCE_AUTOTUNE_OBSERVER_H_
#define TUNEONCE_AUTOTUNE_OBSERVER_H_

#include <string>

#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {

enum class RecordMiss;

/// What a TunedKernel says about its misses while it works; hits say nothing. Override what is of interest.
///
/// Thread rule: called on the thread whose launch or warm-up missed; several threads may call at once. Calls must not
/// launch the library's kernels. Exceptions are dropped: an observer must not fail a launch.
class TUNEONCE_API AutotuneObserver {
 public:
  virtual ~AutotuneObserver() = default;

  /// `kernel`: the definition's name. `key`: "M=128, x:float16".
  virtual void OnTuneBegin(const std::string& /*kernel*/, const std::string& /*key*/) {}
  virtual void OnTuned(const std::string& /*kernel*/, const std::string& /*key*/, const TuningResult& /*result*/) {}
  /// The key could not be tuned, and why: a search that found nothing, or what failed before one. Launches of the key
  /// run the baseline. It is tried again later if `why` may pass (IsTransient), else never.
  virtual void OnTuneFailed(const std::string& /*kernel*/, const std::string& /*key*/, const Status& /*why*/) {}
  /// A stored record's config was loaded, without a search.
  virtual void OnStoredHit(const std::string& /*kernel*/, const std::string& /*key*/, const std::string& /*config*/) {}
  /// The store was asked for the key, and has nothing that serves it. `detail` may be empty.
  virtual void OnStoredMiss(const std::string& /*kernel*/, const std::string& /*key*/, RecordMiss /*why*/,
                            const std::string& /*detail*/) {}
  /// A launch whose key was missing while its stream captured, or after Seal.
  virtual void OnRefusedMiss(const std::string& /*kernel*/, const std::string& /*key*/) {}
  /// What does not work, and what is done instead: a store that cannot be written, say. The Runtime's log has the same
  /// line (RuntimeOptions::log), for who wants it of all kernels.
  virtual void OnWarning(const std::string& /*line*/) {}
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_AUTOTUNE_OBSERVER_H_
