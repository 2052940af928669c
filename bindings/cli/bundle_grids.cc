#include <map>
#include <set>
#include <utility>

#include "base/callback.h"
#include "bundle_check.h"
#include "definition/fill_bytes.h"
#include "runtime/warmup_inputs.h"

namespace tuneonce::cli {
namespace {

/// Extents that are tried of each dim: more than most tiles have twice.
constexpr std::int64_t kMostExtent = 2048;
/// Where the bundle gives no example.
constexpr std::int64_t kSomeExtent = 1024;
/// So that persistent grids show the tiles that they walk over.
constexpr int kManySms = 1 << 20;

}  // namespace

GridChecks::GridChecks(const KernelDefinition& definition, const Bundle::Example& example, const Target& target,
                       const Problem& problem)
    : definition_(definition), target_(target), problem_(problem) {
  target_.num_sms = kManySms;
  problem_.target = &target_;
  for (const std::string& dim : definition.dims()) {
    auto shown = example.dims.find(dim);
    problem_.dims[definition.DimOf(dim)] = shown == example.dims.end() ? kSomeExtent : shown->second;
  }
  for (std::size_t i = 0; i < definition.parameters().size(); ++i) {
    const Parameter& parameter = definition.parameters()[i];
    if (parameter.kind != ParameterKind::kScalar) continue;
    Result<std::uint64_t> value = WarmupScalar(definition, parameter, problem_.dims);
    scalars_[i] = value.ok() ? *value : 0;
    problem_.dtypes[i] = parameter.dtype;
    problem_.values[i] = &scalars_[i];
  }
}

std::optional<std::int64_t> GridChecks::Blocks(const Variant& variant, const Config& config, std::size_t dim,
                                               std::int64_t extent) {
  Problem problem = problem_;
  problem.dims[Dim{static_cast<int>(dim)}] = extent;
  if (!definition_.space().CheckGuards(config, problem).ok()) return std::nullopt;
  Result<Geometry> geometry = CallUser("the grid", [&] { return variant.geometry(config, problem); });
  if (!geometry.ok()) return std::nullopt;
  const Dim3& grid = geometry->grid;
  if (grid.x < 0 || grid.y < 0 || grid.z < 0) return std::nullopt;
  return grid.x * grid.y * grid.z;
}

std::vector<std::int64_t> GridChecks::SomeBlocks(const Variant& variant, const Config& config, std::size_t dim) {
  std::vector<std::int64_t> blocks;
  for (std::int64_t extent : {1, 2, 7, 8, 31, 32, 63, 64, 65, 127, 128, 129, 255, 257, 511, 1000, 2047, 2048}) {
    blocks.push_back(Blocks(variant, config, dim, extent).value_or(-1));
  }
  return blocks;
}

std::string GridChecks::WrongStep(const Variant& variant, const Config& config, std::size_t dim) {
  const std::string& name = definition_.dims()[dim];
  auto at = [&](std::int64_t extent) { return name + "=" + std::to_string(extent); };
  const std::string what = "variant '" + variant.name + "' {" + config.ToString() + "}: ";
  // Over the extents that the guards accept: the number of consecutive extents with the same number of blocks.
  std::int64_t blocks = -1, first_length = 0, length = 0, last_of_first = 0;
  int num_steps = 0;
  for (std::int64_t extent = 1; extent <= kMostExtent; ++extent) {
    std::optional<std::int64_t> now = Blocks(variant, config, dim, extent);
    if (!now) continue;
    if (*now == 0)
      return what + "at " + at(extent) +
             " the grid has no blocks, and no guard excludes this extent: round the grid up, or add a guard";
    if (*now == blocks) {
      ++length;
    } else {
      if (++num_steps == 2) {
        first_length = length;
        last_of_first = extent - 1;
      }
      if (num_steps == 3) break;
      blocks = *now;
      length = 1;
    }
  }
  if (num_steps < 3 || first_length <= length) return "";
  return what + "the grid grows by one block for each " + std::to_string(length) + " of " + name + ", but only above " +
         at(last_of_first) + ": a grid that is rounded down omits elements, unless its last block computes them";
}

std::vector<std::string> GridChecks::GridsThatLeaveElements(std::set<std::string>* seen) {
  std::vector<std::string> found;
  Result<std::vector<const Variant*>> variants = definition_.VariantsFor(*problem_.target);
  Result<std::vector<Config>> configs = definition_.space().Enumerate(*problem_.target);
  if (!variants.ok() || !configs.ok()) return found;
  std::set<std::pair<std::string, std::size_t>> said;  // One finding for a variant and dim is enough.
  for (const Variant* variant : *variants) {
    if (!seen->insert(variant->name).second) continue;
    std::vector<std::set<std::vector<std::int64_t>>> tried(definition_.dims().size());
    for (const Config& config : *configs) {
      if (!variant->IsBackendOf(config)) continue;
      for (std::size_t dim = 0; dim < definition_.dims().size(); ++dim) {
        if (said.count({variant->name, dim}) > 0) continue;
        if (!tried[dim].insert(SomeBlocks(*variant, config, dim)).second) continue;
        std::string wrong = WrongStep(*variant, config, dim);
        if (wrong.empty()) continue;
        said.insert({variant->name, dim});
        found.push_back(std::move(wrong));
      }
    }
  }
  return found;
}

std::string GridChecks::LaunchOf(const BundleWay& way) {
  std::string text;
  Problem problem = problem_;
  for (int is_larger : {0, 1}) {
    for (std::size_t i = 0; is_larger == 1 && i < definition_.dims().size(); ++i) {
      problem.dims[Dim{static_cast<int>(i)}] = problem.dims[Dim{static_cast<int>(i)}] * 16 + 7;
    }
    Result<Geometry> geometry = CallUser("the grid", [&] { return way.variant->geometry(way.config, problem); });
    text += geometry.ok() ? geometry->ToString() : geometry.status().message();
    for (const Parameter& parameter : definition_.parameters()) {
      if (parameter.term) text += "; " + std::to_string(parameter.term->Value(way.config, problem));
    }
  }
  return text;
}

std::vector<std::string> GridChecks::AxesWithoutEffect(const BundleWays& ways,
                                                       const std::vector<std::optional<Fingerprint>>& codes) {
  std::vector<std::string> found;
  if (ways.configs.empty()) return found;
  std::vector<std::string> effects;
  bool is_all_known = true;
  for (std::size_t i = 0; i < ways.ways.size(); ++i) {
    const BundleWay& way = ways.ways[i];
    is_all_known &= codes[i].has_value();
    std::string code =
        codes[i] ? codes[i]->ToString() : way.source.Fingerprint().ToString() + way.hints.Fingerprint().ToString();
    effects.push_back(code + LaunchOf(way));
  }
  const Config& any = ways.configs.front();
  for (std::size_t axis = 0; axis < any.values().size(); ++axis) {
    if (any.AxisName(axis) == "backend") continue;                                      // It selects among variants.
    if (any.Kind(axis) == AxisKind::kHint && problem_.target->is_cpu_device) continue;  // Nobody expects one.
    bool has_effect = false;
    // Ways that differ in this axis alone, by variant and the other values.
    std::map<std::pair<const Variant*, std::string>, std::pair<std::set<std::string>, std::set<std::string>>> groups;
    for (std::size_t i = 0; i < ways.ways.size(); ++i) {
      std::string others;
      const Config& config = ways.ways[i].config;
      for (std::size_t k = 0; k < config.values().size(); ++k) {
        if (k != axis) others += AxisValueString(config.values()[k]) + "|";
      }
      auto& [values, seen] = groups[{ways.ways[i].variant, others}];
      values.insert(AxisValueString(config.values()[axis]));
      seen.insert(effects[i]);
    }
    bool is_varied = false;
    for (const auto& [key, group] : groups) {
      is_varied |= group.first.size() > 1;
      has_effect |= group.first.size() > 1 && group.second.size() > 1;
    }
    if (is_varied && !has_effect) {
      found.push_back(
          "on " + problem_.target->name() + " the axis '" + any.AxisName(axis) + "' has no effect: " +
          (is_all_known ? "all its values make the same code" : "no variant's source, hints or grid uses it"));
    }
  }
  return found;
}

}  // namespace tuneonce::cli
