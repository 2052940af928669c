#include "definition/family.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns the maximum shared memory of a block in bytes, and for an unknown GPU what every GPU since sm_80 has. It
/// depends on the capability and not on the device, because code that is compiled ahead must match what the device
/// lists. Source: CUDA C++ Programming Guide, technical specifications per compute capability.
std::int64_t SharedMemoryOfBlock(const Target& target) {
  constexpr std::int64_t kKiB = 1024;
  switch (target.capability()) {
    case 80:
    case 87:
      return 163 * kKiB;
    case 90:
    case 100:
    case 103:
    case 110:
      return 227 * kKiB;
    default:
      return 99 * kKiB;
  }
}

/// Whether the family has a list for the generation.
const Family::Configs* ConfigsFor(const Family& family, Generation generation) {
  for (const Family::Configs& each : family.configs) {
    const std::vector<Generation>& of = each.generations;
    if (std::find(of.begin(), of.end(), generation) != of.end()) return &each;
  }
  return nullptr;
}

/// The rows of all targets, or of `only`, sorted: the same configs are then in the same order in both.
std::vector<Family::Row> RowsFor(const Family& family, const std::optional<Target>& only) {
  std::set<Family::Row> rows;
  for (const Family::Configs& each : family.configs) {
    if (only && ConfigsFor(family, GenerationOf(*only)) != &each) continue;
    rows.insert(each.rows.begin(), each.rows.end());
  }
  return {rows.begin(), rows.end()};
}

std::vector<AxisAssignment> ConfigOf(const std::vector<IntAxis>& axes, const Family::Row& row) {
  std::vector<AxisAssignment> config;
  for (std::size_t i = 0; i < axes.size(); ++i) config.emplace_back(axes[i], row[i]);
  return config;
}

std::vector<IntAxis> AxesOf(const Family& family, SearchSpace* space) {
  std::vector<IntAxis> axes;
  for (const Family::Axis& axis : family.axes) axes.push_back(space->FindAxis(axis.name));
  return axes;
}

Family::Row RowOf(const std::vector<IntAxis>& axes, const Config& config) {
  Family::Row row;
  for (const IntAxis& axis : axes) row.push_back(config[axis]);
  return row;
}

bool RunsOn(const Family& family, const Target& target) {
  return target.is_cpu_device || target.capability() >= family.least_capability;
}

void SetBaselines(const Family& family, const std::optional<Target>& only, const std::vector<IntAxis>& axes,
                  SearchSpace* space) {
  std::map<std::vector<Family::Row>, std::vector<Generation>> by_rows;
  for (const Family::Configs& each : family.configs) {
    if (only && ConfigsFor(family, GenerationOf(*only)) != &each) continue;
    std::vector<Generation>& of = by_rows[each.baselines];
    of.insert(of.end(), each.generations.begin(), each.generations.end());
  }
  std::vector<SearchSpace::Baseline> baselines;
  for (const auto& [rows, generations] : by_rows) {
    const Condition counts = [&family, of = generations, is_only = only.has_value()](const Target& target) {
      return (is_only || std::find(of.begin(), of.end(), GenerationOf(target)) != of.end()) && RunsOn(family, target);
    };
    for (const Family::Row& row : rows) baselines.push_back({ConfigOf(axes, row), counts});
  }
  space->SetBaselines(std::move(baselines));
}

/// Returns the definition's name of a guard's dim.
std::string NameOf(const std::string& dim, const std::map<std::string, std::string>& dims) {
  auto named = dims.find(dim);
  return named == dims.end() ? dim : named->second;
}

void AddGuards(const Family& family, const std::map<std::string, std::string>& dims, SearchSpace* space) {
  for (const Family::SizeGuard& guard : family.guards) {
    const std::string dim = NameOf(guard.dim, dims);
    if (dim.empty()) continue;
    const IntAxis axis = space->FindAxis(guard.axis);
    space->Where(absl::StrCat("more than half of ", guard.axis, " lies within ", dim),
                 axis <= guard.least || axis / 2 < D(dim));
  }
  if (family.head == nullptr || NameOf(family.head, dims).empty()) return;
  const std::string head = NameOf(family.head, dims);
  constexpr std::int64_t kFloats = 32768;  // Half of the 64 Ki 32-bit registers of a multiprocessor.
  const IntAxis tile = space->FindAxis("TILE_M");
  space->Where(absl::StrCat("an accumulator of TILE_M x ", head, " fits half of the registers"),
               tile <= 64 || D(head) <= kFloats / Term(tile));
}

}  // namespace

Generation GenerationOf(const Target& target) {
  if (target.is_cpu_device) return Generation::kCpu;
  const int capability = target.capability();
  if (capability < 90) return Generation::kAmpere;
  if (capability < 100) return Generation::kHopper;
  return capability < 120 ? Generation::kBlackwell : Generation::kBlackwellRtx;
}

const Family::Configs* Family::ConfigsOn(const Target& target) const {
  return RunsOn(*this, target) ? ConfigsFor(*this, GenerationOf(target)) : nullptr;
}

std::vector<std::string> Family::Dims() const {
  std::vector<std::string> dims;
  for (const SizeGuard& guard : guards) dims.emplace_back(guard.dim);
  if (head != nullptr) dims.emplace_back(head);
  return dims;
}

SearchSpace Family::ConfigsOf(const std::optional<Target>& only, const std::map<std::string, std::string>& dims) const {
  const std::vector<Row> rows = RowsFor(*this, only);
  SearchSpace space;
  std::vector<IntAxis> handles;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::set<std::int64_t> values;
    for (const Row& row : rows) values.insert(row[i]);
    const std::vector<std::int64_t> sorted(values.begin(), values.end());
    handles.push_back(axes[i].kind == AxisKind::kHint ? space.AddHintAxis(axes[i].name, sorted)
                                                      : space.AddAxis(axes[i].name, sorted));
  }
  std::vector<std::vector<AxisAssignment>> list;
  for (const Row& row : rows) list.push_back(ConfigOf(handles, row));
  space.SetConfigs(list);
  SetBaselines(*this, only, handles, &space);
  AddGuards(*this, dims, &space);
  return space;
}

void Family::AddTargetConditions(const std::optional<Target>& only, SearchSpace* space) const {
  const std::vector<IntAxis> handles = AxesOf(*this, space);
  // Families are never destroyed, so that filters may look into them.
  const Family* family = this;
  if (least_capability > 0) {
    space->Where(absl::StrCat(name, " needs sm_", least_capability),
                 [family](const Target& target) { return RunsOn(*family, target); });
  }
  if (!only && configs.size() > 1) {
    std::vector<Row> known = RowsFor(*this, std::nullopt);
    space->Where("each target has its own configs", [=](const Config& config, const Target& target) {
      const Row row = RowOf(handles, config);
      if (!std::binary_search(known.begin(), known.end(), row)) return true;  // Somebody else's.
      const std::vector<Row>& its = ConfigsFor(*family, GenerationOf(target))->rows;
      return std::find(its.begin(), its.end(), row) != its.end();
    });
  }
  if (std::any_of(axes.begin(), axes.end(),
                  [](const Axis& axis) { return std::string_view(axis.name) == "num_ctas"; })) {
    space->Where("num_ctas > 1 needs clusters: sm_90 and newer, not sm_12x",
                 handles.back() <= 1 || Capability() == 0 || (Capability() >= 90 && Capability() < 120));
  }
  if (num_weight_tiles == 0) return;
  space->Where("two stages of operands fit shared memory", [=](const Config& config, const Target& target) {
    const Row row = RowOf(handles, config);
    const std::int64_t stage = (row[0] + family->num_weight_tiles * row[1]) * row[2] * family->operand_bytes;
    // A cluster's blocks hold a part each.
    return target.is_cpu_device || 2 * stage <= SharedMemoryOfBlock(target) * row.back();
  });
}

std::vector<Target> KnownTargets() {
  std::vector<Target> targets;
  for (const char* name :
       {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121", "cpu"}) {
    targets.push_back(*Target::Named(name));
  }
  return targets;
}

std::vector<Target> Family::WidestTargets(const Condition& runs_on) const {
  std::map<Generation, Target> widest;
  auto consider = [&](const Target& target) {
    if (!RunsOn(*this, target) || !runs_on.HoldsOn(target)) return;
    const Generation generation = GenerationOf(target);
    const int roomiest = generation == Generation::kAmpere ? std::max(80, least_capability) : target.capability();
    Target its = target;
    its.capability_major = roomiest / 10;
    its.capability_minor = roomiest % 10;
    widest.emplace(generation, its);
  };
  constexpr int kMostCapability = 200;  // Beyond those there are, each of which is one of sm_12x's generation.
  for (int capability = 10; capability < kMostCapability; ++capability) {
    Target target;
    target.capability_major = capability / 10;
    target.capability_minor = capability % 10;
    consider(target);
  }
  consider(*Target::Named("cpu"));
  std::vector<Target> targets;
  for (const auto& [generation, target] : widest) targets.push_back(target);
  return targets;
}

SearchSpace Family::Space(const std::optional<Target>& only, const std::map<std::string, std::string>& dims) const {
  SearchSpace space = ConfigsOf(only, dims);
  AddTargetConditions(only, &space);
  return space;
}

namespace families {
namespace {

const Family& Named(const char* name) { return **FindFamily(name); }

SearchSpace OfRows(const char* name, const std::string& n) { return Named(name).Space(std::nullopt, {{"N", n}}); }

SearchSpace OfProducts(const char* name, const std::optional<Target>& only, const MatmulDims& dims) {
  return Named(name).Space(only, {{"M", dims.m}, {"N", dims.n}, {"K", dims.k}});
}

SearchSpace OfAttention(const char* name, const std::optional<Target>& only, const AttentionDims& dims) {
  return Named(name).Space(only, {{"M", dims.queries}, {"N", dims.keys}, {"D", dims.head}});
}

}  // namespace

SearchSpace OccupancyOnly() { return Named("occupancy_only").Space(); }
SearchSpace NormLike(const std::string& n) { return OfRows("norm_like", n); }
SearchSpace Reduction(const std::string& n) { return OfRows("reduction", n); }
SearchSpace Elementwise(const std::string& n) { return OfRows("elementwise", n); }
SearchSpace InPlace() { return Named("in_place").Space(); }
SearchSpace DenseMatmul(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("dense_matmul", only, dims);
}
SearchSpace PersistentMatmul(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("persistent_matmul", only, dims);
}
SearchSpace Attention(const std::optional<Target>& only, const AttentionDims& dims) {
  return OfAttention("attention", only, dims);
}
SearchSpace Fp8Matmul(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("fp8_matmul", only, dims);
}
SearchSpace GroupedGemm(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("grouped_gemm", only, dims);
}
SearchSpace VarlenAttention(const std::optional<Target>& only, const AttentionDims& dims) {
  return OfAttention("varlen_attention", only, dims);
}
SearchSpace DualGemm(const std::optional<Target>& only, const MatmulDims& dims) {
  return OfProducts("dual_gemm", only, dims);
}

}  // namespace families

}  // namespace v0
}  // namespace tuneonce
