#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/environment.h"
#include "compile/compile_slots.h"
#include "console/output.h"
#include "launch/call_binder.h"
#include "runtime/tuned_kernel_on.h"
#include "runtime/warmup_inputs.h"
#include "search/candidate.h"
#include "shared/compile_cached.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuning/tune_shapes.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

/// Time of a search besides its compiles: by default at most half a second of samples, and as much for trying
/// candidates.
constexpr double kMeasureSeconds = 1;

/// The configs that a guided search tries: what it took on average on recorded tables (replay_strategies --stop).
constexpr std::int64_t kGuidedTrials = 200;
/// The most configs whose sources are made, which takes time in a large space. The others are taken to be like them.
constexpr std::int64_t kMostPlanned = 64;

/// Returns how many of `num_configs` a search tries after `num_known` others that an earlier search has tried.
std::int64_t NumTried(std::int64_t num_configs, std::int64_t num_known, const SearchOptions& search, int max_configs) {
  const bool is_guided =
      search.strategy == Strategy::kGuided || (search.strategy == Strategy::kAutomatic && num_configs > max_configs);
  const std::int64_t guided = std::max<std::int64_t>(1, kGuidedTrials - num_known);
  std::int64_t tried = is_guided ? std::min(num_configs, guided) : num_configs;
  if (search.budgets.trials > 0) tried = std::min<std::int64_t>(tried, search.budgets.trials);
  return tried;
}

/// Returns an estimate of one compile's time for a kernel that was never compiled here. These are not measured.
double UsualSeconds(SourceKind kind) {
  switch (kind) {
    case SourceKind::kCubin:
      return 0;
    case SourceKind::kTileIr:
    case SourceKind::kTileCpp:
      return 0.6;
    case SourceKind::kPtx:
      return 0.2;
    case SourceKind::kCudaCpp:
    case SourceKind::kCpuCpp:
      break;
  }
  return 1;
}

/// Returns the configs that the search of a stored record has tried, if TunePending continues it, else none.
std::set<std::string> KnownConfigs(const LaunchPlan& plan, const RecordStore& store) {
  std::set<std::string> known;
  const bool is_of_search = plan.record != nullptr && plan.origin == LaunchPlan::Origin::kStore;
  if (!is_of_search || plan.record->is_complete || plan.match != RecordMatch::kExact) return known;
  const Result<RecordLookup> found = store.Lookup(plan.record->key);  // The plan's record lists no candidates.
  if (!found.ok() || !found->record) return known;
  for (const CandidateOutcome& outcome : found->record->candidates) {
    const bool is_tried = outcome.kind != OutcomeKind::kNotMeasured && outcome.kind != OutcomeKind::kNotVerified;
    if (is_tried && !outcome.is_transient) known.insert(outcome.config.Canonical());
  }
  return known;
}

/// The estimated cost of one key.
struct Estimate {
  std::size_t line = 0;
  std::string key;
  bool is_stored = false;
  bool is_repeated = false;       ///< Another line's key.
  std::int64_t num_configs = 0;   ///< All configs but the known ones.
  std::int64_t num_known = 0;     ///< Configs that were tried by the search that is continued.
  std::int64_t num_tried = 0;     ///< Configs that the search tries.
  std::int64_t num_compiles = 0;  ///< That neither the store nor another line has.
  double compile_seconds = 0;     ///< All together, one after the other.
  std::int64_t bytes = 0;         ///< Device memory, at most.
  Status wrong;
};

class Estimator {
 public:
  Estimator(const Device& device, const AutotunePolicy& policy, StreamView stream, const Target& target, bool continues)
      : device_(device), policy_(policy), stream_(stream), target_(target), continues_(continues) {}

  Status Add(const WantedShape& wanted, const Bundle& bundle, Estimate* estimate) {
    const KernelDefinition& definition = bundle.definition();
    TUNEONCE_RETURN_IF_ERROR(CheckShape(definition, target_, *wanted.job.inputs));
    auto kernel = kernels_.find(wanted.bundle);
    if (kernel == kernels_.end()) {
      TUNEONCE_ASSIGN_OR_RETURN(TunedKernel made, TunedKernelOn::Create(device_, Undecided(bundle), policy_));
      kernel = kernels_.emplace(wanted.bundle, std::move(made)).first;
    }
    TUNEONCE_ASSIGN_OR_RETURN(LaunchPlan plan, kernel->second.Explain(stream_.get(), wanted.job.shape));
    estimate->key = plan.key;
    estimate->is_repeated = !keys_.insert({wanted.bundle, plan.key}).second;
    const std::set<std::string> known = continues_ ? KnownConfigs(plan, *policy_.store) : std::set<std::string>();
    estimate->is_stored = plan.action == LaunchPlan::Action::kSelected && known.empty();
    if (estimate->is_repeated || estimate->is_stored || plan.action == LaunchPlan::Action::kNothing) return Status();
    return AddSearch(definition, *wanted.job.inputs, known, estimate);
  }

 private:
  /// Adds the search of a key, which tries none of the `known` configs (Config::Canonical).
  Status AddSearch(const KernelDefinition& definition, const InputShape& inputs, const std::set<std::string>& known,
                   Estimate* estimate) {
    auto shared = std::make_shared<const KernelDefinition>(definition);
    CallBinder binder(*shared);
    TUNEONCE_ASSIGN_OR_RETURN(WarmupInputs made,
                              WarmupInputs::Create(*shared, inputs, stream_, WarmupInputs::Use::kKey));
    BoundCall call;
    TUNEONCE_RETURN_IF_ERROR(binder.Bind(made.arguments().data(), made.arguments().size(), &call));
    call.problem.target = &target_;
    estimate->bytes = MemoryOf(*shared, call);
    TUNEONCE_ASSIGN_OR_RETURN(const ConfigSet configs, shared->space().Configs(target_, &call.problem));
    estimate->num_known = static_cast<std::int64_t>(known.size());
    estimate->num_configs = std::max<std::int64_t>(0, configs.size() - estimate->num_known);
    estimate->num_tried =
        NumTried(estimate->num_configs, estimate->num_known, policy_.search, shared->space().max_configs());
    const std::int64_t most_planned = std::min(estimate->num_tried, kMostPlanned);
    std::int64_t num_planned = 0;
    const bool enable_tile = policy_.search.runtime->environment().enable_tile;
    std::int64_t next = 0;  // No config is planned twice.
    for (std::int64_t i = 0; i < most_planned; ++i) {
      next = std::max(next, i * configs.size() / most_planned);
      while (next < configs.size() && known.count(configs.At(next).Canonical()) > 0) ++next;
      if (next == configs.size()) break;
      const Config config = configs.At(next++);
      ++num_planned;
      TUNEONCE_ASSIGN_OR_RETURN(PlannedConfig planned, PlanConfig(shared, config, call, enable_tile));
      if (planned.needs_compiling()) AddCompile(CompileJobOf(planned), estimate);
    }
    if (num_planned > 0) {
      const double scale = static_cast<double>(estimate->num_tried) / static_cast<double>(num_planned);
      estimate->num_compiles = std::llround(scale * static_cast<double>(estimate->num_compiles));
      estimate->compile_seconds *= scale;
    }
    return shared->space().TakeMisuse();
  }

  /// The tensors, and what a search puts beside them: copies of the inputs, scratch and a reference for outputs.
  static std::int64_t MemoryOf(const KernelDefinition& definition, const BoundCall& call) {
    constexpr double kGuardBytes = 2 * 65536;
    double bytes = 0;
    for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
      const TensorView* tensor = call.FindTensor(definition.parameters(), i);
      if (tensor == nullptr) continue;
      auto size = static_cast<double>(DTypeBytes(tensor->dtype));
      for (int dim = 0; dim < tensor->rank; ++dim) size *= static_cast<double>(tensor->shape[dim]);
      const auto num_guarded = definition.parameters()[i].by_pointers ? static_cast<double>(tensor->shape[0]) : 1.0;
      bytes += (definition.parameters()[i].access == Access::kIn ? 2 : 3) * size + num_guarded * kGuardBytes;
    }
    return static_cast<std::int64_t>(std::min(bytes, 9e18));
  }

  void AddCompile(const CompileJob& job, Estimate* estimate) {
    const CompileJob::Alternative& first = job.alternatives.front();
    Result<const Toolchain*> toolchain = policy_.search.runtime->toolchains().For(first.source.kind());
    if (!toolchain.ok()) return;
    Result<Fingerprint> key = (*toolchain)->ArtifactKey(first.source.Whole(), first.hints, target_);
    if (!key.ok() || !artifacts_.insert({key->high, key->low}).second) return;
    if (std::optional<Artifact> found = FindCurrent(*policy_.store, *key)) {
      seen_seconds_ += found->seconds;
      ++num_seen_;
      return;
    }
    ++estimate->num_compiles;
    estimate->compile_seconds += num_seen_ > 0 ? seen_seconds_ / num_seen_ : UsualSeconds(first.source.kind());
  }

  const Device& device_;
  const AutotunePolicy& policy_;
  const StreamView stream_;
  const Target target_;
  const bool continues_;
  std::map<std::string, TunedKernel> kernels_;
  std::set<std::pair<std::string, std::string>> keys_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> artifacts_;
  double seen_seconds_ = 0;  // The compile times in the store.
  int num_seen_ = 0;
};

std::string TextOf(const Estimate& each) {
  std::string text = each.line == 0 ? "" : absl::StrCat("line ", each.line, ": ");
  if (!each.key.empty()) absl::StrAppend(&text, each.key, ": ");
  if (!each.wrong.ok()) return text + each.wrong.message();
  if (each.is_repeated) return text + "as another line";
  if (each.is_stored) return text + "in the store";
  if (each.num_known > 0) {
    absl::StrAppendFormat(&text, "continues, %d of %d configs left", each.num_configs,
                          each.num_configs + each.num_known);
  } else {
    absl::StrAppendFormat(&text, "%d configs", each.num_configs);
  }
  if (each.num_tried < each.num_configs) absl::StrAppendFormat(&text, ", of which about %d are tried", each.num_tried);
  return text +
         absl::StrFormat(", %d to compile, %.1f MiB", each.num_compiles, static_cast<double>(each.bytes) / (1 << 20));
}

Json JsonOf(const Estimate& each) {
  return {{"line", each.line},
          {"key", each.key},
          {"is_stored", each.is_stored},
          {"is_repeated", each.is_repeated},
          {"is_continued", each.num_known > 0},
          {"configs", each.num_configs},
          {"tried", each.num_tried},
          {"to_compile", each.num_compiles},
          {"bytes", each.bytes},
          {"error", each.wrong.ok() ? Json(nullptr) : Json(each.wrong.ToString())}};
}

/// All together.
struct Total {
  double seconds = 0;
  std::int64_t bytes = 0;
  std::size_t searches = 0;
  Status wrong;
};

Total Sum(const std::vector<Estimate>& estimates, int workers, std::optional<std::int64_t> budget_ms) {
  Total total;
  for (const Estimate& each : estimates) {
    if (!each.wrong.ok() && total.wrong.ok())
      total.wrong = each.line == 0 ? each.wrong : each.wrong.WithPrefix(absl::StrCat("line ", each.line));
    total.seconds += each.compile_seconds / workers;
    total.bytes = std::max(total.bytes, each.bytes);
    if (each.num_configs == 0) continue;
    ++total.searches;
    total.seconds += kMeasureSeconds;
  }
  if (budget_ms) total.seconds = std::min(total.seconds, static_cast<double>(*budget_ms) / 1000);
  return total;
}

}  // namespace

Status EstimateTuning(const WantedShapes& wanted, const Device& device, const AutotunePolicy& policy,
                      std::optional<std::int64_t> budget_ms, bool continues, bool json) {
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
  Estimator estimator(device, policy, stream.view(), Target::Of(identity), continues);
  std::vector<Estimate> estimates;
  for (const WantedShape& each : wanted.shapes) {
    Estimate& estimate = estimates.emplace_back();
    estimate.line = each.line;
    estimate.wrong = each.wrong;
    if (each.wrong.ok()) estimate.wrong = estimator.Add(each, wanted.bundles.at(each.bundle), &estimate);
  }
  const Total total = Sum(estimates, policy.search.runtime->compile_slots().limit(), budget_ms);
  if (json) {
    Json all = {{"device", identity.name},
                {"searches", total.searches},
                {"seconds", total.seconds},
                {"bytes", total.bytes},
                {"keys", Json::array()}};
    for (const Estimate& each : estimates) all["keys"].push_back(JsonOf(each));
    PrintJson(all);
  } else {
    for (const Estimate& each : estimates) PrintLine("%s", TextOf(each).c_str());
    PrintLine("%zu searches on %s: about %s, and %.1f MiB of its memory at a time", total.searches,
              identity.name.c_str(), TimeText(total.seconds).c_str(), static_cast<double>(total.bytes) / (1 << 20));
  }
  return total.wrong;
}

}  // namespace v0
}  // namespace tuneonce
