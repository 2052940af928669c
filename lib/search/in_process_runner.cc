#include "search/in_process_runner.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "cuda/cuda_status.h"
#include "cuda/driver_api.h"
#include "launch/call_launcher.h"
#include "launch/launch.h"
#include "search/candidate.h"
#include "tuneonce/search_options.h"
#include "tuneonce/timer.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Runs before the race: what is not written shows in one of two. A kernel whose order of summation is not fixed is
/// checked once more.
constexpr std::initializer_list<int> kFirstRuns = {1, 1};
constexpr std::initializer_list<int> kFirstRunsUnordered = {1, 1, 1};
constexpr std::initializer_list<int> kOneRun = {1};  // Nothing is compared.
/// The same for what the host launches: once more before it is timed, in a capture perhaps, since what it loads,
/// compiles or allocates at its first launch is its own business.
constexpr std::initializer_list<int> kFirstRunsOfCallable = {2, 1};
constexpr std::initializer_list<int> kFirstRunsOfUnorderedCallable = {2, 1, 1};
constexpr std::initializer_list<int> kOneTimedRunOfCallable = {2};
/// Launches after the race, back to back, between which nothing is put right: what a kernel keeps from one launch to
/// the next shows, also what comes back every second or third time.
constexpr std::initializer_list<int> kLastRuns = {1, 2, 3};

PreparedTrial Fail(const Candidate& candidate, FailureKind kind, const Status& status) {
  PreparedTrial result;
  if (status.code() == StatusCode::kResourceExhausted) kind = FailureKind::kResources;
  result.failure = Failure{candidate.config, kind, status.message(), IsTransient(status.code())};
  if (status.sticky()) {
    result.fatal = status.WithPrefix("kernel '" + candidate.definition->name() + "', candidate {" +
                                     candidate.config.ToString() + "}");
  }
  return result;
}

const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}

bool IsSameView(const TensorView& x, const TensorView& y) {
  return x.data == y.data && x.bytes == y.bytes && x.dtype == y.dtype && x.rank == y.rank && x.shape == y.shape &&
         x.strides == y.strides;
}

bool SameTensors(const BoundCall& a, const BoundCall& b, const std::vector<Parameter>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorView *x = a.FindTensor(parameters, i), *y = b.FindTensor(parameters, i);
    if (x != nullptr && !IsSameView(*x, *y)) return false;
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
  const Candidate* candidate = nullptr;
  std::shared_ptr<Scratch> scratch;
  BoundCall call;  // Its tensors are the scratch's.
  TrialMemory::Charge code;
  std::shared_ptr<const LoadedKernel> loaded;
  std::optional<ParameterLayout> layout;
  std::vector<GuardedMemory::Piece> workspaces;
  std::vector<std::uint64_t> addresses;  // Of the workspaces.
  ParameterBlock block;                  // Points into `call`, `addresses` and the caller's arguments.
  int placing = 0;                       // For which `block` is right.
  std::unique_ptr<PreparedRun> prepared;
  int prepared_in = 0;  // Which session: another one cannot use it.
  double warmup_us = 0;
  std::optional<OutputDifference> largest;
  bool launch_refused = false;  // By the driver, as opposed to a fault while running.

  const KernelDefinition& definition() const { return *candidate->definition; }
  const TrialTensors& tensors() const { return scratch->tensors; }

  TimedRun Timed(const DriverApi& api) {
    TimedRun run;
    if (tensors().needs_restore()) run.prepare = [this](CUstream) { return tensors().Restore(); };
    if (candidate->is_callable()) {
      run.launch = [this](CUstream stream) {
        TrialScope scope;
        Status launched =
            CallLauncher(definition(), *candidate->variant, candidate->config, stream, call, addresses.data());
        launch_refused = !launched.ok() && !launched.sticky();
        return launched;
      };
      return run;
    }
    run.launch = [this, &api](CUstream stream) {
      CUresult result =
          LaunchKernel(api.launch_path(), loaded->function, candidate->geometry, stream, block.pointers());
      launch_refused = result != CUDA_SUCCESS && !IsSticky(result);
      return CudaStatus(api, result, "cuLaunchKernelEx");
    };
    return run;
  }
};

InProcessRunner::InProcessRunner(StreamView stream, const SearchOptions& options, TrialMemory& memory,
                                 bool has_baseline)
    : stream_(stream),
      options_(options),
      memory_(memory),
      comparer_(stream),
      inputs_(memory, comparer_, stream),
      check_(stream, memory, comparer_),
      timer_(stream, options, memory),
      has_baseline_(has_baseline),
      wants_baseline_(options.verify == Verify::kAgainstBaseline && options.reference.empty() && has_baseline) {
  if (options.verify == Verify::kAgainstBaseline && options.reference.empty() && !has_baseline) {
    Note("outputs were not compared: there is no baseline and no reference");
  }
}

InProcessRunner::~InProcessRunner() = default;

void InProcessRunner::Note(const std::string& line) {
  if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(line);
}

std::vector<std::string> InProcessRunner::notes() const {
  std::vector<std::string> notes = notes_;
  if (!timer_.note().empty()) notes.push_back(timer_.note());
  if (inputs_.lacks_copies()) {
    notes.push_back(
        "inputs were not copied, for lack of memory: trials ran on the tensors themselves, between two "
        "checksums");
  }
  if (!inputs_.damaged().empty()) notes.push_back(damage());
  return notes;
}

std::string InProcessRunner::damage() const {
  if (inputs_.damaged().empty()) return "";
  return "the caller's " + inputs_.damaged() +
         " is damaged: a candidate wrote it, and there was no memory to run on a copy";
}

bool InProcessRunner::DropInputCopies() {
  std::size_t bytes = inputs_.copied_bytes();
  if (bytes == 0 || bytes < memory_.missing_bytes()) return false;  // It would not help.
  inputs_.Drop();
  for (const auto& scratch : scratches_) scratch->tensors.FollowInputs();
  ++placing_;
  return true;
}

template <typename Make>
auto InProcessRunner::WithRoom(const Make& make) -> decltype(make()) {
  auto made = make();
  if (StatusOf(made).code() == StatusCode::kResourceExhausted && DropInputCopies()) made = make();
  return made;
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
    Note("neither copied nor checked, having no size: input " + tensors->unprotected());
  }
  scratches_.emplace_back(new Scratch{candidate.definition, candidate.call, *std::move(tensors)});
  return scratches_.back();
}

Result<std::unique_ptr<InProcessRunner::Trial>> InProcessRunner::MakeTrial(const Candidate& candidate) {
  auto trial = std::make_unique<Trial>();
  trial->candidate = &candidate;
  TUNEONCE_ASSIGN_OR_RETURN(trial->scratch, ScratchFor(candidate));
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

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::Run(Trial& trial, int launches, int poison,
                                                                     bool timed) {
  unsigned char byte = ArrayComparer::kPoisons[static_cast<std::size_t>(poison)];
  if (timed) TUNEONCE_RETURN_IF_ERROR(OpenTimer());  // First what may move memory.
  TUNEONCE_RETURN_IF_ERROR(Bind(trial));
  bool has_workspaces = GuardedMemory::BytesFor(trial.workspaces) > 0;
  if (has_workspaces) {
    workspaces_->LayOut(trial.workspaces);
    TUNEONCE_RETURN_IF_ERROR(workspaces_->Arm(comparer_));
    for (std::size_t i = 0; i < trial.workspaces.size(); ++i) TUNEONCE_RETURN_IF_ERROR(workspaces_->Fill(i, byte));
  }
  TUNEONCE_RETURN_IF_ERROR(trial.tensors().Poison(byte));
  TimedRun run = trial.Timed(stream_.api());
  for (int launch = timed ? 1 : 0; launch < launches; ++launch) {
    if (run.prepare) TUNEONCE_RETURN_IF_ERROR(run.prepare(stream_.get()));
    ++num_untimed_;
    TUNEONCE_RETURN_IF_ERROR(run.launch(stream_.get()));
  }
  if (timed) {
    Result<std::vector<double>> times = SampleInSession({&trial});
    if (times.status().code() == StatusCode::kUnavailable && TimeInAnotherWay()) times = SampleInSession({&trial});
    TUNEONCE_RETURN_IF_ERROR(times.status());
    trial.warmup_us = times->front();
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<TrialTensors::Trespass> trespass,
                            trial.tensors().FindTrespass(has_workspaces ? &*workspaces_ : nullptr));
  if (!trespass) return std::optional<Finding>();
  return std::optional<Finding>({trespass->kind, std::move(trespass->message)});
}

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::RunAndCheck(Trial& trial,
                                                                             std::initializer_list<int> bursts,
                                                                             bool timed, bool makes_reference) {
  bool compares = options_.verify == Verify::kAgainstBaseline;
  // Without any reference: a first run of its own shows what the second does not write either.
  bool is_alone = compares && options_.reference.empty() && !has_baseline_;
  OutputCheck alone(stream_, memory_, comparer_);
  OutputCheck& check = is_alone ? alone : check_;
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    int poison = static_cast<int>(i % ArrayComparer::kPoisons.size());
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Finding> finding, Run(trial, bursts.begin()[i], poison, timed));
    if (finding) return finding;
    if (!compares) continue;
    if (i == 0 && (makes_reference || is_alone)) {
      Status kept = WithRoom([&] { return check.Keep(trial.definition(), trial.tensors()); });
      if (is_alone && kept.code() == StatusCode::kResourceExhausted) {
        Note("elements that nobody writes were not looked for: there is no memory for a copy of the outputs");
      } else if (!kept.ok()) {
        return kept.WithPrefix("the reference");
      }
    } else if (is_alone) {
      if (i == 1) {
        TUNEONCE_ASSIGN_OR_RETURN(finding, alone.FindUnwritten(trial.tensors()));
      }
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(finding,
                                check_.Check(trial.definition(), trial.tensors(), poison,
                                             makes_reference ? "its own first run" : "the reference", &trial.largest));
    }
    if (finding) return finding;
    if (makes_reference && i == 1) {
      TUNEONCE_RETURN_IF_ERROR(WithRoom([&] { return check_.KeepPartial(trial.tensors()); }));
    }
  }
  return std::optional<Finding>();
}

Status InProcessRunner::SeeToReference(const Trial& trial) {
  if (options_.verify == Verify::kOff) return Status();
  bool is_given = !options_.reference.empty();
  if (inputs_.num_damaged() > damage_seen_) {
    damage_seen_ = inputs_.num_damaged();
    if (is_given && has_reference_)
      no_reference_ = "the reference is not for the inputs as they are since one was damaged";
    if (baseline_ != nullptr) {
      Result<std::optional<Finding>> renewed =
          RunAndCheck(*baseline_, kFirstRuns, /*timed=*/false, /*makes_reference=*/true);
      TUNEONCE_RETURN_IF_ERROR(renewed.status());
      if (*renewed) no_reference_ = "the baseline failed when it ran again: " + (*renewed)->message;
    }
  }
  if (!is_given || has_reference_) return Status();
  TUNEONCE_RETURN_IF_ERROR(
      WithRoom([&] { return check_.KeepGiven(trial.definition(), trial.tensors(), options_.reference); }));
  has_reference_ = true;
  return Status();
}

PreparedTrial InProcessRunner::Prepare(const Candidate& candidate, bool is_baseline) {
  if (Status geometry = CheckGeometry(candidate); !geometry.ok()) {
    return Fail(candidate, FailureKind::kLaunch, geometry);
  }
  if (wants_baseline_ && !is_baseline) no_reference_ = "the baseline failed";
  if (!no_reference_.empty() && !is_baseline) {  // Not even loaded.
    return Fail(candidate, FailureKind::kNotVerified, InternalError(NotVerified()));
  }
  TrialMemory::Charge code;
  Result<std::shared_ptr<const LoadedKernel>> loaded = WithRoom([&]() -> Result<std::shared_ptr<const LoadedKernel>> {
    TUNEONCE_ASSIGN_OR_RETURN(code, memory_.Count(candidate.artifact.image.size()));
    return LoadCandidate(stream_.api(), candidate);
  });
  if (!loaded.ok()) return Fail(candidate, FailureKind::kLoad, loaded.status());
  Result<std::unique_ptr<Trial>> made = MakeTrial(candidate);
  PreparedTrial result;
  if (!made.ok()) {
    result = Fail(candidate, FailureKind::kRun, made.status());
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

Result<std::optional<InProcessRunner::Finding>> InProcessRunner::RunFirst(Trial& trial, bool makes_reference) {
  TUNEONCE_RETURN_IF_ERROR(SeeToReference(trial));
  if (!no_reference_.empty() && !makes_reference) {
    return std::optional<Finding>({FailureKind::kNotVerified, NotVerified()});
  }
  bool is_callable = trial.candidate->is_callable();
  std::initializer_list<int> runs = is_callable ? kFirstRunsOfCallable : kFirstRuns;
  if (trial.definition().is_unordered()) runs = is_callable ? kFirstRunsOfUnorderedCallable : kFirstRunsUnordered;
  if (options_.verify == Verify::kOff) runs = is_callable ? kOneTimedRunOfCallable : kOneRun;
  return RunAndCheck(trial, runs, /*timed=*/true, makes_reference);
}

PreparedTrial InProcessRunner::Checked(const Trial& trial, const Result<std::optional<Finding>>& checked) const {
  FailureKind kind = trial.launch_refused ? FailureKind::kLaunch : FailureKind::kRun;
  if (!checked.ok()) return Fail(*trial.candidate, kind, checked.status());
  if (*checked) return Fail(*trial.candidate, (*checked)->kind, InternalError((*checked)->message));
  PreparedTrial result;
  result.warmup_us = trial.warmup_us;
  result.largest_difference = trial.largest;
  return result;
}

PreparedTrial InProcessRunner::CheckAgain(PreparedTrial prepared) {
  Trial& trial = *trials_[prepared.trial];
  auto check = [&]() -> Result<std::optional<Finding>> {
    // What some candidate or other wrote during the race is put right, and is not this one's fault.
    TUNEONCE_RETURN_IF_ERROR(trial.tensors().FindTrespass(nullptr).status());
    TUNEONCE_RETURN_IF_ERROR(SeeToReference(trial));
    if (!no_reference_.empty()) return std::optional<Finding>();  // It was compared before.
    return RunAndCheck(trial, kLastRuns, /*timed=*/false, /*makes_reference=*/false);
  };
  PreparedTrial checked = Checked(trial, check());
  if (checked.failure) {
    checked.failure->message = "after the race: " + checked.failure->message;
    return checked;
  }
  prepared.largest_difference = trial.largest;
  return prepared;
}

Result<std::vector<double>> InProcessRunner::Sample(const std::vector<std::size_t>& trials) {
  std::vector<Trial*> sampled;
  for (std::size_t index : trials) sampled.push_back(trials_[index].get());
  return SampleInSession(sampled);
}

}  // namespace v0
}  // namespace tuneonce
