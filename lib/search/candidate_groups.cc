#include "search/candidate_groups.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launch/source_parameters.h"
#include "measure/statistics.h"
#include "search/candidate.h"
#include "shared/log.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string WhyPassedOver(const std::vector<PassedOver>& passed_over) {
  return absl::StrJoin(passed_over, "; ", [](std::string* out, const PassedOver& each) {
    absl::StrAppend(out, "variant '", each.variant, "': ", each.reason);
  });
}

}  // namespace

void CandidateGroups::Begin(ConfigPlanner planner, std::vector<Dims> dims) {
  planner_ = std::move(planner);
  dims_ = std::move(dims);
}

std::vector<CompileJob> CandidateGroups::JobsToCompile(const std::vector<std::size_t>& batch,
                                                       std::chrono::steady_clock::time_point deadline,
                                                       std::vector<std::size_t>* index_of) {
  std::vector<CompileJob> jobs;
  bool has_baseline = false;
  for (std::size_t index : batch) {
    const PlannedConfig& planned = planner_.at(index);
    if (planned.alternatives.empty()) {
      Fail(index, planned.failure, WhyPassedOver(planned.passed_over));
      continue;
    }
    if (!planned.needs_compiling()) {
      Take(index, 0);
      continue;
    }
    jobs.push_back(CompileJobOf(planned));
    RefuseUnsuitableCode(planned, &jobs.back());
    index_of->push_back(index);
    // The others are checked against the baseline, also where the time for compiling ends early.
    const bool is_needed = IsBaseline(planned.config);
    has_baseline |= is_needed;
    jobs.back().deadline = is_needed ? std::chrono::steady_clock::time_point::max() : deadline;
  }
  // Candidates that need no compiling can be measured.
  if (!baseline_ && !has_baseline && !jobs.empty() && groups_.empty()) {
    jobs.front().deadline = std::chrono::steady_clock::time_point::max();
  }
  return jobs;
}

void CandidateGroups::Take(CompiledJob compiled, std::size_t index) {
  PlannedConfig& planned = planner_.at(index);
  SayAt(runtime_, LogLevel::kDebug, [&] {
    std::string config = absl::StrCat(kernel_, " {", planned.config.ToString(), "}: ");
    if (!compiled.artifact.ok()) return absl::StrCat(config, "not compiled: ", compiled.artifact.status().message());
    return compiled.from_cache ? config + "found in the store"
                               : absl::StrCat(config, "compiled in ", compiled.artifact->seconds, " s");
  });
  // Whether any way to build it failed for a transient reason.
  bool is_transient = IsTransient(compiled.artifact.status().code());
  for (std::size_t i = 0; i < compiled.passed_over.size(); ++i) {
    planned.passed_over.push_back(
        PassedOver{planned.alternatives[i].variant_name(), compiled.passed_over[i].message()});
    is_transient |= IsTransient(compiled.passed_over[i].code());
  }
  Candidate& candidate = planned.alternatives[compiled.alternative];
  if (compiled.was_cut_short) {
    not_measured_.insert(index);
    return;
  }
  if (!compiled.artifact.ok()) {
    const std::string& message = compiled.artifact.status().message();
    bool has_others = !planned.passed_over.empty() || planned.ends_with_callable();
    if (has_others) planned.passed_over.push_back(PassedOver{candidate.variant_name(), message});
    if (planned.ends_with_callable()) return Take(index, planned.alternatives.size() - 1);
    Fail(index, OutcomeKind::kCompile, has_others ? WhyPassedOver(planned.passed_over) : message, is_transient);
    return;
  }
  candidate.artifact = *std::move(compiled.artifact);
  WarnOfNames(candidate);
  if (!compiled.from_cache) {
    ++num_compiled_;
    compile_seconds_ += candidate.artifact.seconds;
  }
  Take(index, compiled.alternative);
}

void CandidateGroups::WarnOfNames(const Candidate& candidate) {
  Result<ParameterLayout> layout = LayoutOf(candidate);
  if (!layout.ok()) return;  // Loading states it.
  Status names = CompareNamesInCpp(*layout, candidate.source.Whole());
  if (names.ok()) return;
  const std::string warning = names.message() + "; check the declared parameters";
  if (std::find(notes_.begin(), notes_.end(), warning) != notes_.end()) return;
  notes_.push_back(warning);
  runtime_.Log(LogLevel::kWarn, warning);
}

void CandidateGroups::Take(std::size_t index, std::size_t alternative) {
  PlannedConfig& planned = planner_.at(index);
  Candidate& candidate = planned.alternatives[alternative];
  built_by_[index] = candidate.variant_name();
  for (CandidateGroup& group : groups_) {
    if (!LaunchesAlike(candidate, group.candidate, dims_)) continue;
    group.members.push_back(index);
    std::sort(group.members.begin(), group.members.end());
    return;
  }
  groups_.emplace_back();
  groups_.back().candidate = std::move(candidate);
  groups_.back().members = {index};
}

void CandidateGroups::Fail(std::size_t index, OutcomeKind kind, std::string message, bool is_transient) {
  failures_.emplace(index, CandidateOutcome::Failed(config(index), kind, std::move(message), is_transient));
}

void CandidateGroups::SortByPlace() {
  groups_.sort([](const CandidateGroup& a, const CandidateGroup& b) { return a.members.front() < b.members.front(); });
}

void CandidateGroups::LeaveOutUnprepared() {
  auto is_left_out = [](const CandidateGroup& group) { return !group.prepared || group.prepared->is_not_tried; };
  for (const CandidateGroup& group : groups_) {
    if (!is_left_out(group)) continue;
    not_measured_.insert(group.members.begin(), group.members.end());
    if (group.prepared) why_not_tried_ = group.prepared->failure->message;
  }
  groups_.remove_if(is_left_out);
}

bool CandidateGroups::HasBaseline(const CandidateGroup& group) const {
  return std::any_of(group.members.begin(), group.members.end(),
                     [&](std::size_t member) { return IsBaseline(config(member)); });
}

std::size_t CandidateGroups::Representative(const CandidateGroup& group) const {
  for (std::size_t member : group.members) {
    if (IsBaseline(config(member))) return member;
  }
  return group.members.front();
}

CandidateOutcome CandidateGroups::OutcomeOf(const CandidateGroup& group) const {
  const std::size_t representative = Representative(group);
  CandidateOutcome outcome;
  outcome.config = config(representative);
  outcome.kind = OutcomeKind::kMeasured;
  outcome.variant = group.candidate.variant_name();
  outcome.passed_over = planner_.at(representative).passed_over;
  const bool has_raced = !group.samples_us.empty();
  outcome.measurement = SummarizeStoppedEarly(has_raced ? group.samples_us : group.trial_us);
  outcome.geometry = group.candidate.geometry;
  outcome.resources = group.candidate.artifact.resources;
  outcome.artifact = group.candidate.artifact.key;
  Candidate represented = group.candidate;
  represented.config = outcome.config;
  outcome.identity = CandidateIdentity(represented);
  outcome.toolchain = group.candidate.artifact.toolchain;
  outcome.remarks = group.candidate.artifact.remarks;
  outcome.ties_with_fastest = has_raced && group.ties;
  outcome.largest_difference = group.prepared->largest_difference;
  outcome.energy_mj = group.energy_mj;
  return outcome;
}

void CandidateGroups::AddOutcome(std::size_t index, CandidateOutcome outcome, TuningRecord* record) const {
  outcome.config = config(index);
  if (auto built = built_by_.find(index); built != built_by_.end()) {
    outcome.variant = built->second;
    outcome.passed_over = planner_.at(index).passed_over;
  }
  record->candidates.push_back(std::move(outcome));
}

CandidateGroups::Trial CandidateGroups::TrialOf(std::size_t index) const {
  Trial trial;
  if (auto failed = failures_.find(index); failed != failures_.end()) {
    trial.kind = failed->second.kind;
    trial.failure = failed->second.message;
    return trial;
  }
  for (const CandidateGroup& group : groups_) {
    if (!group.prepared || std::find(group.members.begin(), group.members.end(), index) == group.members.end()) {
      continue;
    }
    const std::optional<CandidateOutcome>& failure = group.prepared->failure;
    trial.kind = failure ? failure->kind : OutcomeKind::kMeasured;
    trial.failure = failure ? failure->message : "";
    trial.time_us = group.prepared->warmup_us;
    for (double sample : group.trial_us) trial.time_us = std::min(trial.time_us, sample);
    trial.compile_ms = group.candidate.artifact.seconds * 1000;
    return trial;
  }
  return trial;
}

void CandidateGroups::AddKept(OutcomeKind first, OutcomeKind last, TuningRecord* record) const {
  for (const auto& [index, outcome] : kept_) {
    if (outcome.kind < first || outcome.kind > last || WasTried(index)) continue;
    record->candidates.push_back(outcome);
    record->candidates.back().ties_with_fastest = false;
    if (EndsItsProcess(outcome.kind)) record->fatal.push_back({config(index), outcome.message});
  }
}

void CandidateGroups::Collect(bool lists_untried, TuningRecord* record) {
  std::map<std::size_t, CandidateOutcome> duplicates;
  for (CandidateGroup& group : groups_) {
    std::size_t representative = Representative(group);
    for (std::size_t member : group.members) {
      if (member == representative) continue;
      duplicates[member].kind = OutcomeKind::kDuplicate;
      duplicates[member].same_as = config(representative);
    }
    const bool is_timed = !group.samples_us.empty() || !group.trial_us.empty();
    if (group.prepared->failure) {
      const CandidateOutcome& failure = *group.prepared->failure;
      Fail(representative, failure.kind, failure.message, failure.is_transient);
    } else if (!is_timed || group.timing_failure) {
      const std::optional<CandidateOutcome>& failure = group.timing_failure;
      Fail(representative, failure ? failure->kind : OutcomeKind::kRun, failure ? failure->message : std::string());
    } else {
      record->candidates.push_back(OutcomeOf(group));
      continue;
    }
    failures_.at(representative).remarks = group.candidate.artifact.remarks;
  }
  AddKept(OutcomeKind::kMeasured, OutcomeKind::kMeasured, record);
  std::stable_sort(record->candidates.begin(), record->candidates.end(),
                   [](const CandidateOutcome& a, const CandidateOutcome& b) {
                     return a.measurement.mean_us < b.measurement.mean_us;
                   });
  for (auto& [index, failure] : failures_) {
    if (EndsItsProcess(failure.kind)) record->fatal.push_back({failure.config, failure.message});
    AddOutcome(index, failure, record);
  }
  AddKept(OutcomeKind::kCompile, OutcomeKind::kQuarantined, record);
  for (auto& [index, duplicate] : duplicates) AddOutcome(index, std::move(duplicate), record);
  AddKept(OutcomeKind::kDuplicate, OutcomeKind::kDuplicate, record);
  const std::size_t num_candidates = configs().size() - planner_.num_excluded();
  std::size_t num_tried = record->candidates.size();
  record->num_not_measured = static_cast<int>(num_candidates - num_tried);
  record->is_conclusive = record->is_conclusive && record->num_not_measured == 0;
  constexpr int kMostListed = 1000;  // Each takes about a kilobyte of memory, and of a result file.
  if (!lists_untried || record->num_not_measured > kMostListed) return;
  for (std::size_t index = 0; index < configs().size(); ++index) {
    if (WasTried(index) || planner_.IsExcluded(index) || kept_.count(index) > 0) continue;
    AddOutcome(index, CandidateOutcome(), record);
  }
}

}  // namespace v0
}  // namespace tuneonce
