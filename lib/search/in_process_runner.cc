#include "search/in_process_runner.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/span.h"
#include "search/candidate.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsSameView(const TensorView& x, const TensorView& y) {
  return x.data == y.data && x.bytes == y.bytes && x.dtype == y.dtype && x.rank == y.rank && x.shape == y.shape &&
         x.strides == y.strides;
}

bool SameTensors(const BoundCall& a, const BoundCall& b, const std::vector<Parameter>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorView *x = a.FindTensor(parameters, i), *y = b.FindTensor(parameters, i);
    if (x != nullptr && !IsSameView(*x, *y)) return false;
    const PointerTable *table = a.FindTable(parameters, i), *other = b.FindTable(parameters, i);
    if (table != nullptr && !std::equal(table->tensors, table->tensors + table->count, other->tensors, IsSameView)) {
      return false;
    }
  }
  return true;
}

bool SameAccess(const KernelDefinition& a, const KernelDefinition& b) {
  return std::equal(a.parameters().begin(), a.parameters().end(), b.parameters().begin(), b.parameters().end(),
                    [](const Parameter& x, const Parameter& y) {
                      return x.kind == y.kind && x.access == y.access && x.by_pointers == y.by_pointers;
                    });
}

}  // namespace

InProcessRunner::InProcessRunner(StreamView stream, const SearchOptions& options, TrialMemory& memory,
                                 bool has_baseline)
    : stream_(stream),
      options_(options),
      trace_(&Runtime::OrDefault(options.runtime)->trace()),
      memory_(memory),
      comparer_(stream),
      inputs_(memory, comparer_, stream),
      may_drop_copies_(options.allow_trials_in_place),
      check_(stream, memory, comparer_),
      dissents_(stream, memory, comparer_),
      timer_(stream, options, memory),
      has_baseline_(has_baseline),
      wants_baseline_(options.verify == Verify::kAgainstBaseline && options.reference.empty() && has_baseline) {
  if (options.verify == Verify::kAgainstBaseline && options.reference.empty() && !has_baseline) {
    Note("outputs were not compared: the search has neither a baseline nor a reference");
  }
}

InProcessRunner::~InProcessRunner() = default;

PreparedTrial InProcessRunner::Fail(const Candidate& candidate, OutcomeKind kind, const Status& status) {
  PreparedTrial result;
  if (status.code() == StatusCode::kResourceExhausted) kind = OutcomeKind::kResources;
  result.failure = CandidateOutcome::Failed(candidate.config, kind, status.message(), IsTransient(status.code()));
  if (status.sticky()) {
    result.fatal = status.WithPrefix("kernel '" + candidate.definition->name() + "', candidate {" +
                                     candidate.config.ToString() + "}");
  }
  return result;
}

void InProcessRunner::Note(const std::string& line) {
  if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(line);
}

RunnerReport InProcessRunner::Report() const {
  RunnerReport report;
  report.timer = timer_.name();
  report.num_launches = timer_.num_launches() + num_untimed_;
  report.peak_bytes = memory_.peak_bytes();
  std::vector<std::string>& notes = report.notes;
  notes = notes_;
  if (!timer_.note().empty()) notes.push_back(timer_.note());
  if (!why_not_tried_.empty()) {
    notes.push_back(why_not_tried_);
  } else if (inputs_.lacks_copies()) {
    notes.push_back(
        "there was too little memory to copy the inputs: trials ran on the caller's tensors, and their checksums were "
        "compared");
  }
  if (!inputs_.damaged().empty()) notes.push_back(damage());
  return report;
}

std::string InProcessRunner::damage() const {
  if (inputs_.damaged().empty()) return "";
  return "the caller's " + inputs_.damaged() +
         " is damaged: a candidate wrote to it, and there was too little memory to run on a copy";
}

bool InProcessRunner::DropInputCopies() {
  std::size_t bytes = inputs_.copied_bytes();
  if (bytes == 0 || bytes < memory_.missing_bytes()) return false;  // Freeing it would not suffice.
  if (!may_drop_copies_ && !inputs_.CallersInputs(/*at_risk=*/false).empty()) {
    was_drop_refused_ = true;
    return false;
  }
  inputs_.Drop();
  for (const auto& scratch : scratches_) scratch->tensors.FollowInputs();
  ++placing_;
  return true;
}

Result<std::shared_ptr<InProcessRunner::Scratch>> InProcessRunner::ScratchFor(const Candidate& candidate) {
  for (const auto& scratch : scratches_) {
    if ((scratch->definition == candidate.definition || SameAccess(*scratch->definition, *candidate.definition)) &&
        SameTensors(scratch->call, candidate.call, candidate.definition->parameters())) {
      return scratch;
    }
  }
  Result<TrialTensors> tensors = WithRoom([&] {
    return TrialTensors::Create(*candidate.definition, candidate.call, memory_, inputs_, comparer_, stream_);
  });
  TUNEONCE_RETURN_IF_ERROR(tensors.status());
  if (!tensors->unprotected().empty()) {
    Note("input of unknown size, so it was neither copied nor checked: " + tensors->unprotected());
  }
  scratches_.emplace_back(new Scratch{candidate.definition, candidate.call, *std::move(tensors)});
  return scratches_.back();
}

Result<std::unique_ptr<InProcessRunner::Trial>> InProcessRunner::MakeTrial(const Candidate& candidate,
                                                                           std::shared_ptr<Scratch> scratch) {
  auto trial = std::make_unique<Trial>();
  trial->candidate = &candidate;
  trial->scratch = std::move(scratch);
  trial->call = candidate.call;
  const std::vector<Parameter>& parameters = candidate.definition->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {  // Scalars are each candidate's own.
    if (parameters[i].kind == ParameterKind::kTensor) {
      trial->call.problem.values[i] = trial->tensors().trial_call().problem.values[i];
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(trial->layout, LayoutOf(candidate));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::size_t> bytes, CallUser("a workspace function", [&] {
                              return trial->layout->WorkspaceBytes(candidate.config, candidate.call.problem);
                            }));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    trial->workspaces.push_back({bytes[i], 0, absl::StrCat("workspace ", i + 1)});
  }
  TUNEONCE_RETURN_IF_ERROR(Bind(*trial));
  return trial;
}

Status InProcessRunner::EnsureWorkspaces(std::size_t bytes) {
  if (bytes == 0 || (workspaces_ && workspaces_->bytes() >= bytes)) return Status();
  workspaces_.reset();  // Before the next: only one is held at a time.
  ++placing_;
  for (const auto& trial : trials_) {
    if (trial != nullptr) bytes = std::max(bytes, GuardedMemory::BytesFor(trial->workspaces));
  }
  Result<GuardedMemory> block = WithRoom([&] { return GuardedMemory::Create(memory_, stream_, bytes); });
  TUNEONCE_RETURN_IF_ERROR(block.status().WithPrefix("workspaces"));
  workspaces_.emplace(*std::move(block));
  return Status();
}

Status InProcessRunner::Bind(Trial& trial) {
  TUNEONCE_RETURN_IF_ERROR(EnsureWorkspaces(GuardedMemory::BytesFor(trial.workspaces)));
  if (trial.placing == placing_) return Status();
  TUNEONCE_RETURN_IF_ERROR(trial.scratch->tensors.WriteTables());
  trial.addresses.assign(trial.workspaces.size(), 0);
  if (workspaces_) {
    workspaces_->LayOut(trial.workspaces);
    for (std::size_t i = 0; i < trial.addresses.size(); ++i) trial.addresses[i] = workspaces_->pieces()[i].address;
  }
  TUNEONCE_RETURN_IF_ERROR(CallUser("a derived parameter's function", [&] {
    const TensorMaps maps{&stream_.api(), nullptr};
    return trial.layout->Fill(trial.call, trial.candidate->config, trial.addresses.data(), &trial.block, &maps);
  }));
  trial.prepared = nullptr;
  trial.placing = placing_;
  return Status();
}

void InProcessRunner::FreeUnused() {
  auto is_unused = [](const std::shared_ptr<Scratch>& scratch) { return scratch.use_count() == 1; };
  scratches_.erase(std::remove_if(scratches_.begin(), scratches_.end(), is_unused), scratches_.end());
  std::size_t largest = 0;
  for (const auto& trial : trials_) {
    if (trial != nullptr) largest = std::max(largest, GuardedMemory::BytesFor(trial->workspaces));
  }
  if (workspaces_ && workspaces_->bytes() > largest) {
    workspaces_.reset();  // The next trial that needs one makes it as large as the largest that is left.
    ++placing_;
  }
}

void InProcessRunner::Release(std::size_t trial) {
  if (trials_[trial].get() == baseline_) baseline_ = nullptr;
  trials_[trial] = nullptr;
  FreeUnused();
}

Status InProcessRunner::Trial::CallTheLauncher(const DriverApi& api, CUstream stream) const {
  TrialScope scope;
  CUcontext before = nullptr, after = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, CtxGetCurrent(&before));
  Status launched = CallLauncher(definition(), *candidate->variant, candidate->config, stream, call, addresses.data());
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, CtxGetCurrent(&after));
  if (after == before) return launched;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, CtxSetCurrent(before));
  if (!launched.ok()) return launched;
  return FailedPreconditionError(absl::StrCat("kernel '", definition().name(), "': the launcher left another CUDA ",
                                              "context current: make the caller's current again before it returns"));
}

Status InProcessRunner::OpenTimer() {
  return WithRoom([&] { return timer_.Open(); });
}

Result<std::vector<double>> InProcessRunner::SampleInSession(const std::vector<Trial*>& trials) {
  TUNEONCE_RETURN_IF_ERROR(OpenTimer());
  for (Trial* trial : trials) TUNEONCE_RETURN_IF_ERROR(Bind(*trial));
  std::vector<PreparedRun*> runs;
  for (Trial* trial : trials) {
    if (trial->prepared == nullptr || trial->prepared_in != timer_.session_number()) {
      TUNEONCE_ASSIGN_OR_RETURN(trial->prepared, timer_.session().Prepare(trial->Timed(stream_.api())));
      trial->prepared_in = timer_.session_number();
    }
    runs.push_back(trial->prepared.get());
  }
  Result<std::vector<double>> times = timer_.session().Sample(runs);
  // A fault of a kernel may show only here.
  Status finished = times.ok() ? Status() : stream_.Synchronize();
  return finished.sticky() ? Result<std::vector<double>>(finished) : times;
}

Status InProcessRunner::CheckInputs() {
  TUNEONCE_RETURN_IF_ERROR(inputs_.FindDamage());
  return damage().empty() ? Status() : DataLossError(damage());
}

bool InProcessRunner::MayRunInPlace(bool is_baseline) const {
  if (options_.allow_trials_in_place) return true;
  // The baseline alone: it is what the launch runs on them if nothing is selected.
  return is_baseline && std::all_of(trials_.begin(), trials_.end(),
                                    [&](const auto& trial) { return trial == nullptr || trial.get() == baseline_; });
}

PreparedTrial InProcessRunner::NotTried(const Candidate& candidate, const std::string& inputs) {
  if (why_not_tried_.empty()) {
    why_not_tried_ = inputs +
                     " cannot be copied within the memory budget: candidates were not tried; raise "
                     "SearchOptions::memory_budget_bytes, or set SearchOptions::allow_trials_in_place";
  }
  PreparedTrial result = Fail(candidate, OutcomeKind::kResources, ResourceExhaustedError(why_not_tried_));
  result.is_not_tried = true;
  return result;
}

PreparedTrial InProcessRunner::WithDamage(PreparedTrial prepared, const std::string& when) const {
  if (!inputs_.damaged().empty() && prepared.fatal.ok()) prepared.fatal = DataLossError(when + ": " + damage());
  return prepared;
}

PreparedTrial InProcessRunner::Prepare(const Candidate& candidate, bool is_baseline) {
  may_drop_copies_ = MayRunInPlace(is_baseline);
  was_drop_refused_ = false;
  PreparedTrial result = Try(candidate, is_baseline);
  may_drop_copies_ = options_.allow_trials_in_place;
  const bool lacks_memory = result.failure && result.failure->kind == OutcomeKind::kResources;
  if (lacks_memory && was_drop_refused_) return NotTried(candidate, inputs_.CallersInputs(/*at_risk=*/false));
  return WithDamage(std::move(result),
                    "kernel '" + candidate.definition->name() + "', candidate {" + candidate.config.ToString() + "}");
}

PreparedTrial InProcessRunner::Try(const Candidate& candidate, bool is_baseline) {
  if (Status geometry = CheckGeometry(candidate); !geometry.ok()) {
    return Fail(candidate, OutcomeKind::kLaunch, geometry);
  }
  if (wants_baseline_ && !is_baseline) no_reference_ = "the baseline failed";
  if (!no_reference_.empty() && !is_baseline) {  // Not even loaded.
    return Fail(candidate, OutcomeKind::kNotVerified, InternalError(NotVerified()));
  }
  TrialMemory::Charge code;
  Result<std::shared_ptr<const LoadedKernel>> loaded = WithRoom([&]() -> Result<std::shared_ptr<const LoadedKernel>> {
    Span span(trace_, "load", "load");
    TUNEONCE_ASSIGN_OR_RETURN(code, memory_.Count(candidate.artifact.image.size()));
    return LoadCandidate(stream_.api(), candidate);
  });
  if (!loaded.ok()) return Fail(candidate, OutcomeKind::kLoad, loaded.status());
  Result<std::shared_ptr<Scratch>> scratch = ScratchFor(candidate);
  Result<std::unique_ptr<Trial>> made = scratch.status();
  if (scratch.ok()) made = MakeTrial(candidate, *std::move(scratch));
  PreparedTrial result;
  if (!made.ok()) {
    result = Fail(candidate, OutcomeKind::kRun, made.status());
  } else if (!MayRunInPlace(is_baseline) && !(*made)->tensors().at_risk().empty()) {
    result = NotTried(candidate, (*made)->tensors().at_risk());
  } else {
    Trial& trial = **made;
    trial.loaded = *loaded;
    trial.code = std::move(code);
    bool makes_reference = is_baseline && wants_baseline_;
    result = Checked(trial, RunFirst(trial, makes_reference));
    if (!result.failure && makes_reference) {
      wants_baseline_ = false;
      baseline_ = &trial;
      for (const std::string& line : check_.not_compared()) Note(line);
    }
    if (!result.failure && !makes_reference) {
      has_agreement_ = true;
      dissents_.Clear();
    }
    if (!result.failure) {
      result.trial = trials_.size();
      result.kernel = *loaded;
      trials_.push_back(*std::move(made));
    }
  }
  if (result.failure) {
    if (made.ok()) made->reset();
    FreeUnused();
  }
  return result;
}

Result<std::vector<double>> InProcessRunner::Sample(const std::vector<std::size_t>& trials) {
  std::vector<Trial*> sampled;
  for (std::size_t index : trials) sampled.push_back(trials_[index].get());
  return SampleInSession(sampled);
}

Status InProcessRunner::Burst(std::size_t trial, std::int64_t launches) {
  TUNEONCE_RETURN_IF_ERROR(Bind(*trials_[trial]));
  TimedRun run = trials_[trial]->Timed(stream_.api());
  for (std::int64_t launch = 0; launch < launches; ++launch) {
    if (run.prepare) TUNEONCE_RETURN_IF_ERROR(run.prepare(stream_.get()));
    ++num_untimed_;
    TUNEONCE_RETURN_IF_ERROR(run.launch(stream_.get()));
  }
  return stream_.Synchronize();
}

}  // namespace v0
}  // namespace tuneonce
