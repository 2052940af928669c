// The bundles that are shipped: which back ends each has, and that they follow our own advice (docs/spaces.md,
// docs/troubleshooting.md). What they compute: tests/runtime/bundle_formula_test.cc, on a GPU
// tests/gpu/bundle_gpu_test.cc.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "launch/code_assumptions.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "tile_ir/tile_ir.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

using testing::CpuTarget;
using testing::Sm;

constexpr int kNever = 1000;
struct Shipped {
  const char* name;
  std::vector<std::string> variants;
  std::set<std::string> racing_on_90;  ///< Values of the axis `backend`.
  int clusters_from = kNever;          ///< num_ctas = 2, from this capability on, where that is legal.
  std::size_t num_buckets = 1;         ///< So many dims, the first ones, are buckets.
  bool has_bfloat16 = false;           ///< Of each variant there is one for bfloat16, too, unless it serves both.
};
void PrintTo(const Shipped& shipped, std::ostream* out) { *out << shipped.name; }
const std::vector<std::string> kByTwo = {"tile", "tile_any", "cuda", "cuda_behind_tile", "cpu"};
/// Its one extent is a bucket, so that nothing is assumed of it.
const std::vector<std::string> kVectors = {"tile", "cuda", "cuda_behind_tile", "cpu"};
/// The multiplication of matrices is no match for CUDA C++ without tensor cores: there Triton's code races, too.
const std::vector<std::string> kByThree = {"tile",
                                           "tile_any",
                                           "tile_unaligned_N",
                                           "tile_unaligned_K",
                                           "tile_unaligned_N_K",
                                           "cuda",
                                           "cuda_behind_tile",
                                           "triton_sm90",
                                           "triton_sm90_unaligned_N",
                                           "triton_sm90_unaligned_K",
                                           "triton_sm90_any",
                                           "cpu"};
/// Behind the code for aligned rows, rows may begin anywhere along N, along K, or both.
const std::vector<std::string> kGrouped = {"tile",
                                           "tile_any",
                                           "tile_unaligned_N",
                                           "tile_unaligned_K",
                                           "tile_unaligned_N_K",
                                           "cuda",
                                           "cuda_behind_tile",
                                           "triton_sm90",
                                           "triton_sm90_unaligned_N",
                                           "triton_sm90_unaligned_K",
                                           "triton_sm90_unaligned_N_K",
                                           "triton_sm90_any",
                                           "cpu"};
const std::vector<std::string> kGated = {"tile", "tile_any", "tile_unaligned_N_N2", "cuda", "cuda_behind_tile", "cpu"};
/// A size of head is a constant of the code that has tensor cores.
const std::vector<std::string> kByHead = {"tile_D64",
                                          "tile_D128",
                                          "tile_D256",
                                          "cuda",
                                          "cuda_behind_tile",
                                          "triton_sm90_D64",
                                          "triton_sm90_D64_any",
                                          "triton_sm90_D128",
                                          "triton_sm90_D128_any",
                                          "triton_sm90_D256",
                                          "triton_sm90_D256_any",
                                          "cpu"};
const std::vector<std::string> kSequences = {"tile_D64",
                                             "tile_D128",
                                             "cuda",
                                             "cuda_behind_tile",
                                             "triton_sm90_D64",
                                             "triton_sm90_D64_any",
                                             "triton_sm90_D128",
                                             "triton_sm90_D128_any",
                                             "cpu"};
/// The variants with those in CUDA Tile C++ after the last one in Tile IR.
std::vector<std::string> WithTileCpp(std::vector<std::string> variants, const std::vector<std::string>& in_tile_cpp) {
  variants.insert(std::find(variants.begin(), variants.end(), "cuda"), in_tile_cpp.begin(), in_tile_cpp.end());
  return variants;
}
bool IsTileCpp(const std::string& variant) { return variant.rfind("tile_cpp", 0) == 0; }
const std::vector<Shipped> kShipped = {
    {"attention",
     WithTileCpp(kByHead, {"tile_cpp_D64", "tile_cpp_D128", "tile_cpp_D256"}),
     {"tile", "triton", "cuda"},
     90,
     3,
     true},
    {"decode_attention", kByHead, {"tile", "triton", "cuda"}, kNever, 2, true},
    {"dual_gemm", kByThree, {"tile", "triton", "cuda"}, 90, 1, true},
    {"elementwise", kVectors, {"tile", "cuda"}, 90, 1, true},
    {"fp8_block_matmul", kByThree, {"tile", "triton", "cuda"}, 90},
    {"fp8_matmul", kByThree, {"tile", "triton", "cuda"}, 90},
    {"grouped_gemm", kGrouped, {"tile", "triton", "cuda"}, kNever, 1, true},
    {"grouped_gemm_pointers", {"cuda_mma", "cuda", "cpu"}, {"cuda"}, kNever, 1, true},
    {"layer_norm", kByTwo, {"tile", "cuda"}, kNever, 1, true},
    {"matmul", WithTileCpp(kByThree, {"tile_cpp"}), {"tile", "triton", "cuda"}, 90, 1, true},
    {"paged_attention", kSequences, {"tile", "triton", "cuda"}, kNever, 2, true},
    {"persistent_matmul", kByThree, {"tile", "triton", "cuda"}, 90, 1, true},
    {"rms_norm", WithTileCpp(kByTwo, {"tile_cpp"}), {"tile", "cuda"}, kNever, 1, true},
    {"rope", kByTwo, {"tile", "cuda"}, kNever, 1, true},
    {"silu_and_mul", kGated, {"tile", "cuda"}, kNever, 1, true},
    {"softmax", WithTileCpp(kByTwo, {"tile_cpp"}), {"tile", "cuda"}},
    {"split_k_matmul", kByThree, {"tile", "triton", "cuda"}, kNever, 1, true},
    {"varlen_attention", kSequences, {"tile", "triton", "cuda"}, kNever, 2, true},
    {"vector_add", WithTileCpp(kVectors, {"tile_cpp"}), {"tile", "cuda"}}};

class ShippedBundleTest : public ::testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override {
    Result<Bundle> bundle = Bundle::Load(std::string(TUNEONCE_BUNDLE_FOLDER) + "/" + GetParam().name);
    ASSERT_OK(bundle);
    bundle_.emplace(*std::move(bundle));
  }
  const KernelDefinition& definition() const { return bundle_->definition(); }
  std::vector<Config> ConfigsOn(const Target& target) const {
    Result<std::vector<Config>> configs = definition().space().Enumerate(target);
    EXPECT_OK(configs);
    return configs.ok() ? *configs : std::vector<Config>();
  }
  static std::string BackendOf(const Config& config) { return std::get<std::string>(*config.Find("backend")); }
  static std::int64_t HintOf(const Config& config, const char* hint) {
    return std::get<std::int64_t>(*config.Find(hint));
  }

  std::optional<Bundle> bundle_;
};

TEST_P(ShippedBundleTest, LoadsWithItsBackEnds) {
  EXPECT_EQ(definition().name(), GetParam().name);
  std::vector<std::string> found;
  std::set<std::string> in_bfloat16;
  for (const Variant& variant : definition().variants()) {
    const std::size_t suffix = variant.name.rfind("_bfloat16");
    if (suffix == std::string::npos) {
      found.push_back(variant.name);
    } else {
      in_bfloat16.insert(variant.name.substr(0, suffix));
    }
  }
  EXPECT_EQ(found, GetParam().variants);
  std::set<std::string> wanted;  // One variant in C++ with a macro, or an argument of a template, serves both.
  std::copy_if(found.begin(), found.end(), std::inserter(wanted, wanted.end()),
               [](const std::string& name) { return name != "cpu" && !IsTileCpp(name); });
  EXPECT_EQ(in_bfloat16, GetParam().has_bfloat16 ? wanted : std::set<std::string>());
  for (const std::string& dim : definition().dims()) EXPECT_EQ(bundle_->example().dims.count(dim), 1u) << dim;
}

TEST_P(ShippedBundleTest, ItsBackEndsRaceAndTheSpaceIsSmall) {
  std::set<std::string> racing;
  for (const Config& config : ConfigsOn(Sm(90))) racing.insert(BackendOf(config));
  EXPECT_EQ(racing, GetParam().racing_on_90);
  EXPECT_LE(ConfigsOn(Sm(90)).size(), static_cast<std::size_t>(SearchSpace::kDefaultMaxConfigs));
  EXPECT_EQ(definition().space().max_configs(), SearchSpace::kDefaultMaxConfigs) << "no more were asked for";
  for (const Config& config : ConfigsOn(Sm(80))) EXPECT_NE(BackendOf(config), "triton") << "its code is for 9.0 alone";
  const std::string fallback = racing.count("tile") > 0 ? "tile" : "cuda";
  for (const Config& config : ConfigsOn(CpuTarget())) EXPECT_EQ(BackendOf(config), fallback) << "what stands for them";
}

TEST_P(ShippedBundleTest, ClustersAreTriedWhereTheyAreLegal) {
  auto clusters = [&](const Target& target) {
    std::vector<Config> configs = ConfigsOn(target);
    return std::count_if(configs.begin(), configs.end(), [](const Config& config) {
      return config.Find("num_ctas") != nullptr && HintOf(config, "num_ctas") > 1;
    });
  };
  EXPECT_EQ(clusters(Sm(90)) > 0, GetParam().clusters_from <= 90);
  EXPECT_EQ(clusters(Sm(100)) > 0, GetParam().clusters_from <= 100);
  EXPECT_EQ(clusters(Sm(80)) + clusters(Sm(89)) + clusters(Sm(120)) + clusters(CpuTarget()), 0);
}

TEST_P(ShippedBundleTest, WhatComesInAnyNumberIsABucketAndTheRestIsExact) {
  ASSERT_FALSE(definition().key().empty());
  for (std::size_t i = 0; i < definition().key().size(); ++i) {
    const bool is_bucket = i < GetParam().num_buckets;
    if (is_bucket) {
      EXPECT_EQ(definition().key()[i].name, definition().dims()[i]) << "tokens, rows, elements";
    }
    EXPECT_EQ(definition().key()[i].Round(700), is_bucket ? 1024 : 700);
  }
}

TEST_P(ShippedBundleTest, ItsCodeAssumesNothingThatIsNotDeclared) {
  Problem problem;
  const Target sm_90 = Sm(90);
  problem.target = &sm_90;
  problem.dims = Dims(definition().dims().size());
  for (int i = 0; i < static_cast<int>(definition().dims().size()); ++i) problem.dims[Dim{i}] = 128;
  int num_checked = 0;
  bool has_tile_ir = false;
  for (const Variant& variant : definition().variants()) {
    if (variant.convention != CallingConvention::kCutilePython) continue;
    has_tile_ir = true;
    Result<ParameterLayout> layout = ParameterLayout::Create(definition(), variant.convention, variant.parameters);
    ASSERT_OK(layout);
    Result<AssumptionChecks> declared = AssumptionChecks::Create(definition(), variant, *layout);
    ASSERT_OK(declared);
    for (const Config& config : ConfigsOn(*problem.target)) {
      const KernelSource source = variant.IsBackendOf(config) ? variant.MakeSource(config, problem) : KernelSource();
      if (source.kind != SourceKind::kTileIr || source.content.empty()) continue;
      SCOPED_TRACE(variant.name + " {" + config.ToString() + "}");
      ASSERT_OK(ReadTileIrAssumptions(source.content, source.symbol));
      EXPECT_OK(CheckAssumptionsOfCode(*declared, *layout, config, source));
      ++num_checked;
    }
  }
  EXPECT_EQ(num_checked > 0, has_tile_ir);
}

/// Or a launch in the bucket would run the baseline, where its tuned code was compiled for other extents.
TEST_P(ShippedBundleTest, NoCodeIsForSomeExtentsOfABucketOnly) {
  const auto first = definition().dims().begin();
  const std::set<std::string> buckets(first, first + static_cast<std::ptrdiff_t>(GetParam().num_buckets));
  for (const Variant& variant : definition().variants()) {
    for (const Assumption& assumption : variant.assumptions) {
      if (assumption.kind != Assumption::Kind::kExtentDivisibleBy) continue;
      const Parameter& tensor = definition().parameters()[*definition().FindParameter(assumption.tensor)];
      EXPECT_EQ(buckets.count(tensor.dims[static_cast<std::size_t>(assumption.dimension)]), 0u) << variant.name;
    }
  }
}

/// Of a dim where all are `extent`, but for those that follow from others or have one size.
std::int64_t ExtentOf(const std::string& dim, std::int64_t extent) {
  if (dim == "N2") return 2 * extent;
  if (dim == "OFFSETS") return extent + 1;
  if (dim == "NB" || dim == "KB") return (extent + 127) / 128;
  if (dim == "PAGE") return 16;
  return dim == "ONE" ? 1 : dim == "R" ? 64 : dim == "D" ? 128 : extent;
}

TEST_P(ShippedBundleTest, EveryShapeHasABaselineThatIsInTheSpace) {
  for (std::int64_t extent : {1, 7, 64, 4001, 16384, 100003}) {
    for (const Target& target : {Sm(75), Sm(80), Sm(90), Sm(120), CpuTarget()}) {
      SCOPED_TRACE(target.name() + ", " + std::to_string(extent));
      Problem problem;
      problem.target = &target;
      problem.dims = Dims(definition().dims().size());
      for (int i = 0; i < static_cast<int>(definition().dims().size()); ++i) {
        const std::string& dim = definition().dims()[static_cast<std::size_t>(i)];
        problem.dims[Dim{i}] = ExtentOf(dim, extent);
      }
      Result<std::optional<Config>> baseline = definition().space().BaselineFor(problem);
      ASSERT_OK(baseline);
      ASSERT_TRUE(baseline->has_value());
      Result<std::vector<Config>> configs = definition().space().Enumerate(target, &problem);
      ASSERT_OK(configs);
      EXPECT_EQ(std::count(configs->begin(), configs->end(), **baseline), 1);
    }
  }
}

/// Behind code that assumes alignment, strides or extents, or that needs a compiler that is not everywhere, stands code
/// of the same back end that does not.
TEST_P(ShippedBundleTest, WhatTheBaselinesBackEndDoesNotSuitRunsAllTheSame) {
  const std::string backend = BackendOf(*definition().space().baseline());
  for (const std::string suffix : {"", "_bfloat16"}) {
    if (!suffix.empty() && !GetParam().has_bfloat16) continue;
    const Variant* last = nullptr;
    for (const Variant& variant : definition().variants()) {
      const bool is_of_dtype = (variant.name.rfind("_bfloat16") == std::string::npos) == suffix.empty();
      if (variant.BackendName() == backend && is_of_dtype && variant.runs_on.HoldsOn(Sm(75))) last = &variant;
    }
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->name, (backend == "tile" ? "cuda_behind_tile" : "cuda") + suffix);
    for (const Assumption& assumption : last->assumptions) {
      const bool is_of_dtype = assumption.kind == Assumption::Kind::kDTypeIn && GetParam().has_bfloat16;
      EXPECT_TRUE(is_of_dtype || assumption.kind == Assumption::Kind::kNoOverlap) << assumption.tensor;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedBundleTest, ::testing::ValuesIn(kShipped),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(ShippedBundlesTest, ABuildFindsThemAllByName) {
  std::vector<std::string> names;
  for (const Shipped& shipped : kShipped) names.emplace_back(shipped.name);
  EXPECT_EQ(Bundle::Names(), names);
}

}  // namespace
}  // namespace tuneonce
