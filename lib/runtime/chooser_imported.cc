// What a Chooser does with a decision that was made elsewhere and did not run here yet.
#include <algorithm>
#include <utility>

#include "runtime/chooser.h"
#include "search/search_call.h"
#include "tuneonce/record_store.h"
#include "tuneonce/tuning_result.h"

namespace tuneonce {
inline namespace v0 {

bool Chooser::ServeChecked(const TuneRequest& request, const KeyInStore& in_store, const ResidentKey& key,
                           StoreMiss* miss) {
  std::optional<Agreed> checked = CheckImported(request, in_store, miss);
  if (!checked) return false;
  to_.residency.PublishChoice(in_store.device, key, request.call.call(), checked->config, std::move(checked->loaded),
                              Residency::Place::kIfFree, std::move(checked->decision));
  ++to_.counters.stored_hits;
  return true;
}

std::optional<Chooser::Agreed> Chooser::CheckImported(const TuneRequest& request, const KeyInStore& in_store,
                                                      StoreMiss* miss) {
  std::optional<Found> found = FindRecord(in_store, ServingOf(/*may_compile=*/true, request.limits), miss);
  if (!found || !found->is_unchecked()) return std::nullopt;
  const BoundCall& call = request.call.call();
  auto is_it = [&](const Success& success) { return success.config == found->config; };
  MeasuredOn on;
  Result<SearchOutcome> searched = Search(request, in_store, &found->config, &on);
  std::string why = searched.ok() ? "" : searched.status().message();
  if (searched.ok()) {
    const TuningResult& result = searched->result;
    to_.counters.workers_replaced += result.cost.workers_replaced;
    to_.counters.tuning_gpu_ns += static_cast<std::int64_t>(result.cost.gpu_seconds * 1e9);
    auto it = std::find_if(result.successes.begin(), result.successes.end(), is_it);
    // Within the margin by which a choice must beat it, the baseline is no better.
    double most_us =
        result.baseline ? result.baseline->measurement.mean_us * (1 + to_.policy.search.baseline_margin) : 0;
    if (it == result.successes.end()) {
      why = result.failures.empty() ? "it does not run at these dims" : result.failures.front().message;
    } else if (result.baseline && it->measurement.mean_us > most_us) {
      why = "it is slower than the baseline";
    } else {
      TuningRecord record = RecordOf(result, in_store.key, on);
      record.config = it->config;
      record.variant = it->variant;
      record.measurement = it->measurement;
      record.artifact = it->artifact;
      record.reason = ChoiceReason::kImported;
      Remember(record);
      Result<std::shared_ptr<const LoadedKernel>> loaded =
          is_it(result.best) ? searched->best
                             : loader_.Compile(it->config, call, in_store.left_out, it->variant, /*may_compile=*/true,
                                               InterruptOf(request.limits));
      if (loaded.ok()) {
        Decision decision = DecisionOf(record, Choice::From::kImported);
        return Agreed{it->config, *std::move(loaded), std::move(record), std::move(decision)};
      }
      why = loaded.status().message();
    }
  }
  to_.announcer.Warn(in_store.key.key_text + ": the imported {" + found->config.ToString() + "} is not used: " + why);
  *miss = {RecordMiss::kRefused, why};
  return std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
