#include "search/finalist_checks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "base/span.h"
#include "definition/fill_bytes.h"
#include "launch/assumption.h"
#include "launch/requirement_check.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Data are weak if less than this share of a tensor's elements is finite and not zero.
constexpr std::uint64_t kLeastShare = 8;

/// So few generated elements may all have the same sign.
constexpr std::int64_t kFewElements = 16;

/// True if what the tensor holds might hide an error: the sign of a value, or which element it is. `is_repeated`: runs
/// at other dims have more elements, which repeat these.
bool IsWeak(const ArrayFacts& facts, bool is_real, bool is_repeated) {
  const std::uint64_t num_telling = facts.num_negative + facts.num_positive;
  if (facts.count == 0) return false;
  if (!is_real) return facts.count > 1 && facts.is_constant;
  if (num_telling * kLeastShare < facts.count) return true;
  if (facts.count == 1) return is_repeated;
  return facts.is_constant || facts.num_negative == 0 || facts.num_positive == 0;
}

/// True if flags that are flipped together may be taken for each other.
bool HasSeveralFlags(const KernelDefinition& definition) {
  const std::vector<std::size_t> scalars = ChangeableScalars(definition);
  return std::count_if(scalars.begin(), scalars.end(), [&](std::size_t scalar) {
           return definition.parameters()[scalar].dtype == DType::kBool;
         }) > 1;
}

/// The candidate as it is launched for `call`; empty where another config or variant would be. Calls functions of the
/// definition. Errors: theirs.
Result<std::optional<Candidate>> At(const Candidate& candidate, const BoundCall& call) {
  const KernelDefinition& definition = *candidate.definition;
  TUNEONCE_ASSIGN_OR_RETURN(AssumptionChecks assumptions, AssumptionsOf(candidate));
  if (!assumptions.Verify(call).ok()) return std::optional<Candidate>();
  if (!CheckRequirementGuards(*candidate.variant, candidate.config, call.problem).ok()) {
    return std::optional<Candidate>();
  }
  if (!definition.space().CheckGuards(candidate.config, call.problem).ok()) return std::optional<Candidate>();
  Candidate there = candidate;
  there.call = call;
  if (candidate.is_callable()) return std::optional<Candidate>(std::move(there));
  TUNEONCE_ASSIGN_OR_RETURN(there.geometry, CallUser("the geometry function", [&] {
                              return candidate.variant->geometry(candidate.config, call.problem);
                            }));
  return std::optional<Candidate>(std::move(there));
}

}  // namespace

FinalistChecks::FinalistChecks(VerificationScope scope, TrialPlace& place, StreamView stream, TrialMemory& memory,
                               const SearchOptions& options, Mutex& measuring_lock)
    : scope_(std::move(scope)),
      place_(place),
      stream_(stream),
      memory_(memory),
      fills_(*scope_.definition, stream, memory),
      options_(options),
      measuring_lock_(measuring_lock) {}

Result<bool> FinalistChecks::IsDataWeak() {
  if (scope_.is_on_fills) return false;
  ArrayComparer comparer(stream_);
  const std::vector<Parameter>& parameters = scope_.definition->parameters();
  const std::vector<Dim> undecided = scope_.definition->DimsUndecidedByKey();
  bool is_weak = false;
  for (const ReachedTensor& reached : ReachedTensorsOf(parameters, *scope_.launched)) {
    const Parameter& parameter = parameters[reached.parameter];
    if (parameter.access == Access::kOut || !reached.tensor->HasElements()) continue;
    if (reached.tensor->dtype == DType::kAny) continue;
    Result<ArrayLayout> layout = ArrayLayout::Of(*reached.tensor);
    if (!layout.ok()) continue;
    TUNEONCE_ASSIGN_OR_RETURN(ArrayFacts facts,
                              comparer.Describe(reinterpret_cast<CUdeviceptr>(reached.tensor->data), *layout));
    const bool is_real = IsFloatingPoint(reached.tensor->dtype);
    const bool is_repeated = std::any_of(undecided.begin(), undecided.end(), [&](Dim dim) {
      const std::string& name = scope_.definition->dims()[static_cast<std::size_t>(dim.index)];
      return std::find(parameter.dims.begin(), parameter.dims.end(), name) != parameter.dims.end();
    });
    if (!IsWeak(facts, is_real, is_repeated)) continue;
    is_weak = true;
    if (!is_real && !parameter.warmup) can_generate_ = false;
  }
  return is_weak;
}

bool FinalistChecks::NeedsBothSigns() const {
  if (options_.verify != Verify::kAgainstBaseline) return false;
  const Dims& launched = scope_.launched->problem.dims;
  const bool has_other_dims =
      std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) { return !(run.variation.dims == launched); });
  if (has_other_dims) return false;
  std::int64_t most = 0;
  bool has_more = false;
  const std::vector<Parameter>& parameters = scope_.definition->parameters();
  for (const ReachedTensor& reached : ReachedTensorsOf(parameters, *scope_.launched)) {
    const Parameter& parameter = parameters[reached.parameter];
    if (parameter.access == Access::kOut) continue;
    if (parameter.dims.empty()) return false;  // Raw memory, which is not generated.
    std::int64_t count = 1;
    for (int d = 0; d < reached.tensor->rank; ++d) count *= reached.tensor->shape[static_cast<std::size_t>(d)];
    if (IsFloatingPoint(reached.tensor->dtype)) most = std::max(most, count);
    has_more = has_more || count > 1;
  }
  if (most == 1 && !has_more) return true;
  return most > 0 && most < kFewElements && (is_data_weak_ || scope_.is_on_fills);
}

Status FinalistChecks::Plan() {
  if (std::exchange(is_planned_, true)) return Status();
  if (options_.verify == Verify::kAgainstBaseline) {
    MutexLock lock(measuring_lock_);
    TUNEONCE_ASSIGN_OR_RETURN(is_data_weak_, IsDataWeak());
  }
  const Dims& launched = scope_.launched->problem.dims;
  auto add = [&](const Dims& dims) -> Run& {
    runs_.emplace_back();
    runs_.back().variation.dims = dims;
    runs_.back().variation.generates_data = is_data_weak_ || scope_.is_on_fills;
    return runs_.back();
  };
  if (!(launched == scope_.measured)) {
    runs_.emplace_back();
    runs_.back().variation.dims = launched;
    runs_.back().is_launch = true;
  }
  std::size_t first = runs_.size();
  for (const Dims& dims : scope_.dims) {
    // Runs on data that can show no error do not count.
    if (is_data_weak_ || (!(dims == launched) && !(dims == scope_.measured))) add(dims);
  }
  if (is_data_weak_ && runs_.size() == first) add(launched);
  if (NeedsBothSigns()) {
    add(launched).variation.generates_data = true;
    add(launched).variation.generates_data = true;
    runs_.back().variation.negates_data = true;
  }
  const std::size_t num_varied = runs_.size() - first;
  if (num_varied < 3) add(launched);
  // The first runs have one change each. A run that is made for its changes has all of them.
  auto run_for = [&](std::size_t change) -> CallVariation& {
    return num_varied < 3 ? runs_.back().variation : runs_[first + change].variation;
  };
  run_for(0).pads_strides = true;
  run_for(1).shifts_addresses = true;
  run_for(2).changes_scalars = true;
  return Status();
}

std::string FinalistChecks::LabelOf(const Run& run) const {
  return run.is_launch ? scope_.definition->DimsString(run.variation.dims) : run.variation.ToString(*scope_.definition);
}

Result<const Candidate*> FinalistChecks::ReferenceAt(const BoundCall& call,
                                                     const std::vector<const Candidate*>& candidates) const {
  const Candidate* const first = candidates.front();
  auto baseline_of = [&](const BoundCall& each) {
    return BaselineOf(scope_.definition, each, {first->config}, scope_.left_out);
  };
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> there, baseline_of(call));
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<Config> measured, baseline_of(first->call));
  const bool is_of_definition = measured && candidate_of_(*measured) == first;
  if (!there || !is_of_definition) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Candidate> first_there, At(*first, call));
    if (first_there) return first;
    if (!there) return static_cast<const Candidate*>(nullptr);
  }
  if (const Candidate* candidate = candidate_of_(*there)) {
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<Candidate> candidate_there, At(*candidate, call));
    if (candidate_there) return candidate;
  }
  return FailedPreconditionError("cannot verify the finalists at another shape: its baseline {" + there->ToString() +
                                 "} is not among the tried candidates");
}

FinalistChecks::RunResult FinalistChecks::RunOn(const BoundCall& call, bool is_launch,
                                                std::vector<const Candidate*> candidates, bool first_is_reference) {
  RunResult result;
  if (first_is_reference) {
    Result<AssumptionChecks> assumptions = AssumptionChecks::Create(*scope_.definition, *candidates.front()->variant);
    const Result<VariantSet> failed = AssumptionChecks::FailedAtoms(*scope_.definition, call);
    result.is_of_another_key =
        (assumptions.ok() && !assumptions->Verify(call).ok()) || (failed.ok() && !failed->IsWithin(scope_.left_out));
    if (result.is_of_another_key) return result;
    Result<const Candidate*> reference = ReferenceAt(call, candidates);
    if (!reference.ok()) {
      result.gap = reference.status().message();
      return result;
    }
    first_is_reference = *reference != nullptr;
    if (first_is_reference && *reference != candidates.front()) {
      // The baseline of the measured call serves no launch that has another one.
      candidates.front() = *reference;
      candidates.erase(std::remove(candidates.begin() + 1, candidates.end(), *reference), candidates.end());
    }
  }
  std::vector<Candidate> there;
  std::vector<const Candidate*> of, pointers;
  there.reserve(candidates.size());
  for (const Candidate* candidate : candidates) {
    Result<std::optional<Candidate>> moved = At(*candidate, call);
    if (!moved.ok()) {
      result.failures[candidate] =
          CandidateOutcome::Failed(candidate->config, OutcomeKind::kRun, moved.status().message());
      continue;
    }
    if (!*moved) {
      result.has_left_out = true;
      continue;
    }
    there.push_back(**std::move(moved));
    of.push_back(candidate);
    pointers.push_back(&there.back());
  }
  if (of.empty()) return result;
  VerifiedTogether verified = place_.runner().VerifyTogether(pointers, first_is_reference);
  result.fatal = verified.fatal;
  if (first_is_reference && verified.failures.front() && !is_launch) {
    result.gap = "the baseline failed: " + verified.failures.front()->message;
    return result;
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!verified.failures[i]) continue;
    if (verified.failures[i]->kind == OutcomeKind::kResources) {
      result.gap = verified.failures[i]->message;
    } else {
      result.failures[of[i]] = *std::move(verified.failures[i]);
    }
  }
  return result;
}

Result<FinalistChecks::RunResult> FinalistChecks::MakeVaried(const CallVariation& variation,
                                                             const std::vector<const Candidate*>& candidates,
                                                             bool first_is_reference) {
  Result<VariedCall> varied =
      VariedCall::Make(*scope_.definition, *scope_.launched, variation, stream_, memory_, fills_);
  if (varied.status().sticky()) return varied.status();
  RunResult result;
  if (!varied.ok()) {
    result.gap = varied.status().message();
    return result;
  }
  result = RunOn(varied->call(), /*is_launch=*/false, candidates, first_is_reference);
  // Work in the stream reads the call's memory.
  Status finished = stream_.Synchronize();
  if (finished.sticky()) return finished;
  return result;
}

Result<FinalistChecks::RunResult> FinalistChecks::Make(const Run& run, const std::vector<const Candidate*>& candidates,
                                                       bool first_is_reference) {
  Span span(&Runtime::OrDefault(options_.runtime)->trace(), "verify", "verify at " + LabelOf(run));
  MutexLock lock(measuring_lock_);
  RunResult result;
  if (run.is_launch) {
    result = RunOn(*scope_.launched, /*is_launch=*/true, candidates, first_is_reference);
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(result, MakeVaried(run.variation, candidates, first_is_reference));
    if (result.is_of_another_key && run.variation.pads_strides) {
      CallVariation dense = run.variation;
      dense.pads_strides = false;
      TUNEONCE_ASSIGN_OR_RETURN(result, MakeVaried(dense, candidates, first_is_reference));
    }
    const bool showed_less = result.is_of_another_key || result.has_left_out || !result.gap.empty();
    if (run.variation.changes_scalars && (showed_less || HasSeveralFlags(*scope_.definition))) {
      TUNEONCE_RETURN_IF_ERROR(ChangeOneByOne(run.variation, candidates, first_is_reference, &result));
    }
  }
  TUNEONCE_RETURN_IF_ERROR(result.fatal);
  return result;
}

Status FinalistChecks::ChangeOneByOne(CallVariation variation, const std::vector<const Candidate*>& candidates,
                                      bool first_is_reference, RunResult* result) {
  const std::vector<std::size_t> scalars = ChangeableScalars(*scope_.definition);
  if (scalars.size() < 2 || !result->failures.empty() || !result->fatal.ok()) return Status();
  if (result->is_of_another_key) variation.pads_strides = false;
  RunResult apart;
  apart.is_of_another_key = true;
  for (std::size_t scalar : scalars) {
    variation.only_scalar = scalar;
    TUNEONCE_ASSIGN_OR_RETURN(RunResult alone, MakeVaried(variation, candidates, first_is_reference));
    TUNEONCE_RETURN_IF_ERROR(alone.fatal);
    apart.failures.merge(alone.failures);
    apart.is_of_another_key &= alone.is_of_another_key;
    if (!alone.gap.empty()) {
      apart.gap = absl::StrCat("another '", scope_.definition->parameters()[scalar].name, "': ", alone.gap);
    }
  }
  if (result->is_of_another_key || !result->gap.empty()) {
    *result = std::move(apart);
  } else {  // All together showed something, so that a gap of one alone does not count.
    result->failures = std::move(apart.failures);
  }
  return Status();
}

Result<std::string> FinalistChecks::CauseOf(const Run& run, const Candidate* reference, const Candidate& candidate) {
  std::vector<CallVariation> single;
  CallVariation as_launched;
  as_launched.dims = scope_.launched->problem.dims;
  as_launched.generates_data = scope_.is_on_fills;
  auto add = [&](bool is_changed, auto change) {
    if (!is_changed) return;
    single.push_back(as_launched);
    change(single.back());
  };
  const CallVariation& all = run.variation;
  add(!(all.dims == as_launched.dims), [&](CallVariation& one) { one.dims = all.dims; });
  add(all.generates_data && !as_launched.generates_data, [](CallVariation& one) { one.generates_data = true; });
  add(all.negates_data, [](CallVariation& one) { one.generates_data = one.negates_data = true; });
  add(all.pads_strides, [](CallVariation& one) { one.pads_strides = true; });
  add(all.shifts_addresses, [](CallVariation& one) { one.shifts_addresses = true; });
  add(all.changes_scalars, [](CallVariation& one) { one.changes_scalars = true; });
  if (single.size() > 1) {
    std::vector<const Candidate*> both = {&candidate};
    if (reference != nullptr) both.insert(both.begin(), reference);
    for (const CallVariation& one : single) {
      Run alone;
      alone.variation = one;
      TUNEONCE_ASSIGN_OR_RETURN(RunResult result, Make(alone, both, reference != nullptr));
      if (result.failures.count(&candidate) > 0) return LabelOf(alone);
    }
  }
  return LabelOf(run);
}

Result<FinalistChecks::Failures> FinalistChecks::Check(const std::vector<const Candidate*>& finalists,
                                                       bool first_is_reference,
                                                       const std::vector<const Candidate*>& others,
                                                       const CandidateOf& candidate_of,
                                                       const std::function<bool()>& is_over) {
  TUNEONCE_RETURN_IF_ERROR(Plan());
  gaps_.clear();
  classes_.clear();
  has_generated_data_ = scope_.is_on_fills;
  candidate_of_ = candidate_of;
  // A run on data that cannot show an error counts only where other data cannot be made.
  const bool counts_as_given = !is_data_weak_ || !can_generate_;
  if (counts_as_given) NoteClasses(scope_.measured);
  const Candidate* reference = first_is_reference ? finalists.front() : nullptr;
  Failures failures;
  for (const Run& run : runs_) {
    const std::string label = LabelOf(run);
    if (&run != &runs_.front() && is_over()) {
      gaps_.push_back(label + ": the search's time had ended");
      continue;
    }
    TUNEONCE_ASSIGN_OR_RETURN(RunResult result, Make(run, finalists, first_is_reference));
    if (!result.failures.empty() && !others.empty() &&
        (reference == nullptr || result.failures.count(reference) == 0)) {
      std::vector<const Candidate*> all = others;
      if (reference != nullptr) all.insert(all.begin(), reference);
      TUNEONCE_ASSIGN_OR_RETURN(RunResult of_others, Make(run, all, first_is_reference));
      result.failures.merge(of_others.failures);
    }
    if (!result.failures.empty()) {
      std::string cause;
      for (auto& [candidate, failure] : result.failures) {
        if (cause.empty() && candidate != reference) {
          TUNEONCE_ASSIGN_OR_RETURN(cause, CauseOf(run, reference, *candidate));
        }
        failure.message = absl::StrCat(std::string(OutcomeName(failure.kind)), " at ", cause.empty() ? label : cause,
                                       ": ", failure.message);
        failures.emplace(candidate, std::move(failure));
      }
      return failures;  // The others race again, and are verified after that.
    }
    if (result.is_of_another_key) continue;
    if (!result.gap.empty()) {
      gaps_.push_back(label + ": " + result.gap);
      continue;
    }
    if (counts_as_given || run.variation.generates_data) NoteClasses(run.variation.dims);
    has_generated_data_ |= run.variation.generates_data;
  }
  return failures;
}

void FinalistChecks::NoteClasses(const Dims& dims) {
  if (!scope_.classes) return;
  for (Dim dim : scope_.definition->DimsUndecidedByKey()) {
    std::vector<std::uint64_t>& classes = classes_[scope_.definition->dims()[static_cast<std::size_t>(dim.index)]];
    for (const std::uint64_t added :
         {std::uint64_t{scope_.classes->ClassOf(dims[dim])}, ExtentClasses::ReachOf(dims[dim])}) {
      const auto place = std::lower_bound(classes.begin(), classes.end(), added);
      if (place == classes.end() || *place != added) classes.insert(place, added);
    }
  }
}

Verification FinalistChecks::Verified(bool has_reference) const {
  Verification verified = DemandedVerification(*scope_.definition, scope_.launched->problem, options_);
  if (!has_reference) verified.level = Verification::Level::kMemory;
  verified.is_data_sufficient =
      !is_data_weak_ || (can_generate_ && has_generated_data_) || verified.level != Verification::Level::kReference;
  verified.has_generated_data = has_generated_data_;
  for (const auto& [dim, classes] : classes_) verified.extents.push_back({dim, classes});
  verified.gaps = gaps_;
  return verified;
}

Verification DemandedVerification(const KernelDefinition& definition, const Problem& problem,
                                  const SearchOptions& options) {
  Verification demanded;
  const bool has_reference = !options.reference.empty() || definition.space().BaselineOn(*problem.target).has_value();
  const bool compares = options.verify == Verify::kAgainstBaseline && has_reference;
  demanded.level = compares ? Verification::Level::kReference : Verification::Level::kMemory;
  if (!compares) return demanded;
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.kind != ParameterKind::kTensor || parameter.access == Access::kIn) continue;
    const Tolerance within = definition.ToleranceOf(parameter, problem.dtypes[i]);
    demanded.outputs.push_back({within.absolute, within.relative, within.ulps, parameter.may_be_partial});
  }
  return demanded;
}

}  // namespace v0
}  // namespace tuneonce
