#include "search/search_runner.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/environment.h"
#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "search/trial_description.h"
#include "search/trial_worker.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"
#include "worker/worker_process.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kMps[] =
    "an MPS daemon serves this process: a candidate that faults may end all of its clients, including this process, "
    "with or without isolation";

/// Bytes of all that the searched calls read, each range once.
std::size_t InputBytes(const std::map<std::size_t, PlannedConfig>& planned, const SearchOptions& options) {
  std::vector<TensorRange> ranges;
  std::set<std::pair<CUdeviceptr, CUdeviceptr>> seen;
  for (const auto& [index, config] : planned) {
    for (const Candidate& candidate : config.alternatives) {
      for (TensorRange& range : TensorRangesOf(*candidate.definition, candidate.call)) {
        if (range.read && seen.emplace(range.begin, range.end).second) ranges.push_back(std::move(range));
      }
    }
  }
  std::size_t bytes = WorkerTensors::BytesFor(ranges);
  for (const TensorView& tensor : options.reference) bytes += tensor.bytes + GuardedMemory::kAlignment;
  return bytes;
}

/// Empty for a timer that only this process has.
std::optional<TrialTiming> TimingOf(const Timer* timer) {
  if (timer == nullptr) return TrialTiming::kUsual;
  if (dynamic_cast<const EventTimer*>(timer) != nullptr) return TrialTiming::kEvents;
  if (dynamic_cast<const CuptiTimer*>(timer) != nullptr) return TrialTiming::kCupti;
  return std::nullopt;
}

/// OK if the trials can run in another process, before one is asked for.
Status CheckIsolated(const std::map<std::size_t, PlannedConfig>& planned, const std::optional<TrialTiming>& timing,
                     const SearchOptions& options, const TrialMemory& memory) {
  if (!timing)
    return FailedPreconditionError(
        "the given timer works only in this process, but isolated candidates run in a worker process");
  for (const auto& [index, config] : planned) {
    for (const Candidate& candidate : config.alternatives) {
      std::string why_not = WhyNotIsolated(candidate);
      if (!why_not.empty()) return FailedPreconditionError(std::move(why_not));
    }
  }
  const std::size_t bytes = InputBytes(planned, options);
  if (bytes <= memory.left_bytes()) return Status();
  return ResourceExhaustedError(absl::StrCat("the worker's copies of the inputs need ", bytes,
                                             " bytes, but the search's memory budget leaves ", memory.left_bytes(),
                                             " (SearchOptions::memory_budget_bytes)"));
}

}  // namespace

SearchRunner::SearchRunner(StreamView stream, const Device& device, const SearchOptions& options, TrialMemory& memory,
                           bool has_baseline)
    : stream_(stream),
      device_(device),
      options_(options),
      timing_(TimingOf(options.timer)),
      memory_(memory),
      has_baseline_(has_baseline),
      wants_baseline_(options.verify == Verify::kAgainstBaseline && options.reference.empty() && has_baseline) {
  if (options.timer != nullptr) options_.timer = &timer_.emplace(*options.timer);
}

Result<std::unique_ptr<SearchRunner>> SearchRunner::Create(const std::map<std::size_t, PlannedConfig>& planned,
                                                           StreamView stream, const SearchOptions& options,
                                                           TrialMemory& memory, bool has_baseline) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
  std::unique_ptr<SearchRunner> made(new SearchRunner(stream, device, options, memory, has_baseline));
  if (!device.api().is_cpu_device()) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
    made->watch_.emplace(Runtime::OrDefault(options.runtime)->environment(), identity);
  }
  if (options.isolation == Isolation::kOff) {
    made->RunHere();
    return made;
  }
  Status reserved = made->ReserveWorker(planned);
  if (!reserved.ok()) TUNEONCE_RETURN_IF_ERROR(made->StayHere(reserved));
  return made;
}

Status SearchRunner::ReserveWorker(const std::map<std::size_t, PlannedConfig>& planned) {
  const std::shared_ptr<Runtime>& runtime = Runtime::OrDefault(options_.runtime);
  TUNEONCE_RETURN_IF_ERROR(CheckIsolated(planned, timing_, options_, memory_));
  if (options_.isolation == Isolation::kPreferred && !runtime->environment().profiler.empty()) {
    return FailedPreconditionError("a profiler is attached to this process");
  }
  const bool is_by_mps = !device_.api().is_cpu_device() && IsServedByMps(runtime->environment());
  if (is_by_mps && options_.isolation == Isolation::kRequired) return UnavailableError(kMps);
  TUNEONCE_ASSIGN_OR_RETURN(reserved_, TrialWorker::Reserve(runtime, device_));
  if (is_by_mps) note_ = kMps;
  return Status();
}

Status SearchRunner::StayHere(const Status& why) {
  if (options_.isolation == Isolation::kRequired) {
    return why.WithPrefix("SearchOptions::isolation requires a worker process, which cannot be used");
  }
  note_ = "candidates ran in this process: " + why.message();
  RunHere();
  return Status();
}

void SearchRunner::RunHere() {
  auto runner = std::make_unique<InProcessRunner>(stream_, options_, memory_, has_baseline_);
  in_process_ = runner.get();
  runner_ = std::move(runner);
}

Status SearchRunner::Open() {
  if (runner_ != nullptr) return Status();
  Status ready = reserved_->AwaitReady(device_, options_);
  if (ready.code() == StatusCode::kCancelled) return ready;
  if (!ready.ok()) return StayHere(ready);
  auto runner = std::make_unique<IsolatedRunner>(std::move(reserved_), Runtime::OrDefault(options_.runtime), device_,
                                                 stream_, options_, memory_, has_baseline_, *timing_);
  isolated_ = runner.get();
  runner_ = std::move(runner);
  return Status();
}

RunnerReport SearchRunner::Report() const {
  RunnerReport report = runner_ ? runner_->Report() : RunnerReport();
  if (!note_.empty()) report.notes.push_back(note_);
  return report;
}

Status SearchRunner::WithDamage(const Status& status) {
  // In a lost context nothing can be looked at any more, and that it is lost matters more.
  if (in_process_ == nullptr || status.code() == StatusCode::kDataLoss) return status;
  if (status.sticky()) return in_process_->damage().empty() ? status : status.WithPrefix(in_process_->damage());
  Status inputs = in_process_->CheckInputs();
  if (status.ok() || inputs.ok()) return status.ok() ? inputs : status;
  return inputs.code() == StatusCode::kDataLoss ? inputs.WithPrefix(status.message()) : status;
}

void SearchRunner::Close() {
  if (isolated_ != nullptr) isolated_->Finish();
  if (reserved_ != nullptr) reserved_->GiveBack();  // No candidate compiled, so the worker was not needed.
}

Result<Stream> MakeTrialStream(StreamView caller) {
  if (InsideCallback())
    return FailedPreconditionError(
        "a search cannot be started from inside a callback of this library: start it after the callback returns");
  if (InsideTrial())
    return FailedPreconditionError(
        "a search cannot be started from a launcher that another search is timing: warm up this kernel before that "
        "search");
  const DriverApi& api = caller.api();
  TUNEONCE_ASSIGN_OR_RETURN(ContextView current, ContextView::Current(api));
  TUNEONCE_ASSIGN_OR_RETURN(CUcontext owner, caller.Context());
  if (owner != current.get()) {
    return InvalidArgumentError(
        "the stream belongs to another CUDA context than the thread's current one: make the stream's context current");
  }
  TUNEONCE_ASSIGN_OR_RETURN(bool capturing, caller.IsCapturing());
  if (capturing) return FailedPreconditionError("the stream is capturing: tune before the capture begins");
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api));
  TUNEONCE_RETURN_IF_ERROR(stream.view().WaitFor(caller.get()));
  return stream;
}

Result<Target> CurrentTarget(const DriverApi& api) {
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  return Target::Of(identity);
}

}  // namespace v0
}  // namespace tuneonce
