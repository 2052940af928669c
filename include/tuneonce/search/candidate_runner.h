#ifndef TUNEONCE_SEARCH_CANDIDATE_RUNNER_H_
#define TUNEONCE_SEARCH_CANDIDATE_RUNNER_H_

#include <memory>
#include <optional>

#include "tuneonce/measure/timer.h"
#include "tuneonce/search/candidate.h"
#include "tuneonce/search/failure.h"

namespace tuneonce {

/// The outcome of one candidate's trial: a measurement, or a failure.
struct TrialResult {
  std::optional<TimedResult> timed;
  std::optional<Failure> failure;
  /// The code as it was run, to be launched from now on; null if it ran in another process.
  std::shared_ptr<const LoadedKernel> kernel;
  /// Not OK: the context was lost, and no further trial is possible.
  Status fatal;
};

/// Runs trials. Thread rule: one call at a time.
class TUNEONCE_API CandidateRunner {
 public:
  virtual ~CandidateRunner() = default;
  virtual TrialResult Run(const Candidate& candidate) = 0;
};

}  // namespace tuneonce

#endif  // TUNEONCE_SEARCH_CANDIDATE_RUNNER_H_
