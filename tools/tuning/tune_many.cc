#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/deadline.h"
#include "console/output.h"
#include "report/config_json.h"
#include "runtime/tuned_kernel_on.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"
#include "tuning/tune_shapes.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;
using State = WarmedKey::State;

/// A key that shapes came to, or a shape that is wrong.
struct Row {
  std::vector<std::size_t> lines;
  std::string bundle;
  std::string key;
  State state = State::kFailed;
  bool is_complete = true;
  Status status;
  std::string config;  ///< As text. Empty: unknown.
  Json axes;           ///< The config by ConfigJson; null: not known.
  double mean_us = 0;  ///< 0: not known.
  std::optional<double> speedup;
};

/// The results of searches and lookups, by kernel and key. Called on the thread that warms up.
struct Findings : AutotuneObserver {
  struct Found {
    std::string config;
    Json axes;  ///< Null for a stored config.
    double mean_us = 0;
    std::optional<double> speedup;
  };
  void OnTuned(const std::string& kernel, const std::string& key, const TuningRecord& result) override {
    by_key[{kernel, key}] = {result.best.config.ToString(), ConfigJson(result.best.config),
                             result.best.measurement.mean_us, result.speedup_over_baseline};
  }
  void OnStoredHit(const std::string& kernel, const std::string& key, const std::string& config) override {
    by_key[{kernel, key}] = {config, nullptr, 0, std::nullopt};
  }
  std::map<std::pair<std::string, std::string>, Found> by_key;
};

const char* StateText(State state) {
  // kReady: its kernel has no elements to compute. kFromRanks: the command has none.
  static constexpr const char* kTexts[] = {"nothing to launch", "stored",   "tuned",  "failed",
                                           "predicted",         "fallback", "failed", "not reached"};
  static_assert(std::size(kTexts) == static_cast<std::size_t>(State::kNotReached) + 1);
  return kTexts[static_cast<std::size_t>(state)];
}

class ManyRun {
  using Clock = std::chrono::steady_clock;

 public:
  ManyRun(const WantedShapes& wanted, const TuneManyOptions& options) : wanted_(wanted), options_(options) {}

  Status Run(const Device& device) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
    device_ = identity.name;
    TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
    ScopedContext current(context.view());
    TUNEONCE_RETURN_IF_ERROR(current.status());
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
    stream_ = stream.get();
    TUNEONCE_RETURN_IF_ERROR(AddShapes(device, Target::Of(identity)));
    WarmupAllOptions warmup;
    if (options_.budget_ms) warmup.deadline = std::chrono::milliseconds(*options_.budget_ms);
    if (options_.budget_ms) end_ = DeadlineIn(*warmup.deadline);
    warmup.stop = options_.interrupted;
    warmup.on_progress = [this](const WarmupProgress& progress) { OnKey(progress); };
    if (!options_.json) {
      PrintLine("%zu shapes on %s", wanted_.shapes.size(), device_.c_str());
      for (const Row& row : rows_) Print(row);
      Flush();
    }
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<WarmedKey> warmed, WarmupAll(stream_, kernels_, warmup));
    if (options_.continues) TUNEONCE_RETURN_IF_ERROR(Continue(warmed));
    TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
    for (std::size_t i = 0; i < warmed.size(); ++i) DescribeStored(warmed[i]);
    kernels_.clear();
    tuned_.clear();  // While the context lives.
    return Conclude();
  }

 private:
  /// Adds one kernel for each bundle. A mistake in a shape becomes a row.
  Status AddShapes(const Device& device, const Target& target) {
    AutotunePolicy policy = options_.policy;
    policy.search.stop = options_.interrupted;
    policy.observer = findings_;
    if (!options_.json && !options_.quiet) {
      policy.search.on_progress = TerminalProgress([this] { return before_; });
    }
    policy.search.quiet = true;
    std::map<std::string, std::size_t> place_of;
    for (const WantedShape& each : wanted_.shapes) {
      Status status = each.wrong;
      auto bundle = wanted_.bundles.find(each.bundle);
      if (status.ok()) status = CheckShape(bundle->second.definition(), target, *each.job.inputs);
      auto place = place_of.find(each.bundle);
      if (status.ok() && place == place_of.end()) {
        Result<TunedKernel> kernel = TunedKernelOn::Create(device, Undecided(bundle->second), policy);
        status = kernel.status();
        if (kernel.ok()) {
          tuned_.push_back(*std::move(kernel));
          place = place_of.emplace(each.bundle, kernels_.size()).first;
          kernels_.push_back({&tuned_.back(), {}});
          lines_.emplace_back();
          names_.push_back(each.bundle);
        }
      }
      if (!status.ok()) {
        rows_.push_back(Row{{each.line}, each.bundle, "", State::kFailed, true, std::move(status), "", {}, 0, {}});
        continue;
      }
      kernels_[place->second].shapes.push_back(each.job.shape);
      lines_[place->second].push_back(each.line);
    }
    return Status();
  }

  void OnKey(const WarmupProgress& progress) {
    const WarmedKey& key = progress.key;
    Row row;
    for (std::size_t shape : key.shapes) row.lines.push_back(lines_[key.kernel][shape]);
    row.bundle = names_[key.kernel];
    row.key = key.key;
    row.state = key.state;
    row.is_complete = key.is_complete;
    row.status = key.status;
    rows_.push_back(std::move(row));
    before_ =
        absl::StrFormat("%d of %d keys, %s left; ", progress.done, progress.total, TimeText(progress.seconds_left));
    auto found = findings_->by_key.find({kernels_[key.kernel].kernel->definition().name(), key.key});
    if (found != findings_->by_key.end() && key.status.ok()) {
      rows_.back().config = found->second.config;
      rows_.back().axes = found->second.axes;
      rows_.back().mean_us = found->second.mean_us;
      rows_.back().speedup = found->second.speedup;
    }
    // Keys that were not reached are only counted.
    if (!options_.json && key.state != State::kNotReached) Print(rows_.back());
    Flush();
  }

  /// Continues the searches of keys that the store served although they were cut short, within the rest of the budget.
  Status Continue(const std::vector<WarmedKey>& warmed) {
    findings_->by_key.clear();
    std::int64_t num_left = 0;
    for (const TunedKernel& kernel : tuned_) num_left += kernel.counters().now.pending_keys;
    std::vector<bool> is_over;  // By kernel.
    for (TunedKernel& kernel : tuned_) {
      const std::int64_t num_here = kernel.counters().now.pending_keys;
      is_over.push_back(false);
      if (num_here == 0) continue;
      TUNEONCE_ASSIGN_OR_RETURN(is_over.back(), ContinueOf(kernel, num_here, num_left));
      num_left -= num_here;
    }
    for (const WarmedKey& key : warmed) {
      auto found = findings_->by_key.find({kernels_[key.kernel].kernel->definition().name(), key.key});
      const bool is_unreached = is_over[key.kernel] && key.state == State::kFromStore && !key.is_complete;
      if (found == findings_->by_key.end() && !is_unreached) continue;
      auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) {
        return each.bundle == names_[key.kernel] && each.key == key.key;
      });
      if (found == findings_->by_key.end()) {
        row->state = State::kNotReached;
        row->status = DeadlineExceededError("the deadline passed before the search of this key was continued");
        continue;
      }
      row->state = State::kTuned;
      row->config = found->second.config;
      DescribeStored(key);
      if (!options_.json) Print(*row);
    }
    return Status();
  }

  /// Continues the searches of `num_here` keys of one kernel within their share of the rest of the budget, which is for
  /// `num_left` keys. Returns whether that share was used up.
  Result<bool> ContinueOf(TunedKernel& kernel, std::int64_t num_here, std::int64_t num_left) {
    if (!end_) {
      TUNEONCE_RETURN_IF_ERROR(kernel.TunePending(stream_));
      return false;
    }
    const Clock::time_point now = Clock::now();
    const Clock::time_point end = now + num_here * ShareOf(*end_ - now, static_cast<std::size_t>(num_left));
    TUNEONCE_RETURN_IF_ERROR(TunedKernelOn::TunePending(&kernel, stream_, end));
    return Clock::now() >= end;
  }

  /// Describes the record that served a key.
  void DescribeStored(const WarmedKey& key) {
    if (key.state != State::kFromStore) return;
    const KernelShapes& of_kernel = kernels_[key.kernel];
    Result<LaunchPlan> plan = of_kernel.kernel->Explain(stream_, of_kernel.shapes[key.shapes.front()]);
    if (!plan.ok() || plan->record == nullptr) return;
    for (Row& row : rows_) {
      if (row.bundle != names_[key.kernel] || row.key != key.key) continue;
      if (plan->config) row.axes = ConfigJson(*plan->config);
      row.mean_us = plan->record->best.measurement.mean_us;
      row.speedup = plan->record->speedup_over_baseline;
      row.is_complete = plan->record->is_complete;
    }
  }

  static std::string LinesText(const Row& row) {
    std::string text = absl::StrCat("line ", row.lines.front());
    if (row.lines.size() > 1) absl::StrAppend(&text, " and ", row.lines.size() - 1, " more");
    return text;
  }

  void Print(const Row& row) const {
    std::string line =
        absl::StrCat(LinesText(row), ": ", row.bundle, row.key.empty() ? "" : " ", row.key, ": ", StateText(row.state));
    if (!row.config.empty()) absl::StrAppend(&line, " {", row.config, "}");
    if (row.mean_us > 0) absl::StrAppend(&line, absl::StrFormat(", %.2f us", row.mean_us));
    if (row.speedup) absl::StrAppend(&line, absl::StrFormat(", %.2f times the baseline's speed", *row.speedup));
    if (!row.is_complete) absl::StrAppend(&line, ", cut short");
    if (row.state == State::kFailed) absl::StrAppend(&line, ": ", row.status.message());
    PrintLine("%s", line.c_str());
  }

  static void Flush() { std::fflush(stdout); }

  Json JsonOf(const Row& row) const {
    Json json;
    json["lines"] = row.lines;
    json["bundle"] = row.bundle;
    json["key"] = row.key;
    json["state"] = StateText(row.state);
    json["config"] = row.axes;
    json["mean_us"] = row.mean_us > 0 ? Json(row.mean_us) : Json(nullptr);
    json["speedup_over_baseline"] = row.speedup ? Json(*row.speedup) : Json(nullptr);
    json["is_complete"] = row.is_complete;
    json["error"] = row.status.ok() ? Json(nullptr) : Json(row.status.ToString());
    return json;
  }

  Status Conclude() {
    std::map<State, std::size_t> count;
    std::size_t cut_short = 0;
    for (const Row& row : rows_) {
      ++count[row.state];
      cut_short += row.is_complete ? 0 : 1;
    }
    if (options_.json) {
      Json json;
      json["device"] = device_;
      json["keys"] = Json::array();
      for (const Row& row : rows_) json["keys"].push_back(JsonOf(row));
      PrintJson(json);
    } else {
      PrintLine("%zu tuned (%zu cut short), %zu from the store, %zu failed, %zu not reached", count[State::kTuned],
                cut_short, count[State::kFromStore], count[State::kFailed], count[State::kNotReached]);
      if (wanted_.num_of_others > 0) PrintLine("lines of other kernels: %zu", wanted_.num_of_others);
    }
    if (options_.interrupted != nullptr && options_.interrupted->load()) {
      return Remedied(CancelledError("interrupted: finished keys are kept if --store was given"),
                      "run the same command again to continue");
    }
    if (count[State::kFailed] > 0) {
      return InternalError(absl::StrCat(count[State::kFailed], " of ", rows_.size(), " keys failed; see above"));
    }
    if (count[State::kNotReached] == 0) return Status();
    return Remedied(DeadlineExceededError(absl::StrCat(count[State::kNotReached], " of ", rows_.size(),
                                                       " keys were not reached within --budget")),
                    "run the same command again with --store to continue");
  }

  const WantedShapes& wanted_;
  const TuneManyOptions& options_;
  std::string device_;
  CUstream stream_ = nullptr;
  std::optional<Clock::time_point> end_;  // The end of the budget.
  std::list<TunedKernel> tuned_;          // Addresses stay.
  std::vector<KernelShapes> kernels_;
  std::vector<std::vector<std::size_t>> lines_;  // By kernel and shape.
  std::vector<std::string> names_;               // By kernel.
  std::vector<Row> rows_;
  std::shared_ptr<Findings> findings_ = std::make_shared<Findings>();
  std::string before_;
};

}  // namespace

Status TuneMany(const WantedShapes& wanted, const Device& device, TuneManyOptions options) {
  return ManyRun(wanted, options).Run(device);
}

}  // namespace v0
}  // namespace tuneonce
