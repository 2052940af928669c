// IsolatedRunner's worker: taken, asked, lost and replaced, and a search begun in it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/span.h"
#include "search/isolated_runner.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// How much longer than when it was tried first a launch may take before it counts as hanging, beside the deadline.
constexpr double kMostSlowdown = 20;
constexpr double kLongestDeadlineMs = 1e9;  // Eleven days.
/// Minimum time for a candidate, even if the whole search has less left.
constexpr double kLeastMs = 1000;
}  // namespace

void IsolatedRunner::Finish() {
  if (worker_ != nullptr) worker_->GiveBack();
  worker_ = nullptr;
}

Result<TrialReply> IsolatedRunner::Ask(TrialMessage kind, const std::string& body, double expected_us,
                                       const std::string& about) {
  milliseconds most(0);
  double deadline_ms = options_.budgets.candidate.count();
  const double wall_ms = options_.budgets.wall.count();
  if (wall_ms > 0) deadline_ms = std::min(deadline_ms, std::max(kLeastMs, wall_ms));
  if (deadline_ms > 0) {
    const double whole_ms = deadline_ms + kMostSlowdown * expected_us / 1000;
    most = milliseconds(std::llround(std::clamp(whole_ms, 1.0, kLongestDeadlineMs)));
  }
  Result<TrialReply> reply = worker_->Ask(kind, body, most, options_, about);
  if (!reply.ok()) {
    if (reply.status().code() == StatusCode::kCancelled) over_ = reply.status();
    if (worker_->loss()) {
      last_loss_ = *worker_->loss();
      ++workers_replaced_;
    }
    worker_ = nullptr;
    return reply;
  }
  if (!reply->timer.empty()) timer_ = reply->timer;
  launches_ = reply->num_launches;
  peak_bytes_ = std::max(peak_bytes_, static_cast<std::size_t>(reply->peak_bytes));
  for (std::string& note : reply->notes) {
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
  }
  return reply;
}

Status IsolatedRunner::EnsureWorker() {
  TUNEONCE_RETURN_IF_ERROR(over_);
  if (worker_ != nullptr && has_begun_) return Status();
  Status begun = ReplaceWorker();
  if (!begun.ok() && LostByOthers()) begun = ReplaceWorker();
  if (!begun.ok() && over_.ok()) over_ = begun;
  return over_;
}

Status IsolatedRunner::ReplaceWorker() {
  if (worker_ == nullptr) {
    Span span(&runtime_->trace(), "wait", "replace the worker");
    Result<std::unique_ptr<TrialWorker>> taken = TrialWorker::Take(runtime_, device_, options_);
    if (taken.status().code() == StatusCode::kCancelled) return taken.status();
    if (!taken.ok()) return UnavailableError("the worker cannot be replaced: " + taken.status().message());
    worker_ = *std::move(taken);
  }
  has_begun_ = false;
  ++generation_;
  launches_before_ += launches_;
  launches_ = 0;
  tensors_ = WorkerTensors();
  Status begun = BeginSearch();
  if (!begun.ok()) {
    worker_ = nullptr;
    return begun.WithPrefix("the worker could not start the search");
  }
  has_begun_ = true;
  return Status();
}

Status IsolatedRunner::BeginSearch() {
  BeginRequest begin;
  begin.budget_bytes = memory_.left_bytes();
  TUNEONCE_ASSIGN_OR_RETURN(TrialReply begun, Ask(TrialMessage::kBegin, EncodeMessage(begin)));
  TUNEONCE_RETURN_IF_ERROR(begun.status);
  SetUpRequest request;
  request.verify = options_.verify;
  request.cache = options_.cache;
  request.has_baseline = has_baseline_;
  request.timing = uses_events_ ? TrialTiming::kEvents : timing_;
  if (!options_.reference.empty()) {
    std::vector<TensorRange> ranges;
    for (const TensorView& tensor : options_.reference) {
      const auto begins = reinterpret_cast<CUdeviceptr>(tensor.data);
      ranges.push_back(TensorRange{begins, begins + tensor.bytes, false, true, {}});
    }
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> addresses,
                              tensors_.Place(
                                  ranges, [this](std::size_t bytes) { return Allocate(bytes); }, stream_));
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      request.reference.push_back(TrialDescription::Tensor::Of(options_.reference[i]));
      request.reference.back().address = addresses[i];
    }
  }
  TUNEONCE_ASSIGN_OR_RETURN(TrialReply ready, Ask(TrialMessage::kSetUp, EncodeMessage(request)));
  return ready.status;
}

Result<WorkerTensors::Block> IsolatedRunner::Allocate(std::size_t bytes, bool is_for_verify) {
  AllocateRequest request;
  request.bytes = bytes;
  request.is_for_verify = is_for_verify;
  TUNEONCE_ASSIGN_OR_RETURN(TrialReply reply, Ask(TrialMessage::kAllocate, EncodeMessage(request)));
  TUNEONCE_RETURN_IF_ERROR(reply.status.WithPrefix("copies of the inputs for the worker"));
  return WorkerTensors::Block{reply.address, std::move(reply.handle)};
}

}  // namespace v0
}  // namespace tuneonce
