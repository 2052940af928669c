#include "search/search_session.h"

#include <utility>

#include "base/callback.h"
#include "cuda/driver_api.h"
#include "search/trial_stream.h"
#include "search/trial_tensors.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Result<std::unique_ptr<SearchSession>> SearchSession::Open(SearchPlan plan, StreamView stream,
                                                           const SearchOptions& options, TrialMemory memory) {
  for (const PlannedConfig& config : plan.planned) {
    for (const Candidate& candidate : config.alternatives) {
      TUNEONCE_RETURN_IF_ERROR(TrialTensors::CheckSizes(*candidate.definition, candidate.call));
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(Stream trial_stream, MakeTrialStream(stream));
  // Not on the stack, of which a host's thread may have little.
  std::unique_ptr<SearchSession> session(
      new SearchSession(std::move(plan), std::move(memory), std::move(trial_stream)));
  const SearchPlan& its = session->plan_;
  TUNEONCE_ASSIGN_OR_RETURN(session->runner_, SearchRunner::Create(its.planned, session->stream_.view(), options,
                                                                   session->memory_, its.baseline.has_value()));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
  session->engine_ = std::make_unique<SearchEngine>(its.kernel, its.key, its.target, its.baseline, options,
                                                    *session->runner_, stream.api().measuring_lock(device.handle()));
  session->engine_->LeaveOut(its.fatal);
  if (its.verification) {
    session->checks_.emplace(*its.verification, *session->runner_, session->stream_.view(), session->memory_, options,
                             stream.api().measuring_lock(device.handle()));
    session->engine_->VerifyBy(&*session->checks_);
  }
  return session;
}

SearchSession::~SearchSession() {
  // The last work in the stream may still use the caller's tensors, for inputs that are restored. The search returned
  // its error.
  (void)stream_.view().Synchronize();
  if (runner_ != nullptr) runner_->Close();
}

template <typename Function>
auto SearchSession::Guarded(const Function& run) -> decltype(run()) {
  auto ran = CallForeign("kernel '" + plan_.kernel + "': the search", StatusCode::kInternal, run);
  if (Status status = runner_->WithDamage(ran.status()); !status.ok()) return status;
  return ran;
}

Result<SearchOutcome> SearchSession::Run() {
  return Guarded([&]() -> Result<SearchOutcome> {
    TUNEONCE_ASSIGN_OR_RETURN(SearchOutcome outcome, engine_->Run(std::move(plan_.planned)));
    if (!plan_.note.empty()) outcome.result.notes.push_back(plan_.note);
    return outcome;
  });
}

Result<TuningResult> SearchSession::RunPart(CandidateSource& source, const SearchEngine::PartOptions& part) {
  return Guarded([&]() -> Result<TuningResult> {
    if (!std::exchange(has_parts_, true)) engine_->BeginParts(std::move(plan_.planned));
    return engine_->RunPart(source, part);
  });
}

}  // namespace v0
}  // namespace tuneonce
