// SearchEngine's compiling: from planned configs to groups of candidates with the same code.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/span.h"
#include "launch/source_parameters.h"
#include "search/candidate_identity.h"
#include "search/search_engine.h"
#include "shared/compile_pool.h"
#include "shared/log.h"
#include "tuneonce/search_options.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string WhyPassedOver(const std::vector<PassedOver>& passed_over) {
  return absl::StrJoin(passed_over, "; ", [](std::string* out, const PassedOver& each) {
    absl::StrAppend(out, "variant '", each.variant, "': ", each.reason);
  });
}

}  // namespace

std::vector<CompileJob> SearchEngine::JobsToCompile(std::vector<std::size_t>* index_of) {
  std::vector<CompileJob> jobs;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i].alternatives.empty()) {
      Fail(i, FailureKind::kCompile, WhyPassedOver(planned_[i].passed_over));
      continue;
    }
    if (!planned_[i].needs_compiling()) {
      Take(i, 0);
      continue;
    }
    jobs.push_back(CompileJobOf(planned_[i]));
    RefuseUnsuitableCode(planned_[i], &jobs.back());
    jobs.back().deadline = compiling_ends_;
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
  if (is_needed) first->deadline = Clock::time_point::max();
  return jobs;
}

CompileOptions SearchEngine::OptionsToCompile() const {
  CompileOptions compile = options_.compile;
  if (options_.cancelled != nullptr) compile.cancelled = options_.cancelled;
  if (options_.interrupted) compile.interrupted = options_.interrupted;
  if (compile.cache == nullptr) compile.cache = runtime_.memory_store();
  return compile;
}

Status SearchEngine::CompileAndPrepare() {
  std::vector<std::size_t> index_of;
  std::vector<CompileJob> jobs = JobsToCompile(&index_of);
  CompilePool pool(runtime_.compile_slots(), runtime_.toolchains(), target_, std::move(jobs), OptionsToCompile(),
                   CompilePool::Order::kByCost, &runtime_.trace());
  int done = 0;
  while (std::optional<CompiledJob> compiled = NextOf(pool)) {
    const std::size_t index = index_of[compiled->job];
    Take(*std::move(compiled), index);
    Report(SearchProgress::Stage::kCompile, ++done, planned_.size(), &planned_[index].config);
    TUNEONCE_RETURN_IF_ERROR(CheckCancelled());
    if (!target_.is_cpu_device) TUNEONCE_RETURN_IF_ERROR(PrepareGroups(/*all_compiled=*/false));
  }
  result_.cost.compile_wall_seconds = SecondsSince(stage_began_);
  if (target_.is_cpu_device) preparing_began_ = Clock::now();
  auto is_earlier = [](const Group& a, const Group& b) { return a.members.front() < b.members.front(); };
  groups_.sort(is_earlier);
  TUNEONCE_RETURN_IF_ERROR(PrepareGroups(/*all_compiled=*/true));
  LeaveOutUnprepared();
  return Status();
}

std::optional<CompiledJob> SearchEngine::NextOf(CompilePool& pool) const {
  Span span(&runtime_.trace(), "wait", "wait for a compile");
  return pool.Next();
}

void SearchEngine::Take(CompiledJob compiled, std::size_t index) {
  PlannedConfig& planned = planned_[index];
  SayAt(runtime_, LogLevel::kDebug, [&] {
    std::string config = absl::StrCat(result_.kernel, " {", planned.config.ToString(), "}: ");
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
    Fail(index, FailureKind::kCompile, has_others ? WhyPassedOver(planned.passed_over) : message, is_transient);
    return;
  }
  candidate.artifact = *std::move(compiled.artifact);
  WarnOfNames(candidate);
  if (!compiled.from_cache) {
    ++result_.cost.num_compiled;
    result_.cost.compile_seconds += candidate.artifact.seconds;
  }
  Take(index, compiled.alternative);
}

void SearchEngine::WarnOfNames(const Candidate& candidate) {
  Result<ParameterLayout> layout = LayoutOf(candidate);
  if (!layout.ok()) return;  // Loading states it.
  Status names = CompareNamesInCpp(*layout, candidate.source);
  if (names.ok()) return;
  const std::string warning = names.message() + "; check the declared parameters";
  if (std::find(result_.notes.begin(), result_.notes.end(), warning) != result_.notes.end()) return;
  result_.notes.push_back(warning);
  runtime_.Log(LogLevel::kWarn, warning);
}

void SearchEngine::Take(std::size_t index, std::size_t alternative) {
  PlannedConfig& planned = planned_[index];
  Candidate& candidate = planned.alternatives[alternative];
  for (const PassedOver& passed_over : planned.passed_over) {
    substitutions_[index].push_back(VariantSubstitution{planned.config, candidate.variant_name(), passed_over});
  }
  static const std::vector<Dims> kNone;
  for (Group& group : groups_) {
    if (!LaunchesAlike(candidate, group.candidate, checks_ != nullptr ? checks_->dims() : kNone)) continue;
    group.members.push_back(index);
    std::sort(group.members.begin(), group.members.end());
    return;
  }
  groups_.emplace_back();
  groups_.back().candidate = std::move(candidate);
  groups_.back().members = {index};
}

}  // namespace v0
}  // namespace tuneonce
