#ifndef TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_
#define TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_

#include "tuneonce/search/candidate_runner.h"

namespace tuneonce {

/// Runs trials in this process and context: cheap, and at the mercy of the candidates. A fault in one of them loses the
/// context, which is reported as fatal.
class InProcessRunner final : public CandidateRunner {
 public:
  /// REQUIRES: `stream` is private to the search; both outlive the runner.
  InProcessRunner(StreamView stream, Timer& timer) : stream_(stream), timer_(timer) {}

  TrialResult Run(const Candidate& candidate) override;

 private:
  /// `*launch_refused`: the driver did not take the launch, as opposed to a fault while running.
  Result<TimedResult> Measure(const Candidate& candidate, const LoadedKernel& loaded, bool* launch_refused);

  StreamView stream_;
  Timer& timer_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_
