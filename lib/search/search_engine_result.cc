// SearchEngine's result: the outcome of each config, or why the search failed.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "definition/compiler_option.h"
#include "measure/race.h"
#include "measure/statistics.h"
#include "search/candidate_identity.h"
#include "search/search_engine.h"

namespace tuneonce {
inline namespace v0 {

CandidateOutcome SearchEngine::OutcomeOf(const Group& group) const {
  const std::size_t representative = Representative(group);
  CandidateOutcome outcome;
  outcome.config = planned_[representative].config;
  outcome.kind = OutcomeKind::kMeasured;
  outcome.variant = group.candidate.variant_name();
  outcome.passed_over = planned_[representative].passed_over;
  outcome.measurement = SummarizeStoppedEarly(group.samples_us);
  outcome.geometry = group.candidate.geometry;
  outcome.resources = group.candidate.artifact.resources;
  outcome.artifact = group.candidate.artifact.key;
  Candidate represented = group.candidate;
  represented.config = outcome.config;
  outcome.identity = CandidateIdentity(represented);
  outcome.toolchain = group.candidate.artifact.toolchain;
  outcome.ties_with_fastest = group.ties;
  outcome.largest_difference = group.prepared->largest_difference;
  outcome.energy_mj = group.energy_mj;
  return outcome;
}

bool SearchEngine::IsFatal(Group& group) {
  for (const KnownFatal& known : fatal_) {
    if (group.candidate.artifact.toolchain != known.toolchain || group.candidate.is_callable()) continue;
    for (std::size_t member : group.members) {
      const Config& config = planned_[member].config;
      if (!config.IsSame(known.failure.config)) continue;
      group.prepared.emplace();
      group.prepared->failure = known.failure;
      record_.notes.push_back("not tried again, since it ended its process before: {" + config.ToString() + "}");
      return true;
    }
  }
  return false;
}

void SearchEngine::AddOutcome(std::size_t index, CandidateOutcome outcome) {
  outcome.config = planned_[index].config;
  if (auto built = built_by_.find(index); built != built_by_.end()) {
    outcome.variant = built->second;
    outcome.passed_over = planned_[index].passed_over;
  }
  record_.candidates.push_back(std::move(outcome));
}

void SearchEngine::Collect() {
  std::map<std::size_t, CandidateOutcome> duplicates;
  for (Group& group : groups_) {
    std::size_t representative = Representative(group);
    for (std::size_t member : group.members) {
      if (member == representative) continue;
      duplicates[member].kind = OutcomeKind::kDuplicate;
      duplicates[member].same_as = planned_[representative].config;
    }
    if (group.prepared->failure) {
      const CandidateOutcome& failure = *group.prepared->failure;
      Fail(representative, failure.kind, failure.message, failure.is_transient);
    } else if (group.samples_us.empty() || timing_failures_.count(&group) > 0) {
      const auto found = timing_failures_.find(&group);
      const bool is_known = found != timing_failures_.end();
      Fail(representative, is_known ? found->second.kind : OutcomeKind::kRun,
           is_known ? found->second.message : std::string());
    } else {
      record_.candidates.push_back(OutcomeOf(group));
    }
  }
  std::stable_sort(record_.candidates.begin(), record_.candidates.end(),
                   [](const CandidateOutcome& a, const CandidateOutcome& b) {
                     return a.measurement.mean_us < b.measurement.mean_us;
                   });
  for (auto& [index, failure] : failures_) {
    if (EndsItsProcess(failure.kind)) record_.fatal.push_back({failure.config, failure.message});
    AddOutcome(index, failure);
  }
  for (auto& [index, duplicate] : duplicates) AddOutcome(index, std::move(duplicate));
  for (std::size_t index : not_measured_) AddOutcome(index, CandidateOutcome());
  record_.num_not_measured = static_cast<int>(not_measured_.size());
  record_.is_complete = not_measured_.empty();
  record_.is_conclusive = record_.is_conclusive && not_measured_.empty();
}

SelectionReason SearchEngine::Reason() const {
  const CandidateOutcome& best = record_.best;
  const double limit_us = record_.candidates.front().measurement.mean_us * (1 + RaceOptions().tie);
  const bool is_baseline = IsBaseline(best.config);
  if (best.measurement.mean_us > limit_us) {
    return is_baseline ? SelectionReason::kBaselineByMargin : SelectionReason::kTieEarliest;
  }
  const bool is_alone =
      std::all_of(record_.candidates.begin(), record_.candidates.end(), [&](const CandidateOutcome& candidate) {
        return candidate.kind != OutcomeKind::kMeasured || candidate.config == best.config ||
               candidate.measurement.mean_us > limit_us;
      });
  if (is_alone) return SelectionReason::kFastest;
  return is_baseline ? SelectionReason::kTieBaseline : SelectionReason::kTieEarliest;
}

void SearchEngine::Choose() {
  record_.best = OutcomeOf(*winner_);
  for (const Group* group : racing_) {
    if (HasBaseline(*group) && !group->samples_us.empty()) record_.baseline = OutcomeOf(*group);
  }
  record_.reason = Reason();
}

DeviceConditions SearchEngine::ConditionsOf(const std::optional<DeviceReading>& before,
                                            const std::optional<DeviceReading>& after) {
  DeviceConditions conditions = after ? after->conditions : DeviceConditions();
  if (before && before->conditions.throttle_reasons) {
    conditions.throttle_reasons = conditions.throttle_reasons.value_or(0) | *before->conditions.throttle_reasons;
  }
  return conditions;
}

void SearchEngine::AddCosts() {
  record_.timer = runner_.timer_name();
  record_.conditions = ConditionsOf(record_.device_before, record_.device_after);
  const std::vector<std::string> notes = runner_.notes();
  record_.notes.insert(record_.notes.begin(), notes.begin(), notes.end());
  if (std::string lonely = LonelyReference(); !lonely.empty()) record_.notes.push_back(std::move(lonely));
  NoteOptionsWithoutEffect();
  if (options_.verify == Verify::kOff) {
    record_.notes.push_back("outputs were not compared (Verify::kOff): the selected config may be incorrect");
  }
  record_.cost.num_launches = runner_.num_launches();
  record_.cost.peak_bytes = runner_.peak_bytes();
  record_.cost.workers_replaced = runner_.workers_replaced();
  record_.is_isolated = runner_.is_isolated();
  record_.cost.wall_seconds = SecondsSince(stage_began_);
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
    const bool has_values =
        std::any_of(groups_.begin(), groups_.end(),
                    [&](const Group& group) { return differs(group.candidate.config); }) ||
        std::any_of(record_.candidates.begin(), record_.candidates.end(), [&](const CandidateOutcome& candidate) {
          return candidate.kind == OutcomeKind::kDuplicate && differs(candidate.config);
        });
    if (is_taken || !has_values) continue;
    record_.notes.push_back(absl::StrCat("no compiler of these candidates has the option '", config.AxisName(i),
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
  const std::vector<CandidateOutcome> failures = record_.failures();
  std::map<std::string, std::vector<std::string>> configs_by_reason;
  for (const CandidateOutcome& failure : failures) {
    std::string reason = absl::StrCat(std::string(OutcomeName(failure.kind)), ": ", failure.message);
    configs_by_reason[reason].push_back("{" + failure.config.ToString() + "}");
  }
  bool is_transient = std::any_of(failures.begin(), failures.end(),
                                  [](const CandidateOutcome& failure) { return failure.is_transient; });
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
  std::string kernel = absl::StrCat("kernel '", record_.key.kernel, "': ");
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
  for (const CandidateOutcome& failure : failures) {
    lacks_memory |= failure.kind == OutcomeKind::kResources;
    all_lack_memory &= failure.kind == OutcomeKind::kResources || failure.kind == OutcomeKind::kNotVerified;
  }
  const std::string lonely = LonelyReference();
  StatusCode code = is_transient ? StatusCode::kUnavailable : StatusCode::kInternal;
  return Status(lacks_memory && all_lack_memory ? StatusCode::kResourceExhausted : code,
                absl::StrCat(kernel, "all ", failures.size(), " candidates failed: ", reasons,
                             lonely.empty() ? "" : "; ", lonely));
}

}  // namespace v0
}  // namespace tuneonce
