// SearchEngine's result: the outcome of each config, or why the search failed.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "definition/compiler_option.h"
#include "measure/statistics.h"
#include "search/candidate_identity.h"
#include "search/search_engine.h"

namespace tuneonce {
inline namespace v0 {

Success SearchEngine::SuccessOf(const Group& group) const {
  Success success;
  success.config = planned_[Representative(group)].config;
  success.variant = group.candidate.variant_name();
  success.measurement = SummarizeStoppedEarly(group.samples_us);
  success.geometry = group.candidate.geometry;
  success.resources = group.candidate.artifact.resources;
  success.artifact = group.candidate.artifact.key;
  Candidate represented = group.candidate;
  represented.config = success.config;
  success.identity = CandidateIdentity(represented);
  success.toolchain = group.candidate.artifact.toolchain;
  success.ties_with_fastest = group.ties;
  success.largest_difference = group.prepared->largest_difference;
  return success;
}

bool SearchEngine::IsFatal(Group& group) {
  for (const KnownFatal& known : fatal_) {
    if (group.candidate.artifact.toolchain != known.toolchain || group.candidate.is_callable()) continue;
    for (std::size_t member : group.members) {
      const Config& config = planned_[member].config;
      if (!config.IsSame(known.failure.config)) continue;
      group.prepared.emplace();
      group.prepared->failure = known.failure;
      result_.notes.push_back("not tried again, since it ended its process before: {" + config.ToString() + "}");
      return true;
    }
  }
  return false;
}

void SearchEngine::Collect() {
  std::map<std::size_t, Duplicate> duplicates;
  for (Group& group : groups_) {
    std::size_t representative = Representative(group);
    const Config& config = planned_[representative].config;
    for (std::size_t member : group.members) {
      if (member != representative) duplicates.emplace(member, Duplicate{planned_[member].config, config});
    }
    if (group.prepared->failure) {
      const Failure& failure = *group.prepared->failure;
      Fail(representative, failure.kind, failure.message, failure.is_transient);
    } else if (group.samples_us.empty() || timing_failures_.count(&group) > 0) {
      const auto found = timing_failures_.find(&group);
      const bool is_known = found != timing_failures_.end();
      Fail(representative, is_known ? found->second.kind : FailureKind::kRun,
           is_known ? found->second.message : std::string());
    } else {
      result_.successes.push_back(SuccessOf(group));
    }
  }
  for (auto& [index, duplicate] : duplicates) result_.duplicates.push_back(std::move(duplicate));
  for (std::size_t index = 0; index < planned_.size(); ++index) {
    if (auto failed = failures_.find(index); failed != failures_.end()) result_.failures.push_back(failed->second);
    if (not_measured_.count(index) > 0) result_.not_measured.push_back(planned_[index].config);
    if (auto passed = substitutions_.find(index); passed != substitutions_.end()) {
      result_.substitutions.insert(result_.substitutions.end(), passed->second.begin(), passed->second.end());
    }
  }
  result_.is_conclusive = result_.is_conclusive && result_.not_measured.empty();
}

void SearchEngine::Choose() {
  result_.best = SuccessOf(*winner_);
  for (const Group* group : racing_) {
    if (HasBaseline(*group) && !group->samples_us.empty()) result_.baseline = SuccessOf(*group);
  }
  std::stable_sort(result_.successes.begin(), result_.successes.end(),
                   [](const Success& a, const Success& b) { return a.measurement.mean_us < b.measurement.mean_us; });
}

void SearchEngine::AddCosts() {
  const RunnerReport report = place_.Report();
  result_.timer = report.timer;
  result_.notes.insert(result_.notes.begin(), report.notes.begin(), report.notes.end());
  if (std::string lonely = LonelyReference(); !lonely.empty()) result_.notes.push_back(std::move(lonely));
  NoteOptionsWithoutEffect();
  if (options_.verify == Verify::kOff) {
    result_.notes.push_back("outputs were not compared (Verify::kOff): the selected config may be incorrect");
  }
  result_.cost.num_launches = report.num_launches;
  result_.cost.peak_bytes = report.peak_bytes;
  result_.cost.workers_replaced = report.workers_replaced;
  result_.is_isolated = report.is_isolated;
  result_.cost.wall_seconds = SecondsSince(stage_began_);
}

void SearchEngine::NoteOptionsWithoutEffect() {
  if (groups_.empty()) return;
  const Config& config = groups_.front().candidate.config;
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    if (config.Kind(i) != AxisKind::kOption) continue;
    Result<const CompilerOption*> option = FindCompilerOption(config.AxisName(i));
    const bool is_taken = option.ok() && std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
                            return !group.candidate.is_callable() && TakesOption(group.candidate.source.kind, **option);
                          });
    auto differs = [&](const Config& other) { return !(other.values()[i] == config.values()[i]); };
    const bool has_values = std::any_of(groups_.begin(), groups_.end(),
                                        [&](const Group& group) { return differs(group.candidate.config); }) ||
                            std::any_of(result_.duplicates.begin(), result_.duplicates.end(),
                                        [&](const Duplicate& duplicate) { return differs(duplicate.config); });
    if (is_taken || !has_values) continue;
    result_.notes.push_back(absl::StrCat("no compiler of these candidates has the option '", config.AxisName(i),
                                         "', so the values of this axis make duplicate configs"));
  }
}

std::string SearchEngine::LonelyReference() const {
  const bool is_given = !options_.reference.empty();
  int most = 0;
  for (const Group& group : groups_) {
    if (!group.prepared) continue;
    // The baseline agrees with itself.
    if (!group.prepared->failure && (is_given || !HasBaseline(group))) return "";
    most = std::max(most, group.prepared->num_dissenting);
  }
  if (most < 2) return "";
  const std::string reference =
      is_given || !baseline_ ? "the given reference" : "the baseline {" + baseline_->ToString() + "}";
  return absl::StrCat(reference, " differs from ", most, " candidates that agree with each other: it may be incorrect");
}

Status SearchEngine::AllFailed() const {
  // A reason that many configs share is listed once.
  std::map<std::string, std::vector<std::string>> configs_by_reason;
  for (const Failure& failure : result_.failures) {
    std::string reason = absl::StrCat(std::string(FailureKindName(failure.kind)), ": ", failure.message);
    configs_by_reason[reason].push_back("{" + failure.config.ToString() + "}");
  }
  bool is_transient = std::any_of(result_.failures.begin(), result_.failures.end(),
                                  [](const Failure& failure) { return failure.is_transient; });
  constexpr std::size_t kMostReasons = 5;
  std::vector<std::string> texts;
  for (const auto& [reason, configs] : configs_by_reason) {
    texts.push_back(absl::StrCat(reason, " (", configs.front(),
                                 configs.size() > 1 ? absl::StrCat(" and ", configs.size() - 1, " more") : "", ")"));
  }
  if (texts.size() > kMostReasons) {
    const std::size_t num_more = texts.size() - kMostReasons;
    texts.resize(kMostReasons);
    texts.push_back(absl::StrCat("and ", num_more, num_more == 1 ? " more reason" : " more reasons"));
  }
  const std::string reasons = absl::StrJoin(texts, "; ");
  std::string kernel = absl::StrCat("kernel '", result_.kernel, "': ");
  if (!why_not_tried_.empty()) {
    return ResourceExhaustedError(
        absl::StrCat(kernel, "no candidate was tried: ", why_not_tried_, reasons.empty() ? "" : "; ", reasons));
  }
  if (!not_measured_.empty()) {
    return DeadlineExceededError(absl::StrCat(
        kernel, "the search was cut short before any candidate was measured: ", not_measured_.size(),
        " candidates were not compiled before the time for compiling ended (SearchOptions::wall_budget_ms, "
        "CompileOptions::total_timeout_ms), or the compiles were cancelled",
        reasons.empty() ? "" : "; ", reasons));
  }
  // Transient reasons are distinguished from permanent ones.
  bool lacks_memory = false;
  bool all_lack_memory = true;
  for (const Failure& failure : result_.failures) {
    lacks_memory |= failure.kind == FailureKind::kResources;
    all_lack_memory &= failure.kind == FailureKind::kResources || failure.kind == FailureKind::kNotVerified;
  }
  const std::string lonely = LonelyReference();
  StatusCode code = is_transient ? StatusCode::kUnavailable : StatusCode::kInternal;
  return Status(lacks_memory && all_lack_memory ? StatusCode::kResourceExhausted : code,
                absl::StrCat(kernel, "all ", result_.failures.size(), " candidates failed: ", reasons,
                             lonely.empty() ? "" : "; ", lonely));
}

}  // namespace v0
}  // namespace tuneonce
