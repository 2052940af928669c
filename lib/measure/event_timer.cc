#include "tuneonce/measure/event_timer.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "tuneonce/cuda/event.h"
#include "tuneonce/measure/statistics.h"

namespace tuneonce {
namespace {

/// One run between two events, in microseconds.
Result<double> Sample(StreamView stream, const TimedRun& run, const Event& before, const Event& after) {
  TUNEONCE_RETURN_IF_ERROR(run.prepare());
  TUNEONCE_RETURN_IF_ERROR(before.Record(stream.get()));
  TUNEONCE_RETURN_IF_ERROR(run.launch());
  TUNEONCE_RETURN_IF_ERROR(after.Record(stream.get()));
  TUNEONCE_RETURN_IF_ERROR(after.Synchronize());
  return after.MicrosecondsSince(before);
}

}  // namespace

Result<TimedResult> EventTimer::Time(StreamView stream, const TimedRun& run) {
  TUNEONCE_ASSIGN_OR_RETURN(Event before, Event::Create(stream.api(), Event::Timing::kEnabled));
  TUNEONCE_ASSIGN_OR_RETURN(Event after, Event::Create(stream.api(), Event::Timing::kEnabled));
  TimedResult result;
  std::vector<double> samples;
  for (int i = -options_.num_warmups; i < options_.max_samples; ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(double us, Sample(stream, run, before, after));
    if (!std::isfinite(us) || us < 0) return InternalError("the event timer read a time that is none");
    ++result.num_launches;
    result.gpu_seconds += us * 1e-6;
    if (i < 0) continue;
    samples.push_back(us);
    if (static_cast<int>(samples.size()) < options_.min_samples) continue;
    Measurement so_far = Summarize(samples);
    bool precise = so_far.error_margin_us && *so_far.error_margin_us <= options_.target_error * so_far.mean_us;
    bool spent = std::accumulate(samples.begin(), samples.end(), 0.0) >= options_.budget_ms * 1000;
    if (precise || spent) break;
  }
  if (samples.empty()) return InvalidArgumentError("EventTimerOptions::max_samples must be at least 1");
  result.measurement = Summarize(samples);
  return result;
}

}  // namespace tuneonce
