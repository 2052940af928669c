#ifndef TUNEONCE_LIB_SEARCH_SEARCH_RUNNER_H_
#define TUNEONCE_LIB_SEARCH_SEARCH_RUNNER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/device_watch.h"
#include "measure/guarded_timer.h"
#include "search/in_process_runner.h"
#include "search/isolated_runner.h"
#include "search/search_call.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The runner of one search, in a worker or in this process, according to SearchOptions::isolation and what is
/// possible. The worker starts with this object, and Open waits for it, so that candidates compile meanwhile. Neither
/// copyable nor movable. Thread rule: one thread.
class SearchRunner final : public TrialPlace {
 public:
  /// `planned`: the first configs of the search, which decide whether it can be isolated. A later one that cannot be
  /// isolated fails. REQUIRES: `options`, `memory` and what `planned` points to outlive it; `stream` is private to the
  /// search. Errors: FailedPrecondition, ResourceExhausted or Unavailable, why it cannot be isolated if that is
  /// required.
  static Result<std::unique_ptr<SearchRunner>> Create(const std::map<std::size_t, PlannedConfig>& planned,
                                                      StreamView stream, const SearchOptions& options,
                                                      TrialMemory& memory, bool has_baseline);
  SearchRunner(const SearchRunner&) = delete;
  SearchRunner& operator=(const SearchRunner&) = delete;

  /// Errors: that the worker cannot use the device, if isolation is required; Cancelled.
  Status Open() override;
  bool wants_baseline_first() const override { return runner_ ? runner_->wants_baseline_first() : wants_baseline_; }
  CandidateRunner& runner() override { return *runner_; }
  Result<std::shared_ptr<const LoadedKernel>> CodeOf(const PreparedTrial& prepared,
                                                     const Candidate& candidate) override {
    return isolated_ ? LoadCandidate(stream_.api(), candidate) : prepared.kernel;
  }
  /// NVML is called in this process even if candidates run in a worker.
  std::optional<DeviceReading> ReadDevice() override { return watch_ ? watch_->Read() : std::nullopt; }
  std::optional<std::uint64_t> ReadEnergyMj() override { return watch_ ? watch_->ReadEnergyMj() : std::nullopt; }
  RunnerReport Report() const override;

  /// Returns the result of the search, or DataLoss naming the caller's inputs that trials damaged.
  Status WithDamage(const Status& status);
  /// After the search: gives the worker back.
  void Close();

 private:
  SearchRunner(StreamView stream, const Device& device, const SearchOptions& options, TrialMemory& memory,
               bool has_baseline);
  /// Reserves a worker, if one is wanted and possible. Errors: it is required, and is not.
  Status ReserveWorker(const std::map<std::size_t, PlannedConfig>& planned);
  /// Trials run here, because of `why`; or, where they must not, that is the error.
  Status StayHere(const Status& why);
  void RunHere();

  const StreamView stream_;
  const Device device_;
  std::optional<DeviceWatch> watch_;
  SearchOptions options_;                    // With a timer that is guarded.
  const std::optional<TrialTiming> timing_;  // Empty: by an object of this process.
  std::optional<GuardedTimer> timer_;
  TrialMemory& memory_;
  const bool has_baseline_;
  const bool wants_baseline_;              // For a runner that is made later.
  std::unique_ptr<TrialWorker> reserved_;  // Until it is open.
  std::unique_ptr<CandidateRunner> runner_;
  InProcessRunner* in_process_ = nullptr;  // `runner_`, if it runs in this process.
  IsolatedRunner* isolated_ = nullptr;
  std::string note_;  // A note for the user about where candidates ran. May be empty.
};

/// A private stream for trials, whose work comes after what `caller` holds now. Errors: InvalidArgument if `caller` is
/// of another context than the thread's; FailedPrecondition without a context, if it captures, or from inside a
/// callback of the user's or a launcher that is tried.
Result<Stream> MakeTrialStream(StreamView caller);

/// The current context's device as a target.
Result<Target> CurrentTarget(const DriverApi& api);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_SEARCH_RUNNER_H_
