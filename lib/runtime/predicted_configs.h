#ifndef TUNEONCE_LIB_RUNTIME_PREDICTED_CONFIGS_H_
#define TUNEONCE_LIB_RUNTIME_PREDICTED_CONFIGS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "runtime/code_loader.h"
#include "runtime/config_provider.h"
#include "runtime/kernel_parts.h"
#include "runtime/searched_configs.h"

namespace tuneonce {
inline namespace v0 {

/// The configs that the records of other keys predict for a key that has none (ConfigPredictor), if
/// AutotunePolicy::on_new_key asks for predictions.
///
/// A prediction is not a measurement, and its record is not stored. It serves only if its code is verified for the
/// launch:
///
/// - by its other keys, where the key decides all dims: the same code was selected, or the baseline, for other keys, so
///   that it was verified there; each extent of the launch is of a class (ExtentClasses) of theirs, and none is above
///   the largest of them;
/// - else by a comparison with the baseline at the launch's dims, where a search is allowed. The faster of the two
///   serves.
///
/// REQUIRES: the constructor's arguments outlive it. Thread-safe.
class PredictedConfigs : public ConfigProvider {
 public:
  PredictedConfigs(const KernelParts& kernel, SearchedConfigs& searched)
      : to_(kernel), loader_(kernel), searched_(searched) {}

  /// Errors: those of a comparison that lost the context or was stopped.
  Result<std::optional<FoundConfig>> Find(const ConfigQuestion& question, StoreMiss* miss) override;
  /// Returns what Find would propose, without its code and without a comparison. `*is_verified`: no comparison is
  /// needed. `*detail` gets what the prediction is based on.
  std::optional<FoundConfig> Propose(const ConfigQuestion& question, bool* is_verified, std::string* detail) const;
  /// The store has a new record of the kernel, which the next prediction takes into account.
  void NoteNewRecord() { ++num_new_records_; }

 private:
  struct Model;
  /// Where a config's code was verified.
  struct Verified {
    Dims dims;
    std::string variant;
    Fingerprint artifact;
    Fingerprint identity;
  };

  /// As above. `*verified` gets what verified the code, unless a comparison is needed.
  std::optional<FoundConfig> Propose(const ConfigQuestion& question, std::vector<Verified>* verified,
                                     std::string* detail) const;
  /// Returns whether the code that would be loaded for the config now is the one that was verified. An artifact's key
  /// does not tell, because included headers are not part of it.
  bool IsVerifiedCode(const ConfigQuestion& question, const Config& config,
                      const std::vector<Verified>& verified) const;

  /// Returns the model of the question's kernel, device, dtypes and scalars, in which code counts as verified if the
  /// question's key excludes the same variants. Null if no record can be used.
  std::shared_ptr<const Model> ModelFor(const ConfigQuestion& question) const;
  std::shared_ptr<const Model> MakeModel(const ConfigQuestion& question) const;

  const KernelParts to_;
  const CodeLoader loader_;
  SearchedConfigs& searched_;
  std::atomic<std::int64_t> num_new_records_{0};
  mutable Mutex mutex_;
  /// By the words of a key without its dims, the variants that it excludes, and the device's configs.
  mutable std::map<std::vector<std::uint64_t>, std::shared_ptr<const Model>> models_ TUNEONCE_GUARDED_BY(mutex_);
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_PREDICTED_CONFIGS_H_
