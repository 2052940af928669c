#include "search/in_process_runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "tuneonce/cuda/cuda_status.h"
#include "tuneonce/kernel/launch.h"
#include "tuneonce/measure/cupti_timer.h"
#include "tuneonce/measure/event_timer.h"

namespace tuneonce {
namespace {

/// A kernel whose order of summation is not fixed is checked this often.
constexpr int kUnorderedRuns = 3;

PreparedTrial Fail(const Candidate& candidate, FailureKind kind, const Status& status) {
  PreparedTrial result;
  if (status.code() == StatusCode::kResourceExhausted) kind = FailureKind::kResources;
  result.failure = Failure{candidate.config, kind, status.message()};
  if (status.sticky()) {
    result.fatal = status.WithPrefix("kernel '" + candidate.definition->name() + "', candidate {" +
                                     candidate.config.ToString() + "}");
  }
  return result;
}

bool SameTensors(const BoundCall& a, const BoundCall& b, const std::vector<Parameter>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorView *x = a.FindTensor(parameters, i), *y = b.FindTensor(parameters, i);
    if (x != nullptr && (x->data != y->data || x->bytes != y->bytes || x->dtype != y->dtype)) return false;
  }
  return true;
}

bool SameAccess(const KernelDefinition& a, const KernelDefinition& b) {
  return std::equal(a.parameters().begin(), a.parameters().end(), b.parameters().begin(), b.parameters().end(),
                    [](const Parameter& x, const Parameter& y) { return x.kind == y.kind && x.access == y.access; });
}

}  // namespace

/// One candidate, ready to launch again and again.
struct InProcessRunner::Trial {
  Scratch* scratch = nullptr;
  BoundCall call;  // Its tensors are the scratch's.
  std::shared_ptr<const LoadedKernel> loaded;
  Geometry geometry;
  std::vector<DeviceBuffer> workspaces;
  std::vector<std::uint64_t> addresses;  // Of the workspaces.
  ParameterBlock block;                  // Points into `call`, `addresses` and the caller's arguments.
  std::unique_ptr<PreparedRun> prepared;
  int prepared_in = 0;  // Which session: another one cannot use it.
  double warmup_us = 0;
  bool launch_refused = false;  // By the driver, as opposed to a fault while running.

  TimedRun Timed(const DriverApi& api) {
    TimedRun run;
    if (scratch->split.needs_restore()) run.prepare = [this](CUstream) { return scratch->split.Restore(); };
    run.launch = [this, &api](CUstream stream) {
      CUresult result = LaunchKernel(api.launch_path(), loaded->kernel.get(), geometry, stream, block.pointers());
      launch_refused = result != CUDA_SUCCESS && !IsSticky(result);
      return CudaStatus(api, result, "cuLaunchKernelEx");
    };
    return run;
  }
};

InProcessRunner::InProcessRunner(StreamView stream, const SearchOptions& options, bool has_baseline)
    : stream_(stream),
      options_(options),
      timer_(options.timer),
      check_(stream),
      wants_baseline_(options.verify == Verify::kAgainstBaseline && options.reference.empty() && has_baseline) {
  if (options.verify == Verify::kAgainstBaseline && options.reference.empty() && !has_baseline) {
    Note("outputs were not compared: there is no baseline and no reference");
  }
}

InProcessRunner::~InProcessRunner() = default;

void InProcessRunner::Note(std::string line) {
  if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(std::move(line));
}

std::vector<std::string> InProcessRunner::notes() const {
  std::vector<std::string> notes = notes_;
  if (wants_baseline_) notes.push_back("outputs were not compared: the baseline failed");
  return notes;
}

std::int64_t InProcessRunner::num_launches() const {
  return num_in_closed_sessions_ + (session_ == nullptr ? 0 : session_->num_launches());
}

Status InProcessRunner::OpenTimer() {
  if (session_ != nullptr) return Status();
  if (timer_ == nullptr) {
    own_timer_ = std::make_unique<CuptiTimer>();
    timer_ = own_timer_.get();
    Result<std::unique_ptr<TimingSession>> session = timer_->Open(stream_, options_.cache);
    if (session.ok()) {
      session_ = *std::move(session);
      return Status();
    }
    if (session.status().code() != StatusCode::kUnavailable) return session.status();
    if (!stream_.api().is_cpu_device()) Note("timed by events: " + session.status().message());
    own_timer_ = std::make_unique<EventTimer>();
    timer_ = own_timer_.get();
  }
  TUNEONCE_ASSIGN_OR_RETURN(session_, timer_->Open(stream_, options_.cache));
  return Status();
}

bool InProcessRunner::TimeInAnotherWay() {
  if (options_.timer != nullptr || timer_ == nullptr || timer_->name() != "cupti") return false;
  ++session_number_;
  num_in_closed_sessions_ += session_->num_launches();
  session_ = nullptr;
  own_timer_ = std::make_unique<EventTimer>();
  timer_ = own_timer_.get();
  if (!OpenTimer().ok()) return false;
  Note("timed by events: CUPTI lost records");
  return true;
}

Result<InProcessRunner::Scratch*> InProcessRunner::ScratchFor(const Candidate& candidate) {
  for (auto& scratch : scratches_) {
    if ((scratch->definition == candidate.definition || SameAccess(*scratch->definition, *candidate.definition)) &&
        SameTensors(scratch->call, candidate.call, candidate.definition->parameters())) {
      return scratch.get();
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(SplitBuffers split, SplitBuffers::Create(*candidate.definition, candidate.call, stream_));
  scratches_.emplace_back(new Scratch{candidate.definition, candidate.call, std::move(split)});
  return scratches_.back().get();
}

Result<std::unique_ptr<InProcessRunner::Trial>> InProcessRunner::MakeTrial(const Candidate& candidate,
                                                                           std::shared_ptr<const LoadedKernel> loaded) {
  auto trial = std::make_unique<Trial>();
  TUNEONCE_ASSIGN_OR_RETURN(trial->scratch, ScratchFor(candidate));
  trial->loaded = std::move(loaded);
  trial->geometry = candidate.geometry;
  trial->call = candidate.call;
  for (std::size_t i = 0; i < candidate.definition->parameters().size(); ++i) {
    trial->call.values[i] = trial->scratch->split.trial_call().values[i];
  }
  TUNEONCE_ASSIGN_OR_RETURN(ParameterLayout layout, LayoutOf(candidate));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::size_t> workspace_bytes, CallUser("a workspace function", [&] {
                              return layout.WorkspaceBytes(candidate.config, candidate.call.problem);
                            }));
  for (std::size_t bytes : workspace_bytes) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer workspace, DeviceBuffer::Allocate(stream_, bytes));
    trial->addresses.push_back(workspace.get());
    trial->workspaces.push_back(std::move(workspace));
  }
  TUNEONCE_RETURN_IF_ERROR(CallUser("a derived parameter's function", [&] {
    return layout.Fill(trial->call, candidate.config, trial->addresses.data(), &trial->block);
  }));
  return trial;
}

Result<std::vector<double>> InProcessRunner::SampleInSession(const std::vector<Trial*>& trials) {
  TUNEONCE_RETURN_IF_ERROR(OpenTimer());
  std::vector<PreparedRun*> runs;
  for (Trial* trial : trials) {
    if (trial->prepared == nullptr || trial->prepared_in != session_number_) {
      TUNEONCE_ASSIGN_OR_RETURN(trial->prepared, session_->Prepare(trial->Timed(stream_.api())));
      trial->prepared_in = session_number_;
    }
    runs.push_back(trial->prepared.get());
  }
  Result<std::vector<double>> times = session_->Sample(runs);
  // A fault of a kernel may show only here.
  Status finished = times.ok() ? Status() : stream_.Synchronize();
  return finished.sticky() ? Result<std::vector<double>>(finished) : times;
}

Status InProcessRunner::KeepReference(const Candidate& candidate, const Scratch& scratch) {
  Status kept = options_.reference.empty() ? check_.KeepReference(*candidate.definition, scratch.split)
                                           : check_.KeepGiven(*candidate.definition, scratch.split, options_.reference);
  if (kept.code() == StatusCode::kResourceExhausted) {
    Note("outputs were not compared: no memory for a copy of the reference");
    return Status();
  }
  if (!check_.not_compared().empty()) {
    Note("not compared, having no dtype: " + check_.not_compared());
  }
  return kept;
}

Result<std::optional<OutputCheck::Finding>> InProcessRunner::RunAndCheck(Trial& trial, const Candidate& candidate,
                                                                         bool is_baseline) {
  bool keeps_reference = is_baseline && wants_baseline_;
  if (options_.verify == Verify::kAgainstBaseline && !options_.reference.empty() && !check_.has_reference()) {
    TUNEONCE_RETURN_IF_ERROR(KeepReference(candidate, *trial.scratch));
  }
  int runs = candidate.definition->is_unordered() ? kUnorderedRuns : 1;
  for (int run = 0; run < runs; ++run) {
    TUNEONCE_RETURN_IF_ERROR(trial.scratch->split.Poison(ArrayComparer::kPoison));
    Result<std::vector<double>> times = SampleInSession({&trial});
    if (times.status().code() == StatusCode::kUnavailable && TimeInAnotherWay()) times = SampleInSession({&trial});
    TUNEONCE_RETURN_IF_ERROR(times.status());
    trial.warmup_us = times->front();
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<OutputCheck::Finding> finding, check_.Check(trial.scratch->split));
    if (finding) return finding;
    if (keeps_reference && run == 0) TUNEONCE_RETURN_IF_ERROR(KeepReference(candidate, *trial.scratch));
  }
  return std::optional<OutputCheck::Finding>();
}

PreparedTrial InProcessRunner::Prepare(const Candidate& candidate, bool is_baseline) {
  if (Status geometry = candidate.geometry.Check(); !geometry.ok()) {
    return Fail(candidate, FailureKind::kLaunch, geometry);
  }
  Result<std::shared_ptr<const LoadedKernel>> loaded = LoadCandidate(stream_.api(), candidate);
  if (!loaded.ok()) return Fail(candidate, FailureKind::kLoad, loaded.status());
  Result<std::unique_ptr<Trial>> trial = MakeTrial(candidate, *loaded);
  if (!trial.ok()) return Fail(candidate, FailureKind::kRun, trial.status());
  Result<std::optional<OutputCheck::Finding>> checked = RunAndCheck(**trial, candidate, is_baseline);
  if (is_baseline && checked.ok() && !*checked) wants_baseline_ = false;
  if (!checked.ok()) {
    return Fail(candidate, (*trial)->launch_refused ? FailureKind::kLaunch : FailureKind::kRun, checked.status());
  }
  if (*checked) return Fail(candidate, (*checked)->kind, Status(StatusCode::kInternal, (*checked)->message));
  PreparedTrial result;
  result.trial = trials_.size();
  result.kernel = *loaded;
  result.warmup_us = (*trial)->warmup_us;
  trials_.push_back(*std::move(trial));
  return result;
}

Result<std::vector<double>> InProcessRunner::Sample(const std::vector<std::size_t>& trials) {
  std::vector<Trial*> sampled;
  for (std::size_t index : trials) sampled.push_back(trials_[index].get());
  return SampleInSession(sampled);
}

}  // namespace tuneonce
