// The configs of the families, whose reasons are in search_space.h. The order of a recipe's list does not matter, because a
// space is sorted with smaller tiles first.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/short_list.h"
#include "definition/family.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Row = Family::Row;
using Rows = std::vector<Row>;

constexpr Family::Axis kOccupancy = {"occupancy", AxisKind::kHint};
constexpr Family::Axis kNumCtas = {"num_ctas", AxisKind::kHint};

constexpr Family::Axis Structural(const char* name) { return {name, AxisKind::kStructural}; }

// Functions, not constants: a host may ask for a family while its own globals are made.
std::vector<Family::Axis> MatmulAxes() {
  return {Structural("TILE_M"), Structural("TILE_N"), Structural("TILE_K"), kOccupancy, kNumCtas};
}
std::vector<Family::Axis> AttentionAxes() { return {Structural("TILE_M"), Structural("TILE_N"), kOccupancy, kNumCtas}; }
std::vector<Family::SizeGuard> MatmulGuards() {
  return {{"TILE_M", "M", 64}, {"TILE_N", "N", 64}, {"TILE_K", "K", 64}};
}
Rows MatmulBaselines() { return {{128, 128, 64, 1, 1}, {64, 64, 64, 1, 1}}; }

/// All combinations of the axes' values.
Rows Crossed(const std::vector<Row>& values) {
  Rows rows = {{}};
  for (const Row& of_axis : values) {
    Rows longer;
    for (const Row& row : rows) {
      for (std::int64_t value : of_axis) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

/// Each of `tiles` with each occupancy, in clusters of `num_ctas`.
Rows AtOccupancy(const Rows& tiles, const Row& occupancies, std::int64_t num_ctas = 1) {
  Rows rows;
  for (const Row& tile : tiles) {
    for (std::int64_t occupancy : occupancies) {
      rows.push_back(tile);
      rows.back().insert(rows.back().end(), {occupancy, num_ctas});
    }
  }
  return rows;
}

Rows Together(const std::vector<Rows>& parts) {
  Rows rows;
  for (const Rows& part : parts) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

Rows HalfOfTheRegisters(Rows rows) {
  constexpr std::int64_t kFloats = 32768;  // Half of the 64 Ki 32-bit registers of a multiprocessor.
  rows.erase(std::remove_if(rows.begin(), rows.end(), [](const Row& row) { return row[0] * row[1] > kFloats; }),
             rows.end());
  return rows;
}

Family Elementwise() {
  Family family{"elementwise", "one element in, one out", {Structural("TILE"), kOccupancy, kNumCtas}, {}, {}};
  family.guards = {{"TILE", "N", 1024}};
  const Rows baselines = {{1024, 1, 1}};
  const Rows every = Crossed({{1024, 2048, 4096}, {1, 2, 4, 16}, {1}});
  family.configs = {
      {{Generation::kAmpere, Generation::kBlackwellRtx, Generation::kCpu}, every, baselines},
      {{Generation::kHopper, Generation::kBlackwell},
       Together({every, AtOccupancy({{2048}}, {1}, 2), AtOccupancy({{4096}}, {1, 16}, 2)}),
       baselines},
  };
  return family;
}

std::vector<Family> BoundByMemory() {
  const Row tiles = {1024, 2048, 4096, 8192};
  const std::vector<Generation> all = {Generation::kAmpere, Generation::kHopper, Generation::kBlackwell,
                                       Generation::kBlackwellRtx, Generation::kCpu};
  return {
      {"occupancy_only", "kernels without a tile to choose", {kOccupancy}, {{all, Crossed({{1, 2, 4, 8}}), {{1}}}}, {}},
      {"norm_like",
       "rows that are read and scaled",
       {Structural("TILE_N"), kOccupancy},
       {{all, Together({Crossed({tiles, {2, 4}}), Crossed({{16384}, {1, 2}})}), {{4096, 4}, {1024, 4}}}},
       {{"TILE_N", "N", 1024}}},
      {"reduction",
       "rows that are read once",
       {Structural("TILE_N"), kOccupancy},
       {{all, HalfOfTheRegisters(Crossed({tiles, {4, 8, 16}})), {{4096, 4}, {1024, 4}}}},
       {{"TILE_N", "N", 1024}}},
      Elementwise(),
      {"in_place", "kernels that write their input", {kOccupancy}, {{all, Crossed({{1, 2, 4, 6, 8, 12}}), {{1}}}}, {}},
  };
}

/// For rows of b that begin anywhere: they are loaded element by element, the fewer columns the better, for many rows.
Rows Narrow() { return AtOccupancy({{128, 32, 64}, {256, 32, 128}}, {2}); }

/// On the CPU device, whose compiler knows no hints: the tiles alone, and few of them.
Family::Configs MatmulOnCpu() {
  return {{Generation::kCpu}, Crossed({{64, 128}, {64, 128}, {64}, {1}, {1}}), MatmulBaselines()};
}

Family DenseMatmul() {
  Family family{"dense_matmul", "c = a b, a block per tile", MatmulAxes(), {}, MatmulGuards()};
  family.num_weight_tiles = 1;
  const Rows middle = {{128, 256, 64}, {256, 128, 64}};
  family.configs = {
      {{Generation::kAmpere}, Crossed({{64, 128}, {64, 128}, {32, 64, 128}, {1, 2}, {1}}), MatmulBaselines()},
      {{Generation::kHopper},
       Together({Crossed({{64, 128}, {64, 128, 256}, {64}, {1, 2}, {1}}),
                 AtOccupancy({{256, 64, 64}, {256, 128, 64}}, {1, 2}),
                 AtOccupancy({{64, 128, 32}, {128, 64, 32}, {128, 128, 32}}, {2}), AtOccupancy({{16, 64, 64}}, {1}),
                 Narrow(), AtOccupancy({{128, 128, 128}, {256, 256, 64}}, {1}), AtOccupancy(middle, {1}, 2),
                 AtOccupancy({{128, 256, 32}, {256, 128, 32}}, {2}, 2),
                 AtOccupancy({{128, 128, 64}, {256, 256, 64}}, {1}, 2)}),
       MatmulBaselines()},
      {{Generation::kBlackwell},
       Together({Crossed({{64, 128}, {64, 128}, {64}, {1, 2}, {1}}),
                 AtOccupancy({{128, 128, 32}, {128, 128, 128}}, {1}), AtOccupancy(middle, {1, 2}),
                 AtOccupancy({{256, 256, 64}}, {1}), AtOccupancy(middle, {1}, 2),
                 AtOccupancy({{128, 128, 64}, {256, 256, 64}, {256, 256, 128}, {512, 256, 64}}, {1}, 2),
                 AtOccupancy({{256, 256, 64}, {512, 256, 64}}, {1}, 4)}),
       MatmulBaselines()},
      {{Generation::kBlackwellRtx},
       Crossed({{64, 128}, {64, 128}, {32, 64}, {1, 2, 4}, {1}}),
       {{128, 64, 64, 1, 1}, {64, 64, 64, 1, 1}}},
      MatmulOnCpu(),
  };
  return family;
}

Family PersistentMatmul() {
  Family family{"persistent_matmul", "c = a b, blocks that stay", MatmulAxes(), {}, MatmulGuards()};
  family.num_weight_tiles = 1;
  const Rows middle = {{128, 256, 64}, {256, 128, 64}};
  family.configs = {
      {{Generation::kAmpere},
       Together({Crossed({{64, 128}, {64, 128}, {32}, {2}, {1}}), Crossed({{64, 128}, {64, 128}, {64}, {1}, {1}}),
                 AtOccupancy({{128, 128, 32}}, {1})}),
       MatmulBaselines()},
      {{Generation::kHopper},
       Together({Crossed({{64, 128}, {64, 128}, {64}, {1, 2}, {1}}), AtOccupancy({{64, 256, 64}}, {2}),
                 AtOccupancy({{16, 64, 128}, {16, 128, 64}}, {1}), Narrow(), AtOccupancy(middle, {1}),
                 AtOccupancy({{256, 256, 64}, {128, 128, 128}}, {1}), AtOccupancy(middle, {1}, 2),
                 AtOccupancy({{256, 256, 64}, {128, 64, 128}}, {1}, 2)}),
       MatmulBaselines()},
      {{Generation::kBlackwell},
       Together({AtOccupancy({{64, 64, 64}, {256, 256, 64}}, {1}), AtOccupancy({{128, 128, 64}}, {1, 2}),
                 AtOccupancy(middle, {1}), AtOccupancy(middle, {1}, 2),
                 AtOccupancy({{128, 128, 64}, {256, 256, 64}, {256, 256, 128}}, {1}, 2),
                 AtOccupancy({{128, 512, 64}}, {1}, 4)}),
       MatmulBaselines()},
      {{Generation::kBlackwellRtx},
       Together({AtOccupancy({{64, 64, 64}, {128, 64, 64}}, {1, 2, 4}),
                 AtOccupancy({{64, 128, 64}, {128, 128, 64}}, {1, 2})}),
       {{128, 64, 64, 1, 1}, {64, 64, 64, 1, 1}}},
      MatmulOnCpu(),
  };
  return family;
}

Family Attention() {
  Family family{"attention", "softmax(q k') v", AttentionAxes(), {}, {{"TILE_M", "M", 64}, {"TILE_N", "N", 64}}};
  family.head = "D";
  const Rows small = Crossed({{64, 128}, {64}, {1, 2}, {1}});
  const Rows large = Together(
      {Crossed({{64, 128}, {64, 128}, {1, 2}, {1}}), AtOccupancy({{256, 64}}, {1}), AtOccupancy({{256, 128}}, {1, 2})});
  family.configs = {
      {{Generation::kAmpere}, Together({small, AtOccupancy({{64, 128}, {128, 128}}, {1})}), {{64, 64, 2, 1}}},
      {{Generation::kHopper},
       Together({large, AtOccupancy({{64, 64}}, {4}), AtOccupancy({{128, 128}}, {2}, 2)}),
       {{128, 128, 2, 1}, {64, 64, 2, 1}}},
      {{Generation::kBlackwell},
       Together({large, AtOccupancy({{256, 128}}, {1, 2}, 2)}),
       {{128, 128, 2, 1}, {64, 64, 2, 1}}},
      {{Generation::kBlackwellRtx}, Together({small, AtOccupancy({{64, 128}}, {1})}), {{64, 64, 2, 1}}},
      {{Generation::kCpu}, AtOccupancy({{64, 64}, {128, 64}}, {2}), {{64, 64, 2, 1}}},
  };
  return family;
}

Family Fp8Matmul() {
  Family family{"fp8_matmul", "c = a b of scaled 8-bit floats", MatmulAxes(), {}, {{"TILE_M", "M", 64}}};
  family.num_weight_tiles = 1;
  family.operand_bytes = 1;
  family.least_capability = 89;
  const Rows every = Crossed({{16, 32, 64, 128}, {128}, {128}, {1, 2, 4}, {1}});
  const Rows baselines = {{128, 128, 128, 1, 1}, {64, 128, 128, 1, 1}};
  family.configs = {
      {{Generation::kAmpere, Generation::kBlackwellRtx}, every, baselines},
      {{Generation::kHopper},
       Together({every, AtOccupancy({{256, 128, 128}, {64, 64, 256}}, {1}), AtOccupancy({{64, 128, 128}}, {1, 2}, 2)}),
       baselines},
      {{Generation::kBlackwell},
       Together({every, AtOccupancy({{256, 128, 128}}, {1}), AtOccupancy({{128, 128, 128}, {256, 128, 128}}, {1}, 2)}),
       baselines},
      {{Generation::kCpu}, Crossed({{16, 32, 64, 128}, {128}, {128}, {1}, {1}}), baselines},
  };
  return family;
}

Family GroupedGemm() {
  Family family{
      "grouped_gemm", "products of many sizes", MatmulAxes(), {}, {{"TILE_M", "M", 64}, {"TILE_N", "N", 128}}};
  family.num_weight_tiles = 1;
  const Rows baselines = {{128, 128, 64, 1, 1}, {64, 128, 64, 1, 1}};
  const Rows every =
      Together({AtOccupancy({{64, 128, 64}, {128, 128, 64}}, {1, 2}), AtOccupancy({{64, 128, 128}}, {1})});
  const Rows large = Together({every, AtOccupancy({{128, 128, 128}, {128, 256, 64}}, {1})});
  family.configs = {
      {{Generation::kAmpere}, Together({every, AtOccupancy({{128, 128, 128}}, {1})}), baselines},
      {{Generation::kHopper}, Together({large, AtOccupancy({{16, 256, 128}, {32, 256, 64}}, {2})}), baselines},
      {{Generation::kBlackwell}, Together({large, AtOccupancy({{128, 256, 64}, {256, 256, 64}}, {1}, 2)}), baselines},
      {{Generation::kBlackwellRtx}, every, baselines},
      {{Generation::kCpu}, AtOccupancy({{64, 128, 64}, {128, 128, 64}}, {1}), baselines},
  };
  return family;
}

Family VarlenAttention() {
  Family family{"varlen_attention", "attention over sequences of different lengths", AttentionAxes(), {}, {}};
  family.guards = {{"TILE_M", "M", 64}};
  family.head = "D";
  const Rows middle = Together({AtOccupancy({{64, 64}, {64, 128}, {128, 64}}, {2}), AtOccupancy({{128, 128}}, {1, 2})});
  const Rows small =
      Together({AtOccupancy({{64, 64}}, {2}), AtOccupancy({{128, 64}}, {1, 2}), AtOccupancy({{128, 128}}, {1})});
  family.configs = {
      {{Generation::kAmpere, Generation::kBlackwellRtx}, small, {{64, 64, 2, 1}}},
      {{Generation::kHopper}, Together({middle, AtOccupancy({{64, 64}}, {4})}), {{128, 128, 2, 1}, {64, 64, 2, 1}}},
      {{Generation::kBlackwell},
       Together({middle, AtOccupancy({{256, 128}}, {1, 2}), AtOccupancy({{256, 64}}, {1}),
                 AtOccupancy({{256, 128}}, {2}, 2)}),
       {{128, 128, 2, 1}, {64, 64, 2, 1}}},
      {{Generation::kCpu}, AtOccupancy({{64, 64}, {128, 64}}, {2}), {{64, 64, 2, 1}}},
  };
  return family;
}

Family DualGemm() {
  Family family{"dual_gemm", "two products of one input, gated", MatmulAxes(), {}, {}};
  family.guards = {{"TILE_M", "M", 64}, {"TILE_N", "N", 128}};
  family.num_weight_tiles = 2;
  const Rows baselines = {{128, 128, 64, 1, 1}, {64, 128, 64, 1, 1}};
  const Rows every = Together({AtOccupancy({{64, 128, 64}, {128, 64, 64}, {128, 128, 64}}, {1})});
  const Rows small = Together({every, AtOccupancy({{64, 128, 32}, {128, 64, 32}, {128, 128, 32}}, {1})});
  const Rows large = {{128, 256, 64}, {256, 128, 64}, {256, 256, 64}};
  const Rows twice = AtOccupancy({{128, 128, 64}}, {2});
  family.configs = {
      {{Generation::kAmpere, Generation::kBlackwellRtx}, small, baselines},
      {{Generation::kHopper},
       Together({every, twice, AtOccupancy({{16, 64, 128}, {16, 128, 64}}, {1}), AtOccupancy({{128, 32, 64}}, {2}),
                 AtOccupancy({{128, 128, 64}, {256, 32, 128}}, {2}, 2)}),
       baselines},
      {{Generation::kBlackwell},
       Together({every, twice, AtOccupancy(large, {1}), AtOccupancy(large, {1}, 2),
                 AtOccupancy({{128, 128, 64}, {256, 128, 64}, {256, 256, 64}}, {2}, 2)}),
       baselines},
      {{Generation::kCpu}, every, baselines},
  };
  return family;
}

}  // namespace

const std::vector<Family>& AllFamilies() {
  static const std::vector<Family>* const all = [] {
    auto* list = new std::vector<Family>(BoundByMemory());
    for (Family (*make)() :
         {&DenseMatmul, &PersistentMatmul, &Attention, &Fp8Matmul, &GroupedGemm, &VarlenAttention, &DualGemm}) {
      list->push_back(make());
    }
    return list;
  }();
  return *all;
}

Result<const Family*> FindFamily(std::string_view name) {
  for (const Family& family : AllFamilies()) {
    if (family.name == name) return &family;
  }
  return InvalidArgumentError(absl::StrCat("unknown family of kernels '", std::string(name),
                                           "'; choose one of: ", ShortListOf(AllFamilies(), &Family::name, name)));
}

}  // namespace v0
}  // namespace tuneonce
