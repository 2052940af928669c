#ifndef TUNEONCE_TESTS_TESTING_BUNDLE_FORMULAS_H_
#define TUNEONCE_TESTS_TESTING_BUNDLE_FORMULAS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "definition/fill_bytes.h"
#include "launch/device_table.h"
#include "measure/compare_element.h"
#include "runtime/tuned_kernel_on.h"
#include "testing/expect_status.h"
#include "testing/formulas.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/tuned_kernel.h"

// The shipped bundles against what they should compute.

namespace tuneonce::testing {

/// IEEE 754 binary16 of a number, to nearest even; by hand, since clang 14 has no _Float16 on x86.
inline std::uint16_t HalfOf(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (size < std::ldexp(1.0f, -14)) return static_cast<std::uint16_t>(sign | std::lrint(std::ldexp(size, 24)));
  int exponent = 0;
  const long fraction = std::lrint(std::ldexp(std::frexp(size, &exponent), 11));  // 1024 to 2048, which carries.
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + (fraction - 1024)));
}

/// Values as memory in floats; and back: by the code that warm-ups are filled with, and that outputs are compared with.
inline std::vector<float> Packed(const std::vector<float>& values, DType dtype) {
  const std::size_t size = DTypeBytes(dtype);
  std::vector<float> memory((values.size() * size + sizeof(float) - 1) / sizeof(float));
  auto* bytes = reinterpret_cast<char*>(memory.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(EncodeElement(dtype, static_cast<double>(values[i]), bytes + i * size));
  }
  return memory;
}
inline std::vector<float> Unpacked(const std::vector<float>& memory, DType dtype) {
  if (dtype == DType::kFloat32) return memory;
  const std::size_t size = DTypeBytes(dtype);
  std::vector<float> values(memory.size() * sizeof(float) / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = ElementBits(memory.data(), i, static_cast<int>(size));
    if (dtype == DType::kInt32) {
      values[i] = static_cast<float>(static_cast<std::int32_t>(bits));
    } else if (dtype == DType::kFloat8E4M3) {
      values[i] = static_cast<float>(ElementValue(bits, {1, 4, 3, false}));
    } else {
      const bool is_half = dtype == DType::kFloat16;
      EXPECT_TRUE(is_half || dtype == DType::kBFloat16) << DTypeName(dtype);
      values[i] = static_cast<float>(ElementValue(bits, {2, is_half ? 5 : 8, is_half ? 10 : 7, true}));
    }
  }
  return values;
}

/// A shipped bundle at one shape.
struct FormulaCase {
  std::string bundle;
  Extents dims;
  void (*formula)(const Extents&, Tensors&);
  double tolerance;  ///< |output - formula| is at most this times (1 + |formula|).
  std::vector<std::variant<float, bool>> scalars;
  bool is_in_place = false;  ///< Launched twice on the same tensors, by the baseline first.
  /// What its inputs of whole numbers hold, one behind the other; others, which it changes, are 0.
  std::vector<float> whole_numbers = {};
  DType dtype = kFloat16;  ///< Of tensors whose dtype the bundle leaves open.

  /// The bundle, and its dtype where that is not the first.
  std::string Name() const { return bundle + (dtype == kFloat16 ? "" : "_" + std::string(DTypeName(dtype))); }
};
/// For the names of parameterised tests: "matmul_K70_M100_N130".
inline std::string CaseName(const FormulaCase& of) {
  std::string name = of.Name();
  for (const auto& [dim, extent] : of.dims) name += "_" + dim + std::to_string(extent);
  return name;
}

/// For GoogleTest, which would show its bytes.
inline void PrintTo(const FormulaCase& of, std::ostream* out) { *out << CaseName(of); }

/// Extents of B, H, G, S, T and D.
inline FormulaCase Attention(const std::array<std::int64_t, 6>& e, bool is_causal) {
  const Extents dims = {{"B", e[0]}, {"H", e[1]}, {"G", e[2]}, {"S", e[3]}, {"T", e[4]}, {"D", e[5]}};
  constexpr double kHalf = 2e-3;
  return {"attention",
          dims,
          is_causal ? AttentionFormula<true> : AttentionFormula<false>,
          kHalf,
          {kAttentionScale, is_causal}};
}

inline FormulaCase Fp8BlockMatmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Extents dims = {{"M", m}, {"N", n}, {"K", k}, {"NB", (n + 127) / 128}, {"KB", (k + 127) / 128}};
  return {"fp8_block_matmul", dims, Fp8BlockMatmulFormula, 8e-3, {}};
}
/// Extents of E, K and N; rows T, and where the groups begin in them and the last one ends.
inline FormulaCase GroupedGemm(const std::array<std::int64_t, 3>& e, std::int64_t t, std::vector<float> offsets) {
  const auto num_offsets = static_cast<std::int64_t>(offsets.size());
  const Extents dims = {{"T", t}, {"E", e[0]}, {"K", e[1]}, {"N", e[2]}, {"OFFSETS", num_offsets}};
  return {"grouped_gemm", dims, GroupedGemmFormula, 4e-3, {}, false, std::move(offsets)};
}
/// Extents of M, K and N; rows of each group.
inline FormulaCase GroupedGemmPointers(const std::array<std::int64_t, 3>& e, std::vector<float> rows) {
  const Extents dims = {{"M", e[0]}, {"E", static_cast<std::int64_t>(rows.size())}, {"K", e[1]}, {"N", e[2]}};
  return {"grouped_gemm_pointers", dims, GroupedGemmPointersFormula, 4e-3, {}, false, std::move(rows)};
}
/// Extents of H, G and D; rows T, and where the sequences begin in them and the last one ends.
inline FormulaCase VarlenAttention(const std::array<std::int64_t, 3>& e, bool is_causal, std::int64_t t,
                                   std::vector<float> cu_seqlens) {
  const auto num_offsets = static_cast<std::int64_t>(cu_seqlens.size());
  const Extents dims = {{"T", t}, {"H", e[0]}, {"G", e[1]}, {"D", e[2]}, {"OFFSETS", num_offsets}};
  auto* formula = is_causal ? VarlenAttentionFormula<true> : VarlenAttentionFormula<false>;
  return {"varlen_attention", dims, formula, 2e-3, {kAttentionScale, is_causal}, false, std::move(cu_seqlens)};
}
/// Extents of H, G, D, PAGE and TABLE; how many keys each sequence has, and where its queries begin in T rows. Of the
/// pages, twice as many as are needed, the odd ones are in the tables, the last one first.
inline FormulaCase PagedAttention(const std::array<std::int64_t, 5>& e, bool is_causal, std::int64_t t,
                                  const std::vector<float>& lengths, const std::vector<float>& cu_seqlens) {
  const auto s = static_cast<std::int64_t>(lengths.size());
  const std::int64_t pages = 2 * s * e[4];
  Extents dims = {{"T", t}, {"S", s}, {"OFFSETS", s + 1}, {"H", e[0]}, {"G", e[1]}, {"D", e[2]}};
  dims.insert({{"PAGES", pages}, {"PAGE", e[3]}, {"TABLE", e[4]}});
  std::vector<float> numbers;
  for (std::int64_t page = pages - 1; page > 0; page -= 2) numbers.push_back(static_cast<float>(page));
  numbers.insert(numbers.end(), lengths.begin(), lengths.end());
  numbers.insert(numbers.end(), cu_seqlens.begin(), cu_seqlens.end());
  auto* formula = is_causal ? PagedAttentionFormula<true> : PagedAttentionFormula<false>;
  return {"paged_attention", dims, formula, 2e-3, {kAttentionScale, is_causal}, false, std::move(numbers)};
}
inline FormulaCase SplitKMatmul(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t counters) {
  const Extents dims = {{"M", m}, {"N", n}, {"K", k}, {"COUNTERS", counters}};
  return {"split_k_matmul", dims, MatmulFormula, 4e-3, {}};
}
/// Extents of H, G, C and D; how many keys each sequence has.
inline FormulaCase DecodeAttention(const std::array<std::int64_t, 4>& e, std::vector<float> lengths) {
  const auto b = static_cast<std::int64_t>(lengths.size());
  const Extents dims = {{"B", b}, {"H", e[0]}, {"G", e[1]}, {"C", e[2]}, {"D", e[3]}};
  return {"decode_attention", dims, DecodeAttentionFormula, 2e-3, {kAttentionScale}, false, std::move(lengths)};
}
/// At which each split of the bundle's has keys of some sequence; of the others, and of a sequence that is empty, none.
inline FormulaCase DecodeAttentionInSplits() { return DecodeAttention({6, 2, 2048, 64}, {2048, 65, 0}); }
inline TunedKernel::NamedConfig SplitConfig(const char* backend, std::int64_t splits) {
  return {{"backend", backend}, {"TILE_N", 64},
          {"SPLITS", splits},   {"occupancy", std::string(backend) == "tile" ? 2 : 1},
          {"num_warps", 0},     {"num_stages", 0}};
}
/// Offsets of `groups` of `size` rows each.
inline std::vector<float> AlikeOffsets(int groups, int size) {
  std::vector<float> offsets;
  for (int group = 0; group <= groups; ++group) offsets.push_back(static_cast<float>(group * size));
  return offsets;
}

/// What a bundle of halves computes of bfloat16, which has 8 bits where a half has 11.
inline FormulaCase InBFloat16(FormulaCase of) {
  of.dtype = kBFloat16;
  of.tolerance *= 4;
  return of;
}

/// Of the bundles that have code for bfloat16, too: at a shape that fits the tiles, and at an odd one.
inline std::vector<FormulaCase> BFloat16Cases() {
  constexpr double kHalf = 2e-3;
  std::vector<FormulaCase> cases = {
      {"matmul", {{"M", 128}, {"N", 192}, {"K", 64}}, MatmulFormula, kHalf, {}},
      {"matmul", {{"M", 17}, {"N", 131}, {"K", 71}}, MatmulFormula, kHalf, {}},
      {"persistent_matmul", {{"M", 128}, {"N", 192}, {"K", 64}}, MatmulFormula, kHalf, {}},
      {"persistent_matmul", {{"M", 17}, {"N", 131}, {"K", 71}}, MatmulFormula, kHalf, {}},
      {"rms_norm", {{"M", 64}, {"N", 1024}}, RmsNormFormula, kHalf, {kEpsilon}},
      {"rms_norm", {{"M", 37}, {"N", 301}}, RmsNormFormula, kHalf, {kEpsilon}},
      {"silu_and_mul", {{"M", 64}, {"N", 1024}, {"N2", 2048}}, SiluAndMulFormula, kHalf, {}},
      {"silu_and_mul", {{"M", 3}, {"N", 301}, {"N2", 602}}, SiluAndMulFormula, kHalf, {}},
      {"rope", {{"T", 64}, {"H", 16}, {"D", 128}, {"R", 64}}, RopeFormula, 2 * kHalf, {}, true},
      {"rope", {{"T", 17}, {"H", 5}, {"D", 128}, {"R", 64}}, RopeFormula, 2 * kHalf, {}, true},
      {"layer_norm", {{"M", 64}, {"N", 1024}}, LayerNormFormula, kHalf, {kEpsilon}},
      {"layer_norm", {{"M", 37}, {"N", 301}}, LayerNormFormula, kHalf, {kEpsilon}},
      {"dual_gemm", {{"M", 128}, {"N", 192}, {"K", 64}}, DualGemmFormula, kHalf, {}},
      {"dual_gemm", {{"M", 17}, {"N", 131}, {"K", 71}}, DualGemmFormula, kHalf, {}},
      Attention({1, 2, 1, 128, 128, 64}, true),
      Attention({1, 6, 2, 37, 61, 80}, true),
      {"elementwise", {{"N", 65536}}, ElementwiseFormula, kHalf, {}},
      {"elementwise", {{"N", 1001}}, ElementwiseFormula, kHalf, {}},
      SplitKMatmul(128, 128, 2048, 16),
      SplitKMatmul(37, 72, 531, 6),
      GroupedGemm({2, 128, 256}, 256, {0, 128, 256}),
      GroupedGemm({7, 71, 131}, 100, {0, 0, 1, 1, 70, 70, 99, 100}),
      GroupedGemmPointers({64, 128, 256}, {64, 64}),
      GroupedGemmPointers({37, 71, 131}, {0, 1, 37, 20}),
      GroupedGemmPointers({37, 104, 136}, {0, 1, 37, 20}),
      VarlenAttention({2, 1, 64}, true, 256, {0, 128, 256}),
      VarlenAttention({4, 1, 80}, true, 70, {0, 5, 60}),
      PagedAttention({4, 2, 64, 128, 2}, true, 192, {256, 192}, {0, 128, 192}),
      PagedAttention({4, 1, 80, 16, 5}, true, 70, {70, 64}, {0, 5, 60}),
      DecodeAttention({4, 2, 4096, 64}, {4096}),
      DecodeAttention({20, 1, 130, 80}, {130, 65})};
  for (FormulaCase& of : cases) of = InBFloat16(std::move(of));
  return cases;
}

/// At shapes that fit the tiles, and at odd ones: one row, rows that no tile covers, extents that nothing divides. A
/// half has 11 bits, a bfloat16 8.
inline std::vector<FormulaCase> FormulaCases() {
  constexpr double kHalf = 2e-3, kBfloat16 = 8e-3;
  return {{"matmul", {{"M", 128}, {"N", 192}, {"K", 64}}, MatmulFormula, kHalf, {}},
          {"matmul", {{"M", 100}, {"N", 131}, {"K", 71}}, MatmulFormula, kHalf, {}},
          {"matmul", {{"M", 1}, {"N", 256}, {"K", 4001}}, MatmulFormula, 2 * kHalf, {}},
          {"matmul", {{"M", 17}, {"N", 4001}, {"K", 72}}, MatmulFormula, kHalf, {}},
          SplitKMatmul(128, 128, 2048, 16),
          SplitKMatmul(1, 131, 4001, 3),
          SplitKMatmul(37, 72, 531, 6),
          SplitKMatmul(100, 131, 71, 1),  // Too few counters for some tiles, and too few numbers for most splits.
          {"persistent_matmul", {{"M", 128}, {"N", 192}, {"K", 64}}, MatmulFormula, kHalf, {}},
          {"persistent_matmul", {{"M", 100}, {"N", 131}, {"K", 71}}, MatmulFormula, kHalf, {}},
          {"persistent_matmul", {{"M", 1}, {"N", 4001}, {"K", 128}}, MatmulFormula, kHalf, {}},
          {"rms_norm", {{"M", 64}, {"N", 1024}}, RmsNormFormula, kHalf, {kEpsilon}},
          {"rms_norm", {{"M", 37}, {"N", 301}}, RmsNormFormula, kHalf, {kEpsilon}},
          {"rms_norm", {{"M", 700}, {"N", 4001}}, RmsNormFormula, kHalf, {kEpsilon}},
          {"rms_norm", {{"M", 1}, {"N", 16384}}, RmsNormFormula, kHalf, {kEpsilon}},
          {"rms_norm", {{"M", 3}, {"N", 40008}}, RmsNormFormula, kHalf, {kEpsilon}},
          {"softmax", {{"M", 64}, {"N", 1024}}, SoftmaxFormula, 1e-6, {}},
          {"softmax", {{"M", 37}, {"N", 301}}, SoftmaxFormula, 1e-6, {}},
          {"softmax", {{"M", 700}, {"N", 4001}}, SoftmaxFormula, 1e-6, {}},
          {"softmax", {{"M", 1}, {"N", 16384}}, SoftmaxFormula, 1e-6, {}},
          {"softmax", {{"M", 3}, {"N", 40004}}, SoftmaxFormula, 1e-6, {}},
          {"silu_and_mul", {{"M", 64}, {"N", 1024}, {"N2", 2048}}, SiluAndMulFormula, kHalf, {}},
          {"silu_and_mul", {{"M", 3}, {"N", 4001}, {"N2", 8002}}, SiluAndMulFormula, kHalf, {}},
          {"silu_and_mul", {{"M", 1}, {"N", 16384}, {"N2", 32768}}, SiluAndMulFormula, kHalf, {}},
          {"rope", {{"T", 64}, {"H", 16}, {"D", 128}, {"R", 64}}, RopeFormula, 2 * kHalf, {}, true},
          {"rope", {{"T", 17}, {"H", 5}, {"D", 128}, {"R", 64}}, RopeFormula, 2 * kHalf, {}, true},
          {"rope", {{"T", 1}, {"H", 32}, {"D", 128}, {"R", 64}}, RopeFormula, 2 * kHalf, {}, true},
          {"layer_norm", {{"M", 64}, {"N", 1024}}, LayerNormFormula, kHalf, {kEpsilon}},
          {"layer_norm", {{"M", 37}, {"N", 301}}, LayerNormFormula, kHalf, {kEpsilon}},
          {"layer_norm", {{"M", 700}, {"N", 4001}}, LayerNormFormula, kHalf, {kEpsilon}},
          {"layer_norm", {{"M", 1}, {"N", 16384}}, LayerNormFormula, kHalf, {kEpsilon}},
          {"layer_norm", {{"M", 3}, {"N", 40008}}, LayerNormFormula, kHalf, {kEpsilon}},
          {"dual_gemm", {{"M", 128}, {"N", 192}, {"K", 64}}, DualGemmFormula, kHalf, {}},
          {"dual_gemm", {{"M", 100}, {"N", 131}, {"K", 71}}, DualGemmFormula, kHalf, {}},
          {"dual_gemm", {{"M", 1}, {"N", 256}, {"K", 1001}}, DualGemmFormula, 2 * kHalf, {}},
          Attention({1, 2, 1, 128, 128, 64}, true),
          Attention({1, 2, 2, 128, 256, 128}, false),
          Attention({2, 6, 2, 37, 61, 64}, true),   // Groups of three heads; a part of a prompt.
          Attention({1, 4, 1, 1, 301, 128}, true),  // Decode.
          Attention({1, 2, 1, 70, 70, 256}, true),
          Attention({1, 1, 1, 50, 20, 64}, true),   // The first 30 queries see no key.
          Attention({1, 3, 3, 33, 41, 80}, false),  // A head for which there is no Tile IR.
          {"fp8_matmul", {{"M", 256}, {"N", 256}, {"K", 128}, {"ONE", 1}}, Fp8MatmulFormula, kBfloat16, {}},
          {"fp8_matmul", {{"M", 100}, {"N", 131}, {"K", 71}, {"ONE", 1}}, Fp8MatmulFormula, kBfloat16, {}},
          {"fp8_matmul", {{"M", 37}, {"N", 264}, {"K", 1040}, {"ONE", 1}}, Fp8MatmulFormula, kBfloat16, {}},
          {"fp8_matmul", {{"M", 1}, {"N", 136}, {"K", 2064}, {"ONE", 1}}, Fp8MatmulFormula, kBfloat16, {}},
          Fp8BlockMatmul(256, 256, 128),
          Fp8BlockMatmul(100, 131, 171),
          Fp8BlockMatmul(37, 264, 1040),
          Fp8BlockMatmul(1, 136, 2064),
          GroupedGemm({2, 128, 256}, 256, {0, 128, 256}),
          GroupedGemm({7, 71, 131}, 100, {0, 0, 1, 1, 70, 70, 99, 100}),  // Empty groups, and of one row.
          GroupedGemm({4, 1001, 256}, 1, {0, 0, 0, 1, 1}),
          GroupedGemm({3, 64, 80}, 200, {0, 64, 130, 190}),       // Ten rows of no group.
          GroupedGemm({300, 32, 16}, 600, AlikeOffsets(300, 2)),  // More offsets than are looked at together.
          GroupedGemmPointers({64, 128, 256}, {64, 64}),
          GroupedGemmPointers({37, 71, 131}, {0, 1, 37, 20}),   // An empty group, and one of one row.
          GroupedGemmPointers({37, 104, 136}, {0, 1, 37, 20}),  // By tensor cores, whose tiles they do not fill.
          GroupedGemmPointers({1, 1001, 256}, {0, 1, 1}),
          VarlenAttention({2, 1, 64}, true, 256, {0, 128, 256}),
          VarlenAttention({6, 2, 64}, true, 203, {0, 1, 1, 38, 166, 203}),  // An empty one, and of one row.
          VarlenAttention({3, 3, 128}, false, 101, {0, 37, 100, 101}),
          VarlenAttention({4, 1, 80}, true, 70, {0, 5, 60}),  // Ten rows of no sequence.
          VarlenAttention({1, 1, 64}, true, 600, AlikeOffsets(300, 2)),
          PagedAttention({4, 2, 64, 128, 2}, true, 192, {256, 192}, {0, 128, 192}),
          PagedAttention({6, 2, 64, 16, 4}, true, 44, {37, 0, 64, 1}, {0, 37, 38, 40, 44}),  // Fewer keys than queries.
          PagedAttention({3, 3, 128, 64, 3}, false, 5, {130, 192, 1, 64, 65}, {0, 1, 2, 3, 4, 5}),  // Decoding.
          PagedAttention({4, 1, 80, 16, 5}, true, 70, {70, 64}, {0, 5, 60}),  // Ten rows of no sequence; no Tile IR.
          DecodeAttention({4, 2, 4096, 64}, {4096}),
          DecodeAttention({2, 2, 64, 64}, {0}),               // One sequence, without keys.
          DecodeAttention({1, 1, 100, 128}, {1}),             // The smallest; a capacity that no tile divides.
          DecodeAttention({6, 2, 333, 64}, {333, 0, 1, 64}),  // Groups of three heads.
          DecodeAttention({20, 1, 130, 80}, {130, 65}),       // More heads than a block has; no Tile IR.
          DecodeAttention({3, 3, 700, 256}, {513}),
          {"elementwise", {{"N", 65536}}, ElementwiseFormula, kHalf, {}},
          {"elementwise", {{"N", 1}}, ElementwiseFormula, kHalf, {}},
          {"elementwise", {{"N", 100001}}, ElementwiseFormula, kHalf, {}},
          {"vector_add", {{"N", 1}}, VectorAddFormula, 1e-6, {}},
          {"vector_add", {{"N", 65536}}, VectorAddFormula, 1e-6, {}},
          {"vector_add", {{"N", 100001}}, VectorAddFormula, 1e-6, {}}};
}

/// A table of a tensor's slices along its first dim.
inline std::unique_ptr<DeviceTable> TableOfSlices(const TensorView& tensor, StreamView stream) {
  TensorView slice = TensorView::Contiguous(nullptr, tensor.dtype, tensor.shape.data() + 1, tensor.rank - 1);
  std::vector<TensorView> slices;
  for (std::int64_t i = 0; i < tensor.shape[0]; ++i) {
    slice.data = static_cast<char*>(tensor.data) + static_cast<std::size_t>(i) * slice.bytes;
    slices.push_back(slice);
  }
  Result<std::unique_ptr<DeviceTable>> table = DeviceTable::Create(std::move(slices), stream);
  EXPECT_OK(table);
  return *std::move(table);
}

/// Launches the bundle on random tensors, which tunes it under `policy`, and compares every tensor with the formula:
/// inputs too must be what they were. `offset`: elements between the memory's start and each tensor's. `pinned`: the
/// config that runs, three times, in place of tuning. `seed`: of the tensors' elements.
inline void ExpectItComputesItsFormula(const FormulaCase& of, const Device& device, StreamView stream,
                                       AutotunePolicy policy, std::size_t offset = 0,
                                       const TunedKernel::NamedConfig& pinned = {}, unsigned seed = 1) {
  const char* copied = std::getenv("TUNEONCE_BUNDLES");  // By tests/gpu/run.sh, where the programs are a copy.
  Result<Bundle> bundle = Bundle::Load((copied != nullptr ? copied : TUNEONCE_BUNDLE_FOLDER) + ("/" + of.bundle));
  ASSERT_OK(bundle);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  Tensors tensors;
  std::vector<DeviceBuffer> buffers;
  std::vector<TensorView> views;
  std::vector<std::unique_ptr<DeviceTable>> tables;  // By tensor; null for one that is passed itself.
  std::vector<DType> dtypes;
  auto whole_numbers = of.whole_numbers.begin();
  for (const Parameter& parameter : bundle->definition().parameters()) {
    if (parameter.kind != ParameterKind::kTensor) continue;
    const DType dtype = parameter.dtype == DType::kAny ? of.dtype : parameter.dtype;
    std::vector<std::int64_t> extents;
    std::size_t count = 1;
    for (const std::string& dim : parameter.dims) {
      extents.push_back(of.dims.at(dim));
      count *= static_cast<std::size_t>(extents.back());
    }
    std::vector<float> values(offset + count);
    for (float& value : values) value = uniform(random);
    if (dtype == DType::kInt32) {
      std::fill(values.begin(), values.end(), 0.0f);
      if (parameter.access == Access::kIn) {
        const auto taken = static_cast<std::ptrdiff_t>(count);
        ASSERT_LE(taken, of.whole_numbers.end() - whole_numbers) << parameter.name;
        std::copy(whole_numbers, whole_numbers + taken, values.end() - taken);
        whole_numbers += taken;
      }
    }
    const std::vector<float> memory = Packed(values, dtype);
    values = Unpacked(memory, dtype);  // What the kernel is given.
    tensors.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(offset),
                         values.begin() + static_cast<std::ptrdiff_t>(offset + count));
    Result<DeviceBuffer> buffer = DeviceBuffer::Allocate(stream, memory.size() * sizeof(float));
    ASSERT_OK(buffer);
    ASSERT_OK(buffer->CopyFromHost(memory.data(), buffer->bytes()));
    ASSERT_OK(stream.Synchronize());
    char* data = static_cast<char*>(buffer->data()) + offset * DTypeBytes(dtype);
    views.push_back(TensorView::Contiguous(data, dtype, extents.data(), static_cast<int>(extents.size())));
    tables.emplace_back();
    if (parameter.by_pointers) tables.back() = TableOfSlices(views.back(), stream);
    dtypes.push_back(dtype);
    buffers.push_back(*std::move(buffer));
  }
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < views.size(); ++i) {
    arguments.push_back(tables[i] == nullptr ? Argument(views[i]) : Argument(tables[i]->table()));
  }
  for (const auto& scalar : of.scalars) {
    std::visit([&](const auto& value) { arguments.emplace_back(value); }, scalar);
  }
  if (of.is_in_place) {
    AutotunePolicy fixed = policy;
    fixed.mode = AutotunePolicy::Mode::kFallbackOnly;
    Result<TunedKernel> kernel = TunedKernelOn::FromBundle(device, *bundle, fixed);
    ASSERT_OK(kernel);
    ASSERT_OK(kernel->Launch(stream.get(), arguments));
    ASSERT_OK(stream.Synchronize());
    of.formula(of.dims, tensors);
  }
  Result<TunedKernel> kernel = TunedKernelOn::FromBundle(device, *bundle, policy);
  ASSERT_OK(kernel);
  if (!pinned.empty()) {
    TunedKernel::Shape shape;
    for (const auto& [dim, extent] : of.dims) shape.values.emplace_back(dim, extent);
    ASSERT_OK(kernel->Pin(shape, pinned));
  }
  for (int launches = pinned.empty() ? 1 : 3; launches > 0; --launches) {
    ASSERT_OK(kernel->Launch(stream.get(), arguments));
  }
  EXPECT_EQ(kernel->counters().tunes, pinned.empty() ? 1 : 0);
  EXPECT_EQ(kernel->counters().fallbacks, 0);
  of.formula(of.dims, tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> memory(buffers[i].bytes() / sizeof(float));
    ASSERT_OK(buffers[i].CopyToHost(memory.data(), buffers[i].bytes()));
    ASSERT_OK(stream.Synchronize());
    const std::vector<float> got = Unpacked(memory, dtypes[i]);
    double largest = 0;
    for (std::size_t at = 0; at < tensors[i].size(); ++at) {
      const double expected = tensors[i][at];
      const double error = std::fabs(static_cast<double>(got[offset + at]) - expected) / (1 + std::fabs(expected));
      largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    }
    EXPECT_LE(largest, of.tolerance) << "tensor " << i;
  }
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_BUNDLE_FORMULAS_H_
