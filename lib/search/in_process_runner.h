#ifndef TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_
#define TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_

#include <memory>
#include <string>
#include <vector>

#include "search/output_check.h"
#include "tuneonce/kernel/parameter_block.h"
#include "tuneonce/measure/timer.h"
#include "tuneonce/search/candidate_runner.h"
#include "tuneonce/search/exhaustive_search.h"

namespace tuneonce {

/// Runs trials in this process and context: cheap, and at the mercy of the candidates. A fault in one of them loses the
/// context, which is reported as fatal.
class InProcessRunner final : public CandidateRunner {
 public:
  /// REQUIRES: `stream` is private to the search; it and `options` outlive the runner. `has_baseline`: one of the
  /// candidates is it.
  InProcessRunner(StreamView stream, const SearchOptions& options, bool has_baseline);
  ~InProcessRunner() override;

  bool wants_baseline_first() const override { return wants_baseline_; }
  PreparedTrial Prepare(const Candidate& candidate, bool is_baseline) override;
  Result<std::vector<double>> Sample(const std::vector<std::size_t>& trials) override;
  bool TimeInAnotherWay() override;
  std::string timer_name() const override { return std::string(timer_ == nullptr ? "" : timer_->name()); }
  std::vector<std::string> notes() const override;
  std::int64_t num_launches() const override;

 private:
  struct Trial;

  /// The scratch for a call's outputs, shared by all candidates with the same arguments.
  struct Scratch {
    std::shared_ptr<const KernelDefinition> definition;
    BoundCall call;
    SplitBuffers split;
  };

  Status OpenTimer();
  Result<Scratch*> ScratchFor(const Candidate& candidate);
  Result<std::unique_ptr<Trial>> MakeTrial(const Candidate& candidate, std::shared_ptr<const LoadedKernel> loaded);
  /// Runs the candidate and checks what it wrote.
  Result<std::optional<OutputCheck::Finding>> RunAndCheck(Trial& trial, const Candidate& candidate, bool is_baseline);
  Result<std::vector<double>> SampleInSession(const std::vector<Trial*>& trials);
  Status KeepReference(const Candidate& candidate, const Scratch& scratch);
  void Note(std::string line);

  StreamView stream_;
  const SearchOptions& options_;
  std::unique_ptr<Timer> own_timer_;  // Unless the caller gave one.
  Timer* timer_ = nullptr;
  std::vector<std::unique_ptr<Scratch>> scratches_;
  OutputCheck check_;
  bool wants_baseline_;
  std::unique_ptr<TimingSession> session_;
  int session_number_ = 0;
  std::vector<std::unique_ptr<Trial>> trials_;
  std::int64_t num_in_closed_sessions_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_IN_PROCESS_RUNNER_H_
