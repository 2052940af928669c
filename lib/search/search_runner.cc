#include "search/search_runner.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "measure/cupti_timer.h"
#include "measure/event_timer.h"
#include "search/trial_description.h"
#include "search/worker_tensors.h"
#include "tuneonce/device.h"
#include "tuneonce/runtime.h"
#include "worker/mps.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kMps[] =
    "an MPS daemon serves this process: a candidate that faults may end its other clients, this process too, isolated "
    "or not";

/// Bytes of all that the searched calls read, each range once.
std::size_t InputBytes(const std::vector<PlannedConfig>& planned, const SearchOptions& options) {
  std::vector<TensorRange> ranges;
  std::set<std::pair<CUdeviceptr, CUdeviceptr>> seen;
  for (const PlannedConfig& config : planned) {
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
Status CheckIsolated(const std::vector<PlannedConfig>& planned, const SearchOptions& options,
                     const TrialMemory& memory) {
  if (!TimingOf(options.timer)) return FailedPreconditionError("the timer is an object of this process");
  for (const PlannedConfig& config : planned) {
    for (const Candidate& candidate : config.alternatives) {
      std::string why_not = WhyNotIsolated(candidate);
      if (!why_not.empty()) return FailedPreconditionError(std::move(why_not));
    }
  }
  const std::size_t bytes = InputBytes(planned, options);
  if (bytes <= memory.left_bytes()) return Status();
  return ResourceExhaustedError(absl::StrCat("a worker's copies of the inputs take ", bytes,
                                             " bytes, and the search's memory budget leaves ", memory.left_bytes(),
                                             " (SearchOptions::memory_budget_bytes)"));
}

}  // namespace

SearchRunner::SearchRunner(const SearchOptions& options) : options_(options) {
  if (options.timer != nullptr) options_.timer = &timer_.emplace(*options.timer);
}

Result<std::unique_ptr<SearchRunner>> SearchRunner::Create(const std::vector<PlannedConfig>& planned, StreamView stream,
                                                           const SearchOptions& options, TrialMemory& memory,
                                                           bool has_baseline) {
  std::unique_ptr<SearchRunner> made(new SearchRunner(options));
  if (options.isolation != Isolation::kOff) {
    const std::shared_ptr<Runtime>& runtime = Runtime::OrDefault(options.runtime);
    TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
    Status possible = CheckIsolated(planned, options, memory);
    if (possible.ok() && options.isolation == Isolation::kPreferred && !runtime->environment().profiler.empty()) {
      possible = FailedPreconditionError("a profiler watches it");
    }
    const bool is_by_mps = !device.api().is_cpu_device() && IsServedByMps(runtime->environment());
    if (possible.ok() && is_by_mps && options.isolation == Isolation::kRequired) possible = UnavailableError(kMps);
    if (possible.ok()) {
      Result<std::unique_ptr<TrialWorker>> worker = TrialWorker::Take(runtime, device, options);
      if (worker.ok()) {
        auto runner = std::make_unique<IsolatedRunner>(*std::move(worker), runtime, device, stream, made->options_,
                                                       memory, has_baseline, *TimingOf(options.timer));
        made->isolated_ = runner.get();
        if (is_by_mps) made->note_ = kMps;
        made->runner_ = std::move(runner);
        return made;
      }
      if (worker.status().code() == StatusCode::kCancelled) return worker.status();
      possible = worker.status();
    }
    if (options.isolation == Isolation::kRequired) {
      return possible.WithPrefix("candidates must be isolated (SearchOptions::isolation), and cannot be");
    }
    made->note_ = "candidates ran in this process: " + possible.message();
  }
  auto runner = std::make_unique<InProcessRunner>(stream, made->options_, memory, has_baseline);
  made->in_process_ = runner.get();
  made->runner_ = std::move(runner);
  return made;
}

Result<SearchOutcome> SearchRunner::Finish(Result<SearchOutcome> outcome) {
  if (isolated_ != nullptr) isolated_->Finish();
  // A result has it in its notes.
  if (!outcome.ok() && in_process_ != nullptr && !in_process_->damage().empty()) {
    return outcome.status().WithPrefix(in_process_->damage());
  }
  if (outcome.ok() && !note_.empty()) outcome->result.notes.push_back(note_);
  return outcome;
}

}  // namespace v0
}  // namespace tuneonce
