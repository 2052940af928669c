#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "inspect/classified_bundle.h"
#include "launch/parameter_block.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// A config's value of an axis of whole numbers.
std::optional<std::int64_t> ValueOf(const std::string& axis, const Config& config) {
  const AxisValue* value = config.Find(axis);
  const auto* number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return number != nullptr ? std::optional<std::int64_t>(*number) : std::nullopt;
}

/// The values of an axis of whole numbers in those of `configs` that `variant` builds (null: in all), each once.
std::vector<std::int64_t> ValuesOf(const std::string& axis, const std::vector<Config>& configs,
                                   const Variant* variant) {
  std::vector<std::int64_t> values;
  for (const Config& config : configs) {
    if (variant != nullptr && !variant->IsBackendOf(config)) continue;
    std::optional<std::int64_t> number = ValueOf(axis, config);
    if (number && std::find(values.begin(), values.end(), *number) == values.end()) values.push_back(*number);
  }
  return values;
}

const Variant* VariantNamed(const KernelDefinition& definition, const std::string& name) {
  for (const Variant& variant : definition.variants()) {
    if (variant.name == name) return &variant;
  }
  return nullptr;
}

/// The least value of an axis among the family's baselines on the target; 0: it has none. Its smaller ones are for few
/// rows, or odd ones.
std::int64_t LeastOf(const Family& family, const char* axis, const Target& target) {
  const Family::Configs* configs = family.ConfigsOn(target);
  auto its = std::find_if(family.axes.begin(), family.axes.end(),
                          [&](const Family::Axis& each) { return std::string_view(each.name) == axis; });
  if (configs == nullptr || its == family.axes.end()) return 0;
  const auto i = static_cast<std::size_t>(its - family.axes.begin());
  std::int64_t least = configs->baselines.front()[i];
  for (const Family::Row& row : configs->baselines) least = std::min(least, row[i]);
  return least;
}

void AddTileIrDepartures(const std::vector<Config>& configs, const Variant& variant, std::vector<std::string>* found) {
  // In Triton's Tile IR, which is called plainly, num_stages is the latency of loads, part of the code.
  const bool is_of_triton = variant.convention == CallingConvention::kPlain;
  for (const char* axis : {"num_warps", "num_stages"}) {
    if (is_of_triton && axis == std::string_view("num_stages")) continue;
    if (ValuesOf(axis, configs, &variant).size() > 1) {
      found->push_back(absl::StrCat("variant '", variant.name, "' is Tile IR, which ignores ", axis,
                                    ": its values make duplicate configs, so give this back end only one"));
    }
  }
  if (ValuesOf("occupancy", configs, &variant).empty()) {
    found->push_back(absl::StrCat("variant '", variant.name, "' is Tile IR, but the space has no axis `occupancy`: ",
                                  "add one, since it needs no further source"));
  }
}

/// Clusters at an occupancy beyond 1, of products whose operands are slices at places that were loaded. Measured on
/// sm_90 alone (docs/internal/performance_diary.md, "Clusters that hang").
void AddClustersThatHang(const std::vector<Config>& configs, const Variant& variant, const KernelEvidence& evidence,
                         const Target& target, std::vector<std::string>* found) {
  if (target.capability() != 90 || evidence.num_products == 0 || evidence.num_loads_by_content == 0) return;
  for (const Config& config : configs) {
    if (!variant.IsBackendOf(config)) continue;
    if (ValueOf("occupancy", config).value_or(1) < 2 || ValueOf("num_ctas", config).value_or(1) < 2) continue;
    found->push_back(
        absl::StrCat("variant '", variant.name, "': {", config.ToString(), "} uses clusters at occupancy ",
                     *ValueOf("occupancy", config),
                     " in a kernel that loads the indices of its matmul operands: most such kernels hang on ",
                     target.name(), "; remove this config, or tune with isolation"));
    return;
  }
}

void AddSmallTiles(const ClassifiedBundle::OfVariant& variant, const Target& target, std::vector<std::string>* found) {
  const Family& family = *variant.classification.family;
  const KernelEvidence& largest = variant.largest;
  const bool has_products = largest.tile_m > 0;
  const std::pair<const char*, std::int64_t> tiles[] = {
      {"TILE_M", largest.tile_m},
      {"TILE_N", has_products ? largest.tile_n : largest.tile_elements},
      {"TILE", largest.tile_elements}};
  for (const auto& [axis, largest_tile] : tiles) {
    std::int64_t least = LeastOf(family, axis, target);
    if (largest_tile <= 0 || largest_tile >= least) continue;
    found->push_back(absl::StrCat("variant '", variant.name, "': its largest tile has ", largest_tile, " along ", axis,
                                  ", but every baseline of ", family.name, " has at least ", least, " on ",
                                  target.name(), ": add larger tiles"));
  }
}

using OfVariant = ClassifiedBundle::OfVariant;

/// The first architecture that has TMA.
constexpr int kCapabilityOfTma = 90;

/// The names of a definition's tensors that the kernel of `variant` takes at `places`.
std::set<std::string> NamesAt(const std::set<int>& places, const KernelDefinition& definition, const Variant& variant) {
  std::set<std::string> names;
  Result<ParameterLayout> layout = ParameterLayout::Create(definition, variant.convention, variant.parameters);
  for (int place : places) {
    const auto at = static_cast<std::size_t>(place);
    const bool is_declared = layout.ok() && at < layout->num_declared();
    names.insert(is_declared ? definition.parameters()[layout->MeaningOf(at).parameter].name
                             : absl::StrCat("parameter ", place));
  }
  return names;
}

/// "'a', 'b'".
std::string Quoted(const std::set<std::string>& names) {
  return absl::StrJoin(names, ", ",
                       [](std::string* out, const std::string& name) { absl::StrAppend(out, "'", name, "'"); });
}

/// Warnings of one variant.
class VariantWarnings {
 public:
  VariantWarnings(const KernelDefinition& definition, const Variant& variant, const KernelEvidence& evidence)
      : definition_(definition), variant_(variant), evidence_(evidence) {}

  std::vector<std::string> Find(const std::set<std::string>& aligned, bool has_tma) {
    if (evidence_.num_products_in_plain_loops > 0) {
      Add("a matrix product stands in an unstructured loop, which tileiras does not pipeline (3.7x slower at 4096^3 on "
          "an H100); loop over tiles::irange in Tile C++, over range in Python");
    }
    if (has_tma) AddStrides(aligned);
    if (const std::set<std::string> names = Names(evidence_.unordered_tensors); !names.empty()) {
      Add(absl::StrCat(Quoted(names), names.size() == 1 ? " is" : " are",
                       " loaded and stored without a token from one to the other, and only tokens order Tile IR's "
                       "accesses, so that a load may return either value; access the tensor through one array or "
                       "pointer, which makes front ends chain the tokens"));
    }
    if (evidence_.has_unordered_signal) {
      Add("a block branches on a counter or flag that other blocks write, and loads data that they stored, but no "
          "token "
          "orders these loads after an operation with memory order acquire, so that they may read old data; read the "
          "counter or flag with acquire (an atomic operation: acquire-release), and pass the token that this returns "
          "to the loads");
    }
    if (evidence_.waits_for_blocks) {
      Add("a block waits in a loop for what another block writes, which hangs if that block has not started; wait only "
          "for blocks that have (as for the holder of a lock), or launch no more blocks than run at once, and tune "
          "with isolation");
    }
    return std::move(found_);
  }

 private:
  void Add(const std::string& text) { found_.push_back(absl::StrCat("variant '", variant_.name, "': ", text)); }

  std::set<std::string> Names(const std::set<int>& places) const { return NamesAt(places, definition_, variant_); }

  void AddStrides(const std::set<std::string>& aligned) {
    std::set<std::string> names;
    for (const std::string& name : Names(evidence_.unaligned_tensors)) {
      if (aligned.count(name) == 0) names.insert(name);
    }
    if (names.empty()) return;
    Add(absl::StrCat("the compiler cannot see that strides of ", Quoted(names),
                     " are multiples of 16 bytes, so that TMA does not copy their tiles; let the code assume it "
                     "(tiles::assume_divisible in Tile C++, alignment in an exporter's declaration)"));
  }

  const KernelDefinition& definition_;
  const Variant& variant_;
  const KernelEvidence& evidence_;
  std::vector<std::string> found_;
};

}  // namespace

bool HasStructuralSelection(const std::vector<Config>& configs) {
  if (configs.empty()) return false;
  const Config& first = configs.front();
  for (std::size_t i = 0; i < first.values().size(); ++i) {
    if (first.Kind(i) != AxisKind::kStructural || first.AxisName(i) == "backend") continue;
    for (const Config& config : configs) {
      if (!IsSameValue(config.values()[i], first.values()[i])) return true;
    }
  }
  return false;
}

std::vector<std::string> SpaceDepartures(const KernelDefinition& definition, const std::vector<Config>& configs,
                                         const ClassifiedBundle& classified) {
  std::vector<std::string> found;
  if (configs.size() > 1 && !definition.space().BaselineOn(classified.target)) {
    found.push_back(
        "the space has no baseline, so no result can be verified and a selected config may be slower than an untuned "
        "kernel: declare the config that you would ship as the baseline");
  }
  bool is_in_place = false;
  for (const ClassifiedBundle::OfVariant& each : classified.variants) {
    const Variant* variant = VariantNamed(definition, each.name);
    if (variant != nullptr && each.kind == SourceKind::kTileIr) {
      AddTileIrDepartures(configs, *variant, &found);
      AddClustersThatHang(configs, *variant, each.largest, classified.target, &found);
    }
    if (each.num_sources == 0) continue;
    is_in_place |= each.largest.num_in_place > 0;
    // Of CUDA Tile C++ one config was read, whose tiles need not be the largest.
    const bool has_all_tiles = each.kind != SourceKind::kTileCpp;
    if (each.classification.family != nullptr && has_all_tiles) AddSmallTiles(each, classified.target, &found);
  }
  const Family* family = classified.classification.family;
  const bool is_bound_by_memory =
      classified.bound ? *classified.bound == Bound::kMemory : family != nullptr && IsMemoryBound(*family);
  const bool tries_clusters =
      family != nullptr && std::any_of(family->axes.begin(), family->axes.end(), [](const Family::Axis& axis) {
        return std::string_view(axis.name) == "num_ctas";
      });
  if (is_bound_by_memory && !tries_clusters && ValuesOf("num_ctas", configs, nullptr).size() > 1) {
    found.push_back(
        "the axis num_ctas has no use here, because the kernel is bound by memory and its blocks share no tile: remove "
        "the axis");
  }
  const bool has_in_out = std::any_of(definition.parameters().begin(), definition.parameters().end(),
                                      [](const Parameter& p) { return p.access == Access::kInOut; });
  if (is_in_place && !has_in_out) {
    found.push_back(
        "a tensor is both read and written, but not declared inout: each run of a search would read what the run "
        "before it wrote, so declare the tensor inout");
  }
  return found;
}

std::vector<std::string> CodeWarnings(const KernelDefinition& definition, const std::vector<OfVariant>& variants,
                                      const Target& target) {
  std::vector<std::pair<const Variant*, const KernelEvidence*>> read;
  std::set<std::string> aligned;
  for (const OfVariant& each : variants) {
    if (!IsTile(each.kind) || each.num_sources == 0) continue;
    auto is_it = [&](const Variant& variant) { return variant.name == each.name; };
    auto variant = std::find_if(definition.variants().begin(), definition.variants().end(), is_it);
    if (variant == definition.variants().end()) continue;
    read.emplace_back(&*variant, &each.largest);
    const std::set<std::string> open = NamesAt(each.largest.unaligned_tensors, definition, *variant);
    for (const std::string& name : NamesAt(each.largest.aligned_tensors, definition, *variant)) {
      if (open.count(name) == 0) aligned.insert(name);
    }
  }
  std::vector<std::string> found;
  for (const auto& [variant, evidence] : read) {
    for (std::string& text :
         VariantWarnings(definition, *variant, *evidence).Find(aligned, target.capability() >= kCapabilityOfTma)) {
      found.push_back(std::move(text));
    }
  }
  return found;
}

}  // namespace v0
}  // namespace tuneonce
