#include "measure/event_timer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cuda/driver_api.h"
#include "cuda/event.h"
#include "launch/launch.h"
#include "measure/held_stream.h"
#include "measure/verify.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/testing.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Warm runs shorter than this are launched in batches: the events' own uncertainty is then divided.
constexpr double kShortUs = 20;
constexpr int kBatch = 10;
/// A launch is never said to take no time: the driver's events tell 32 ns apart at best.
constexpr double kLeastUs = 0.01;

/// Two events around `launches` launches.
struct EventRun final : PreparedRun {
  EventRun(TimedRun timed_run, Event begin_event, Event end_event, int num_launches)
      : run(std::move(timed_run)),
        before(std::move(begin_event)),
        after(std::move(end_event)),
        launches(num_launches) {}

  TimedRun run;
  Event before;
  Event after;
  int launches;
  std::optional<GraphExec> graph;  // Empty: it is repeated by its calls.
};

class EventTimingSession final : public TimingSession {
 public:
  EventTimingSession(StreamView stream, CacheFlush flush, EventTimer::Replay replay)
      : stream_(stream), flush_(std::move(flush)), replay_(replay) {}

  /// Measures what the events add, and counts how much is captured around a launch.
  Status Calibrate() {
    TimedRun nothing;
    nothing.launch = [](CUstream) { return Status(); };
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<EventRun> around, Make(nothing, 1));
    if (around->graph) num_nodes_around_ = around->graph->num_nodes();
    if (stream_.api().is_cpu_device()) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(DeviceKernels kernels, DeviceKernels::Load(stream_.api()));
    TimedRun empty;
    empty.launch = [&](CUstream stream) {
      CUresult result = LaunchKernel(stream_.api().launch_path(), kernels.empty.get(), Geometry(), stream, nullptr);
      return CudaStatus(stream_.api(), result, "cuLaunchKernelEx");
    };
    constexpr int kMany = 20;
    TUNEONCE_ASSIGN_OR_RETURN(double one_us, MedianOf(empty, 1));
    TUNEONCE_ASSIGN_OR_RETURN(double many_us, MedianOf(empty, kMany));
    double empty_us = (many_us - one_us) / (kMany - 1);
    offset_us_ = std::max(0.0, one_us - empty_us);
    num_launches_ = 0;
    return Status();
  }

  Result<std::unique_ptr<PreparedRun>> Prepare(TimedRun run) override {
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<EventRun> prepared, Make(run, 1));
    if (prepared->graph && prepared->graph->num_nodes() == num_nodes_around_) {
      return FailedPreconditionError("the function that is timed launched nothing on the stream it was given");
    }
    // Launches that overlap cannot be timed together.
    const bool is_alone = run.prepare || run.overlaps_previous;
    if (!flush_.is_cold() && !is_alone && !stream_.api().is_cpu_device()) {
      TUNEONCE_ASSIGN_OR_RETURN(double once_us, SampleOne(*prepared));
      if (once_us < kShortUs) {
        TUNEONCE_ASSIGN_OR_RETURN(prepared, Make(run, kBatch));
      }
    }
    return std::unique_ptr<PreparedRun>(std::move(prepared));
  }

  Result<std::vector<double>> Sample(const std::vector<PreparedRun*>& runs) override {
    for (PreparedRun* run : runs) TUNEONCE_RETURN_IF_ERROR(Launch(*static_cast<EventRun*>(run)));
    TUNEONCE_RETURN_IF_ERROR(stream_.Synchronize());
    std::vector<double> times;
    for (PreparedRun* run : runs) {
      TUNEONCE_ASSIGN_OR_RETURN(double us, Elapsed(*static_cast<EventRun*>(run)));
      times.push_back(us);
    }
    return times;
  }

  std::int64_t num_launches() const override { return num_launches_; }
  std::size_t memory_bytes() const override { return flush_.memory_bytes(); }

 private:
  Result<std::unique_ptr<EventRun>> Make(const TimedRun& run, int launches) {
    TUNEONCE_ASSIGN_OR_RETURN(Event before, Event::Create(stream_.api(), Event::Timing::kEnabled));
    TUNEONCE_ASSIGN_OR_RETURN(Event after, Event::Create(stream_.api(), Event::Timing::kEnabled));
    auto made = std::make_unique<EventRun>(run, std::move(before), std::move(after), launches);
    if (replay_ == EventTimer::Replay::kCalls) return made;
    TUNEONCE_ASSIGN_OR_RETURN(made->graph,
                              GraphExec::Capture(stream_, [&](CUstream stream) { return Enqueue(*made, stream); }));
    return made;
  }

  Status Enqueue(const EventRun& timed, CUstream stream) const {
    const bool is_captured = replay_ == EventTimer::Replay::kGraph;
    auto record = [&](const Event& event) { return is_captured ? event.RecordInGraph(stream) : event.Record(stream); };
    if (timed.run.prepare) TUNEONCE_RETURN_IF_ERROR(timed.run.prepare(stream));
    TUNEONCE_RETURN_IF_ERROR(flush_.Run(stream));
    TUNEONCE_RETURN_IF_ERROR(record(timed.before));
    // As in a graph, a kernel launched with programmatic serialization must not begin within the flush.
    if (!is_captured) TUNEONCE_RETURN_IF_ERROR(timed.before.BlockStream(stream));
    for (int i = 0; i < timed.launches; ++i) TUNEONCE_RETURN_IF_ERROR(timed.run.launch(stream));
    return record(timed.after);
  }

  Status Launch(const EventRun& run) {
    num_launches_ += run.launches;
    if (run.graph) return run.graph->Launch(stream_.get());
    TUNEONCE_ASSIGN_OR_RETURN(const HeldStream held, HeldStream::Hold(stream_));
    return Enqueue(run, stream_.get());
  }

  Result<double> Elapsed(const EventRun& run) const {
    TUNEONCE_ASSIGN_OR_RETURN(double us, run.after.MicrosecondsSince(run.before));
    if (!std::isfinite(us) || us < 0) return InternalError("the event timer read an invalid time");
    return std::max(kLeastUs, (us - offset_us_) / run.launches);
  }

  Result<double> SampleOne(const EventRun& run) {
    TUNEONCE_RETURN_IF_ERROR(Launch(run));
    TUNEONCE_RETURN_IF_ERROR(run.after.Synchronize());
    return Elapsed(run);
  }

  /// Median of all launches of a graph together.
  Result<double> MedianOf(const TimedRun& run, int launches) {
    constexpr int kWarmups = 10;  // A device that was idle is slow at first.
    constexpr std::size_t kSamples = 31;
    TUNEONCE_ASSIGN_OR_RETURN(std::unique_ptr<EventRun> prepared, Make(run, launches));
    std::vector<double> samples;
    for (int i = 0; i < kWarmups; ++i) TUNEONCE_RETURN_IF_ERROR(SampleOne(*prepared).status());
    while (samples.size() < kSamples) {
      TUNEONCE_ASSIGN_OR_RETURN(double us, SampleOne(*prepared));
      samples.push_back(us * launches);
    }
    std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
    return samples[kSamples / 2];
  }

  StreamView stream_;
  CacheFlush flush_;
  const EventTimer::Replay replay_;
  double offset_us_ = 0;
  std::size_t num_nodes_around_ = 0;
  std::int64_t num_launches_ = 0;
};

}  // namespace

Result<CacheFlush> CacheFlush::Create(StreamView stream, CacheState cache) {
  CacheFlush flush;
  bool cold = cache == CacheState::kCold || (cache == CacheState::kDefault && !stream.api().is_cpu_device());
  if (!cold) return flush;
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::OfCurrentContext(stream.api()));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(flush.buffer_, DeviceBuffer::Allocate(stream, identity.l2_bytes));
  return flush;
}

Status CacheFlush::Run(CUstream stream) const {
  if (!buffer_ || buffer_->bytes() == 0) return Status();
  StreamView owner = buffer_->stream();
  const DriverApi& api = owner.api();
  return TUNEONCE_CUDA_STATUS(api, MemsetD8Async(buffer_->get(), 0, buffer_->bytes(), stream));
}

Result<std::unique_ptr<TimingSession>> EventTimer::Open(StreamView stream, CacheState cache) {
  TUNEONCE_ASSIGN_OR_RETURN(CacheFlush flush, CacheFlush::Create(stream, cache));
  auto session = std::make_unique<EventTimingSession>(stream, std::move(flush), replay_);
  TUNEONCE_RETURN_IF_ERROR(session->Calibrate());
  return std::unique_ptr<TimingSession>(std::move(session));
}

std::unique_ptr<Timer> MakeEventTimer() { return std::make_unique<EventTimer>(); }

}  // namespace v0
}  // namespace tuneonce
