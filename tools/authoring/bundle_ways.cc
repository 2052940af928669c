#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "authoring/bundle_folder.h"
#include "base/callback.h"
#include "definition/fill_bytes.h"
#include "definition/precompiled_code.h"
#include "store/kernel_fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using DTypes = std::map<std::string, std::vector<DType>>;

Result<DTypes> ParseDTypes(const KernelDefinition& definition, const std::vector<std::string>& settings) {
  DTypes dtypes;
  for (const std::string& setting : settings) {
    std::size_t equals = setting.find('=');
    std::string name = setting.substr(0, equals);
    std::optional<std::size_t> index = definition.FindParameter(name);
    bool is_open = index && definition.parameters()[*index].kind == ParameterKind::kTensor &&
                   definition.parameters()[*index].dtype == DType::kAny &&
                   definition.parameters()[*index].same_dtype_as.empty();
    if (!is_open)
      return InvalidArgumentError("--dtype " + setting + ": the bundle has no tensor '" + name +
                                  "' whose dtype is left open");
    std::optional<DType> dtype = DTypeNamed(equals == std::string::npos ? "" : setting.substr(equals + 1));
    if (!dtype) return InvalidArgumentError("--dtype " + setting + ": write NAME=DTYPE, like x=float16");
    dtypes[name].push_back(*dtype);
  }
  return dtypes;
}

Result<KernelSource> SourceOf(const Variant& variant, const Config& config, const Problem& problem) {
  TUNEONCE_ASSIGN_OR_RETURN(KernelSource source, CallUser("variant '" + variant.name + "'",
                                                          [&] { return variant.MakeSource(config, problem); }));
  TUNEONCE_RETURN_IF_ERROR(source.Check().WithPrefix("variant '" + variant.name + "'"));
  return source;
}

}  // namespace

Result<std::vector<Problem>> ProblemsOf(const KernelDefinition& definition, const Bundle::Example& example,
                                        const std::vector<std::string>& settings) {
  TUNEONCE_ASSIGN_OR_RETURN(DTypes given, ParseDTypes(definition, settings));
  Problem problem;
  problem.dims = Dims(static_cast<int>(definition.dims().size()));
  problem.dtypes.fill(DType::kAny);
  problem.values.fill(nullptr);
  std::vector<Problem> problems = {problem};
  const std::vector<Parameter>& parameters = definition.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind != ParameterKind::kTensor || !parameters[i].same_dtype_as.empty()) continue;
    std::vector<DType> dtypes = DTypesAssumed(definition, i);
    if (dtypes.empty()) dtypes = {parameters[i].dtype};
    if (auto it = given.find(parameters[i].name); it != given.end()) {
      dtypes = it->second;
    } else if (auto shown = example.dtypes.find(parameters[i].name);
               dtypes.front() == DType::kAny && shown != example.dtypes.end()) {
      dtypes = {shown->second};
    }
    std::vector<Problem> with;
    for (Problem each : problems) {
      for (DType dtype : dtypes) {
        each.dtypes[i] = dtype;
        with.push_back(each);
      }
    }
    problems = std::move(with);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind != ParameterKind::kTensor || parameters[i].same_dtype_as.empty()) continue;
    std::size_t other = *definition.FindParameter(parameters[i].same_dtype_as);
    for (Problem& each : problems) each.dtypes[i] = each.dtypes[other];
  }
  return problems;
}

Result<BundleWays> WaysOn(const KernelDefinition& definition, const Target& target, std::vector<Problem> problems) {
  BundleWays all;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<const Variant*> variants, definition.VariantsFor(target));
  TUNEONCE_ASSIGN_OR_RETURN(all.configs, definition.space().Enumerate(target));
  TUNEONCE_ASSIGN_OR_RETURN(ConfigSet set, definition.space().Configs(target));
  if (set.size() > SearchSpace::kMostConfigs) {
    return InvalidArgumentError(absl::StrCat("the search space has ", set.size(), " configs; at most ",
                                             SearchSpace::kMostConfigs,
                                             " can be compiled ahead of time: narrow the axes, "
                                             "add conditions or list configs"));
  }
  SourceTexts texts;
  for (Problem& problem : problems) {
    problem.target = &target;
    TUNEONCE_ASSIGN_OR_RETURN(Fingerprint kernel, KernelFingerprint(definition, problem));
    all.kernels.push_back(kernel);
    for (const Variant* variant : variants) {
      if (!IsForDTypes(definition, *variant, problem)) continue;
      for (const Config& config : all.configs) {
        if (!variant->IsBackendOf(config)) continue;
        BundleWay way;
        way.variant = variant;
        way.config = config;
        TUNEONCE_ASSIGN_OR_RETURN(KernelSource source, SourceOf(*variant, config, problem));
        TUNEONCE_ASSIGN_OR_RETURN(way.hints, CallUser("variant '" + variant->name + "'", [&] {
                                    return variant->hints ? variant->hints(config) : Hints::OfConfig(config);
                                  }));
        way.key = PrecompiledKey(source, way.hints, target);
        way.source = SharedSource(std::move(source), &texts);
        all.ways.push_back(std::move(way));
      }
    }
  }
  return all;
}

}  // namespace v0
}  // namespace tuneonce
