#ifndef TUNEONCE_LIB_SEARCH_ISOLATED_RUNNER_H_
#define TUNEONCE_LIB_SEARCH_ISOLATED_RUNNER_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/candidate_runner.h"
#include "search/trial_memory.h"
#include "search/trial_worker.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

/// Runs trials in a worker process, on copies of the inputs there. A candidate that ends or hangs the worker failed,
/// and the worker is replaced. Other trials are prepared again in the new worker when they are needed, beginning with
/// the baseline, whose outputs are the reference.
class IsolatedRunner final : public CandidateRunner {
 public:
  /// REQUIRES: `stream` is private to the search; it, `options` and `memory`, whose budget is the worker's, outlive the
  /// runner. Candidates outlive their trials.
  IsolatedRunner(std::unique_ptr<TrialWorker> worker, std::shared_ptr<Runtime> runtime, const Device& device,
                 StreamView stream, const SearchOptions& options, const TrialMemory& memory, bool has_baseline,
                 TrialTiming timing);
  ~IsolatedRunner() override;

  bool wants_baseline_first() const override { return wants_baseline_; }
  PreparedTrial Prepare(const Candidate& candidate, bool is_baseline) override;
  PreparedTrial CheckAgain(PreparedTrial prepared) override;
  VerifiedTogether VerifyTogether(const std::vector<const Candidate*>& candidates, bool first_is_reference) override;
  void Release(std::size_t trial) override;
  Result<std::vector<double>> Sample(const std::vector<std::size_t>& trials) override;
  Status Burst(std::size_t trial, std::int64_t launches) override;
  bool TimeInAnotherWay() override;
  OutcomeKind LossOf(std::size_t trial) const override;
  RunnerReport Report() const override {
    return {timer_, notes_, launches_before_ + launches_, peak_bytes_, workers_replaced_, /*is_isolated=*/true};
  }

  /// The search is over: leaves the worker to the next one.
  void Finish();

 private:
  struct Trial {
    const Candidate* candidate = nullptr;
    bool is_baseline = false;
    double warmup_us = 0;
    std::uint64_t in_worker = 0;              ///< Its number there,
    int generation = -1;                      ///< in this one.
    std::optional<CandidateOutcome> failure;  ///< Since it was prepared first: it is not tried any more.
  };

  /// Calls TrialWorker::Ask, and counts a worker that was lost.
  Result<TrialReply> Ask(TrialMessage kind, const std::string& body, double expected_us = 0,
                         const std::string& about = "");
  /// Makes sure that a worker has begun this search. Errors: no worker can be started.
  Status EnsureWorker();
  Status ReplaceWorker();
  Status BeginSearch();
  Result<WorkerTensors::Block> Allocate(std::size_t bytes, bool is_for_verify = false);
  /// VerifyTogether in the worker that there is. Errors: the worker was lost, or the candidates' tensors have no place
  /// there.
  Result<VerifiedTogether> VerifyOnce(const std::vector<const Candidate*>& candidates, bool first_is_reference);
  /// Verifies one candidate at a time after the worker was lost, so that the one that ended it is known.
  VerifiedTogether VerifyOneByOne(const std::vector<const Candidate*>& candidates, bool first_is_reference);
  /// Asks about trials, which are prepared again where the worker does not have them; twice, if others may have ended
  /// it. `encode` makes the question. Errors: of a trial that cannot be prepared again, or as Ask.
  template <typename Encode>
  Result<TrialReply> AskAbout(const std::vector<std::size_t>& trials, TrialMessage kind, const Encode& encode,
                              double expected_us);
  /// Prepares it in the worker that there is; once more in another one, if others may have ended it.
  PreparedTrial PrepareThere(const Candidate& candidate, bool is_baseline, std::uint64_t* number);
  PreparedTrial PrepareOnce(const Candidate& candidate, bool is_baseline, std::uint64_t* number);
  /// Prepares a trial again that the worker does not have, after its reference. Errors: `trial.failure` states why.
  Status Revive(Trial& trial);
  Result<std::vector<double>> SampleTogether(const std::vector<std::size_t>& trials);
  /// True if the worker is gone, and it need not have been the candidate.
  bool LostByOthers() const { return worker_ == nullptr && over_.ok() && last_loss_.may_be_by_others; }
  /// Returns whether a trial that ran well before was lost with its worker, which another trial may have damaged.
  bool LostAmongOthers() const { return worker_ == nullptr && over_.ok() && last_loss_.kind == OutcomeKind::kCrash; }
  /// Returns the failure of the candidate that ended the worker.
  CandidateOutcome LossBy(const Candidate& candidate) const;
  Status FailTrial(Trial& trial, CandidateOutcome failure);

  const std::shared_ptr<Runtime> runtime_;
  const Device device_;
  const StreamView stream_;
  const SearchOptions& options_;
  const TrialMemory& memory_;
  const bool has_baseline_;
  const TrialTiming timing_;
  std::unique_ptr<TrialWorker> worker_;  ///< Null before it is replaced.
  bool has_begun_ = false;               ///< The worker has this search.
  int generation_ = 0;                   ///< Counts workers.
  WorkerTensors tensors_;                ///< The tensors in the worker.
  TrialWorker::Loss last_loss_;
  Status over_;  ///< An error if the search was cancelled, or no other worker can be started.
  bool wants_baseline_;
  std::optional<std::size_t> baseline_;  ///< Whose outputs are the reference.
  bool uses_events_ = false;
  int rounds_lost_ = 0;  ///< Rounds in which the worker was lost and the candidate responsible is unknown.
  std::vector<Trial> trials_;
  int workers_replaced_ = 0;
  std::string timer_;
  std::vector<std::string> notes_;
  std::int64_t launches_before_ = 0;  ///< In workers that were lost.
  std::int64_t launches_ = 0;
  std::size_t peak_bytes_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_ISOLATED_RUNNER_H_
