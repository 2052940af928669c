#include "inspect/classified_bundle.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/callback.h"
#include "base/short_list.h"
#include "compile/tile_front_end.h"
#include "definition/family.h"
#include "definition/fill_bytes.h"
#include "definition/scalar_value.h"
#include "inspect/classification.h"
#include "launch/code_assumptions.h"
#include "measure/roofline.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Options = ClassifiedBundle::Options;
using OfVariant = ClassifiedBundle::OfVariant;

/// What a definition's functions are asked with: a problem of these dims, and whole scalars by the example. It owns
/// what the problem points at, and stays where it is.
class ExampleProblem {
 public:
  ExampleProblem(const KernelDefinition& definition, const Bundle::Example& example, const Target& target)
      : target_(target) {
    problem_.dims = Dims(static_cast<int>(definition.dims().size()));
    problem_.target = &target_;
    problem_.dtypes.fill(DType::kAny);
    problem_.values.fill(nullptr);
    const std::vector<Parameter>& parameters = definition.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& parameter = parameters[i];
      problem_.dtypes[i] = DTypeUnlessSaid(definition, i);
      if (auto shown = example.dtypes.find(parameter.name); shown != example.dtypes.end()) {
        problem_.dtypes[i] = shown->second;
      }
      auto scalar = example.scalars.find(parameter.name);
      if (parameter.kind != ParameterKind::kScalar || scalar == example.scalars.end() || !IsWhole(parameter.dtype))
        continue;
      scalars_[i] = static_cast<std::int64_t>(scalar->second);  // Little endian: the low bytes are any narrower type.
      problem_.values[i] = &scalars_[i];
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].same_dtype_as.empty()) continue;
      problem_.dtypes[i] = problem_.dtypes[*definition.FindParameter(parameters[i].same_dtype_as)];
    }
  }
  ExampleProblem(const ExampleProblem&) = delete;
  ExampleProblem& operator=(const ExampleProblem&) = delete;

  Problem& get() { return problem_; }

 private:
  const Target target_;
  Problem problem_;
  std::array<std::int64_t, kMaxParameters> scalars_ = {};
};

Result<Target> TargetOf(const KernelDefinition& definition, const Options& options) {
  if (options.target) return *options.target;
  TUNEONCE_ASSIGN_OR_RETURN(Target first, Target::Named("sm_90"));
  std::vector<Target> targets = KnownTargets();
  targets.insert(targets.begin(), first);
  for (const Target& target : targets) {
    if (!target.is_cpu_device && definition.VariantsFor(target).ok()) return target;
  }
  return UnimplementedError(
      absl::StrCat(definition.name(), ": no variant runs on a known GPU: name a GPU with --target"));
}

Result<KernelEvidence> EvidenceOf(const KernelSource& source) {
  if (source.withheld != nullptr) return UnimplementedError("the bundle was compiled without its sources");
  switch (source.kind) {
    case SourceKind::kTileIr:
      return TileIrEvidence(source.content, source.symbol);
    case SourceKind::kPtx:
      return PtxEvidence(source.content, source.symbol);
    case SourceKind::kCubin:
      return UnimplementedError("machine code cannot be analyzed: export PTX instead");
    case SourceKind::kCudaCpp:
      return UnimplementedError("CUDA C++ cannot be analyzed");
    case SourceKind::kCpuCpp:
      return UnimplementedError("C++ for the CPU device cannot be analyzed");
    case SourceKind::kTileCpp:
      return UnimplementedError("CUDA Tile C++ cannot be analyzed");
  }
  return UnimplementedError("sources of this kind cannot be analyzed");
}

/// The Tile IR that NVRTC makes of CUDA Tile C++; other sources as they are. Errors: those of the front end.
Result<KernelSource> ReadableSource(const KernelSource& source, const Target& target, const Options& options) {
  if (source.kind != SourceKind::kTileCpp || source.withheld != nullptr || options.runtime == nullptr) return source;
  return LowerToTileIr(source, target, options.runtime->environment());
}

/// Adds up what the sources of one variant say.
class VariantClassifier {
 public:
  VariantClassifier(const Variant& variant, SourceKind kind) {
    result_.name = variant.name;
    result_.kind = kind;
  }

  void Add(const Result<KernelEvidence>& evidence) {
    if (!evidence.ok()) {
      if (result_.no_evidence.empty()) result_.no_evidence = evidence.status().message();
      return;
    }
    Classification each = Classify(*evidence);
    if (++result_.num_sources == 1) result_.largest = *evidence;
    KernelEvidence& largest = result_.largest;
    largest.tile_m = std::max(largest.tile_m, evidence->tile_m);
    largest.tile_n = std::max(largest.tile_n, evidence->tile_n);
    largest.tile_k = std::max(largest.tile_k, evidence->tile_k);
    largest.tile_elements = std::max(largest.tile_elements, evidence->tile_elements);
    largest.num_in_place = std::max(largest.num_in_place, evidence->num_in_place);
    AddWarnings(*evidence);
    if (each.family == nullptr) ++result_.num_of_no_family;
    if (each.family != nullptr) families_.insert(each.family->name);
    // The first that has a family speaks for all; until one comes, the first.
    if (result_.num_sources == 1 || (result_.classification.family == nullptr && each.family != nullptr)) {
      result_.classification = std::move(each);
    }
  }

  /// What one source is warned of its variant is.
  void AddWarnings(const KernelEvidence& evidence) {
    KernelEvidence& all = result_.largest;
    all.num_products_in_plain_loops = std::max(all.num_products_in_plain_loops, evidence.num_products_in_plain_loops);
    all.aligned_tensors.insert(evidence.aligned_tensors.begin(), evidence.aligned_tensors.end());
    all.unaligned_tensors.insert(evidence.unaligned_tensors.begin(), evidence.unaligned_tensors.end());
    all.unordered_tensors.insert(evidence.unordered_tensors.begin(), evidence.unordered_tensors.end());
    all.has_unordered_signal |= evidence.has_unordered_signal;
    all.waits_for_blocks |= evidence.waits_for_blocks;
  }

  OfVariant Take() {
    if (result_.num_sources > 0) result_.no_evidence.clear();
    if (families_.size() > 1) {
      result_.classification = {
          nullptr, {absl::StrCat("its configs belong to several families: ", absl::StrJoin(families_, ", "))}};
    }
    return std::move(result_);
  }

 private:
  OfVariant result_;
  std::set<std::string> families_;
};

/// The configs of a variant, of which CUDA Tile C++ is asked for one.
class VariantReader {
 public:
  VariantReader(const KernelDefinition& definition, const Variant& variant, const Problem& problem,
                const Options& options)
      : definition_(definition), variant_(variant), problem_(problem), options_(options) {}

  Result<OfVariant> Read(const std::vector<Config>& configs) {
    auto given = options_.ptx.find(variant_.name);
    for (const Config& config : configs) {
      if (!variant_.IsBackendOf(config)) continue;
      TUNEONCE_ASSIGN_OR_RETURN(KernelSource source, CallUser("variant '" + variant_.name + "'",
                                                              [&] { return variant_.MakeSource(config, problem_); }));
      if (!classifier_) classifier_.emplace(variant_, source.kind);
      if (given == options_.ptx.end()) Add(source);
    }
    if (!classifier_) classifier_.emplace(variant_, SourceKind::kTileIr);
    if (given != options_.ptx.end()) {
      for (const std::string& text : given->second) classifier_->Add(PtxEvidence(text, ""));
    }
    OfVariant of_variant = classifier_->Take();
    of_variant.assumptions = std::move(assumptions_);
    return of_variant;
  }

 private:
  void Add(const KernelSource& source) {
    if (!source.Check().ok()) return classifier_->Add(source.Check());
    if (source.kind == SourceKind::kTileCpp && !read_.empty()) return;
    if (!read_.insert(source.Fingerprint()).second) return;
    Result<KernelSource> readable = ReadableSource(source, *problem_.target, options_);
    if (!readable.ok()) return classifier_->Add(readable.status());
    classifier_->Add(EvidenceOf(*readable));
    AddAssumptions(AssumptionsInCode(*readable));
  }

  void AddAssumptions(const std::vector<CodeAssumption>& of_code) {
    Result<ParameterLayout> layout = ParameterLayout::Create(definition_, variant_.convention, variant_.parameters);
    if (!layout.ok()) return;  // A launch returns the error.
    for (std::string& words : AssumptionTexts(definition_, *layout, of_code)) {
      if (std::find(assumptions_.begin(), assumptions_.end(), words) == assumptions_.end()) {
        assumptions_.push_back(std::move(words));
      }
    }
  }

  const KernelDefinition& definition_;
  const Variant& variant_;
  const Problem& problem_;
  const Options& options_;
  std::optional<VariantClassifier> classifier_;
  std::set<Fingerprint> read_;
  std::vector<std::string> assumptions_;
};

/// One family, where all variants that say one say the same.
Classification WholeOf(const std::vector<OfVariant>& variants) {
  Classification whole;
  for (const OfVariant& variant : variants) {
    if (variant.num_sources == 0) continue;
    const Classification& each = variant.classification;
    if (each.family != nullptr && whole.family != nullptr && each.family != whole.family) {
      return {nullptr,
              {absl::StrCat("the variants belong to several families: ", whole.family->name, ", and ",
                            each.family->name, " ('", variant.name, "')")}};
    }
    if (whole.reasons.empty() || (whole.family == nullptr && each.family != nullptr)) whole = each;
  }
  if (whole.reasons.empty())
    whole.reasons.push_back(
        "no variant's code could be analyzed: see each variant's `no_evidence` (empty: it builds no config)");
  return whole;
}

void Recommend(const std::vector<Config>& configs, ClassifiedBundle* bundle) {
  const Family* family = bundle->classification.family;
  if (family == nullptr) return;
  if (HasStructuralSelection(configs)) {
    bundle->recommended = family->name;
    bundle->why_recommended = "the space of its family";
  } else {
    bundle->recommended = "occupancy_only";
    bundle->why_recommended =
        absl::StrCat("no axis changes its code; if its tiles were axes, ", family->name, " would be recommended");
  }
}

/// The work of one run at the example's shape, or the caller's.
Status AddIntensity(const KernelDefinition& definition, const Bundle::Example& example, const Options& options,
                    Problem* problem, ClassifiedBundle* bundle) {
  std::map<std::string, std::int64_t> dims = example.dims;
  for (const auto& [name, extent] : options.dims) {
    const std::vector<std::string>& known = definition.dims();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return InvalidArgumentError(
          absl::StrCat("the bundle has no dim '", name, "'; its dims are: ", ShortList(known, name)));
    }
    if (extent < 1)
      return InvalidArgumentError(absl::StrCat("the extent of ", name, " is ", extent, ", but must be at least 1"));
    dims[name] = extent;
  }
  for (const std::string& name : definition.dims()) {
    if (dims.count(name) == 0) return Status();  // No shape is known.
    problem->dims[definition.DimOf(name)] = dims[name];
  }
  bundle->shape = definition.DimsString(problem->dims);
  TUNEONCE_ASSIGN_OR_RETURN(double bytes, CallUser("work", [&] { return definition.WorkBytes(*problem); }));
  TUNEONCE_ASSIGN_OR_RETURN(double operations, CallUser("work", [&] { return definition.WorkOperations(*problem); }));
  if (!(bytes > 0 && operations > 0)) return Status();  // Nor for NaN.
  bundle->intensity = operations / bytes;
  bundle->bound = BoundOf(*bundle->intensity);
  return Status();
}

}  // namespace

Result<ClassifiedBundle> ClassifiedBundle::Of(const Bundle& bundle, const Options& options) {
  KernelDefinition definition = bundle.definition();
  TUNEONCE_RETURN_IF_ERROR(definition.Validate());
  ClassifiedBundle result;
  result.kernel = definition.name();
  TUNEONCE_ASSIGN_OR_RETURN(result.target, TargetOf(definition, options));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition.VariantsFor(result.target));
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition.space().Enumerate(result.target));
  ExampleProblem problem(definition, bundle.example(), result.target);
  for (const Variant* variant : variants) {
    VariantReader reader(definition, *variant, problem.get(), options);
    TUNEONCE_ASSIGN_OR_RETURN(OfVariant each, reader.Read(configs));
    result.variants.push_back(std::move(each));
  }
  result.classification = WholeOf(result.variants);
  Recommend(configs, &result);
  TUNEONCE_RETURN_IF_ERROR(AddIntensity(definition, bundle.example(), options, &problem.get(), &result));
  result.departures = SpaceDepartures(definition, configs, result);
  result.warnings = CodeWarnings(definition, result.variants, result.target);
  return result;
}

}  // namespace v0
}  // namespace tuneonce
