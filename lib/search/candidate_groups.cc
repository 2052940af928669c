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

void CandidateGroups::Plan(std::vector<PlannedConfig> planned, std::vector<Dims> dims) {
  planned_ = std::move(planned);
  dims_ = std::move(dims);
}

std::vector<CompileJob> CandidateGroups::JobsToCompile(std::chrono::steady_clock::time_point deadline,
                                                       std::vector<std::size_t>* index_of) {
  std::vector<CompileJob> jobs;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i].alternatives.empty()) {
      Fail(i, planned_[i].failure, WhyPassedOver(planned_[i].passed_over));
      continue;
    }
    if (!planned_[i].needs_compiling()) {
      Take(i, 0);
      continue;
    }
    jobs.push_back(CompileJobOf(planned_[i]));
    RefuseUnsuitableCode(planned_[i], &jobs.back());
    jobs.back().deadline = deadline;
    // The baseline first: the others are checked against it, also where the time for compiling ends early.
    if (IsBaseline(planned_[i].config)) jobs.back().cost = 0;
    index_of->push_back(i);
  }
  // Stable as the pool's order: this one is compiled first.
  auto first = std::min_element(jobs.begin(), jobs.end(),
                                [](const CompileJob& a, const CompileJob& b) { return a.cost < b.cost; });
  bool is_needed = first != jobs.end() && groups_.empty();  // Candidates that need no compiling can be measured.
  if (baseline_) {
    first = std::find_if(jobs.begin(), jobs.end(), [&](const CompileJob& job) {
      return IsBaseline(planned_[(*index_of)[static_cast<std::size_t>(&job - jobs.data())]].config);
    });
    is_needed = first != jobs.end();
  }
  if (is_needed) first->deadline = std::chrono::steady_clock::time_point::max();
  return jobs;
}

void CandidateGroups::Take(CompiledJob compiled, std::size_t index) {
  PlannedConfig& planned = planned_[index];
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
  PlannedConfig& planned = planned_[index];
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
  failures_.emplace(index, CandidateOutcome::Failed(planned_[index].config, kind, std::move(message), is_transient));
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
                     [&](std::size_t member) { return IsBaseline(planned_[member].config); });
}

std::size_t CandidateGroups::Representative(const CandidateGroup& group) const {
  for (std::size_t member : group.members) {
    if (IsBaseline(planned_[member].config)) return member;
  }
  return group.members.front();
}

CandidateOutcome CandidateGroups::OutcomeOf(const CandidateGroup& group) const {
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

void CandidateGroups::AddOutcome(std::size_t index, CandidateOutcome outcome, TuningRecord* record) const {
  outcome.config = planned_[index].config;
  if (auto built = built_by_.find(index); built != built_by_.end()) {
    outcome.variant = built->second;
    outcome.passed_over = planned_[index].passed_over;
  }
  record->candidates.push_back(std::move(outcome));
}

void CandidateGroups::Collect(TuningRecord* record) {
  std::map<std::size_t, CandidateOutcome> duplicates;
  for (CandidateGroup& group : groups_) {
    std::size_t representative = Representative(group);
    for (std::size_t member : group.members) {
      if (member == representative) continue;
      duplicates[member].kind = OutcomeKind::kDuplicate;
      duplicates[member].same_as = planned_[representative].config;
    }
    if (group.prepared->failure) {
      const CandidateOutcome& failure = *group.prepared->failure;
      Fail(representative, failure.kind, failure.message, failure.is_transient);
    } else if (group.samples_us.empty() || group.timing_failure) {
      const std::optional<CandidateOutcome>& failure = group.timing_failure;
      Fail(representative, failure ? failure->kind : OutcomeKind::kRun, failure ? failure->message : std::string());
    } else {
      record->candidates.push_back(OutcomeOf(group));
    }
  }
  std::stable_sort(record->candidates.begin(), record->candidates.end(),
                   [](const CandidateOutcome& a, const CandidateOutcome& b) {
                     return a.measurement.mean_us < b.measurement.mean_us;
                   });
  for (auto& [index, failure] : failures_) {
    if (EndsItsProcess(failure.kind)) record->fatal.push_back({failure.config, failure.message});
    AddOutcome(index, failure, record);
  }
  for (auto& [index, duplicate] : duplicates) AddOutcome(index, std::move(duplicate), record);
  for (std::size_t index : not_measured_) AddOutcome(index, CandidateOutcome(), record);
  record->num_not_measured = static_cast<int>(not_measured_.size());
  record->is_complete = not_measured_.empty();
  record->is_conclusive = record->is_conclusive && not_measured_.empty();
}

}  // namespace v0
}  // namespace tuneonce
