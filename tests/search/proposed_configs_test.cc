// Which of a matmul's many configs are tried: those next to what a model proposes. The model itself, where it is there
// (TUNEONCE_MATMUL_HEURISTICS, which scripts/environment sets).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "search/matmul_heuristics.h"
#include "testing/expect_status.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
namespace {

DeviceIdentity Gpu(const std::string& name, int major, int minor) {
  DeviceIdentity device;
  device.name = name;
  device.capability_major = major;
  device.capability_minor = minor;
  return device;
}

Dims Extents(std::initializer_list<std::int64_t> extents) {
  Dims dims(static_cast<int>(extents.size()));
  int i = 0;
  for (std::int64_t extent : extents) dims[Dim{i++}] = extent;
  return dims;
}

/// A matmul with 3 * 3 * 2 * 2 * 2 = 72 configs. The last axis is a hint of which no model says anything.
struct Gemm {
  SearchSpace space;
  IntAxis m = space.AddAxis("TILE_M", {16, 64, 256});
  IntAxis n = space.AddAxis("TILE_N", {32, 64, 128});
  IntAxis k = space.AddAxis("TILE_K", {32, 64});
  IntAxis stages = space.AddHintAxis("num_stages", {0, 4});
  IntAxis occupancy = space.AddHintAxis("occupancy", {1, 2});

  KernelDefinition Definition(MatmulParts parts = {}) {
    space.SetBaseline({{m, 64}, {n, 32}, {k, 32}, {stages, 0}, {occupancy, 2}}).MaxConfigs(100);
    KernelDefinition definition("gemm");
    definition
        .Parameters({In("a", kFloat16, {"M", "K"}), In("b", kFloat16, {"K", "N"}), Out("c", kFloat16, {"M", "N"})})
        .Space(space)
        .Grid(Grid::TileCoverage({{"M", m}, {"N", n}}))
        .Matmul(std::move(parts))
        .AddVariant(CudaCpp("extern \"C\" __global__ void gemm() {}", "gemm"));
    return definition;
  }
};

class ProposedConfigsTest : public ::testing::Test {
 protected:
  ProposedConfigsTest() {
    EXPECT_OK(definition_.Validate());
    problem_.target = &target_;
    problem_.dims = Extents({4096, 4096, 4096});
    problem_.dtypes.fill(DType::kFloat16);
    configs_ = *definition_.space().Enumerate(target_, &problem_);
  }
  ProposedConfigs Propose(int most, const DeviceIdentity& device) {
    return ProposeConfigs(definition_, problem_, device, configs_, definition_.space().baseline(), most, environment_);
  }

  Gemm gemm_;
  KernelDefinition definition_ = gemm_.Definition();
  DeviceIdentity h200_ = Gpu("NVIDIA H200", 9, 0);
  const Target target_ = Target::Of(h200_);
  Problem problem_;
  std::vector<Config> configs_;
  Environment environment_ = Environment::Read();
};

std::vector<std::string> Strings(const std::vector<Config>& configs) {
  std::vector<std::string> strings;
  for (const Config& config : configs) strings.push_back(config.ToString());
  return strings;
}

TEST_F(ProposedConfigsTest, ThoseNextToAProposalAreTakenInTheSpacesOrder) {
  MatmulProposal large;
  large.tile_m = 256;
  large.tile_n = 128;
  large.tile_k = 64;
  large.num_stages = 4;
  MatmulProposal small = large;
  small.tile_m = 16;
  small.tile_n = 32;
  // What is as near to either: what was proposed first.
  EXPECT_EQ(Strings(NearestTo({large, small}, {}, configs_, 2)),
            (std::vector<std::string>{"TILE_M=256, TILE_N=128, TILE_K=64, num_stages=0, occupancy=1",
                                      "TILE_M=256, TILE_N=128, TILE_K=64, num_stages=0, occupancy=2"}));
  EXPECT_EQ(Strings(NearestTo({small, large}, {}, configs_, 2)),
            (std::vector<std::string>{"TILE_M=16, TILE_N=32, TILE_K=64, num_stages=0, occupancy=1",
                                      "TILE_M=16, TILE_N=32, TILE_K=64, num_stages=0, occupancy=2"}));
  std::vector<Config> eight = NearestTo({large, small}, {}, configs_, 8);
  EXPECT_EQ(eight.size(), 8u);
  for (const Config& config : eight) {
    EXPECT_TRUE((config[gemm_.m] == 256 && config[gemm_.n] == 128) || (config[gemm_.m] == 16 && config[gemm_.n] == 32))
        << config.ToString();
    EXPECT_EQ(config[gemm_.k], 64);
  }
  EXPECT_TRUE(std::is_sorted(eight.begin(), eight.end(), [&](const Config& a, const Config& b) {
    return std::find(configs_.begin(), configs_.end(), a) < std::find(configs_.begin(), configs_.end(), b);
  }));
}

TEST_F(ProposedConfigsTest, StagesDecideAmongEqualTiles) {
  MatmulProposal proposal;
  proposal.tile_m = 64;
  proposal.tile_n = 64;
  proposal.tile_k = 32;
  proposal.num_stages = 16;
  // Neither is 16, and the compiler's own selection is as good as it.
  for (const std::string& config : Strings(NearestTo({proposal}, {}, configs_, 2))) {
    EXPECT_EQ(config.substr(0, 48), "TILE_M=64, TILE_N=64, TILE_K=32, num_stages=0, o") << config;
  }
}

TEST_F(ProposedConfigsTest, WithoutAModelAllConfigsAreTried) {
  EXPECT_EQ(Propose(0, h200_).configs, configs_) << "it is not asked";
  EXPECT_EQ(Propose(0, h200_).note, "");
  EXPECT_EQ(Propose(72, h200_).configs, configs_) << "there are no more than that";
  DeviceIdentity cpu;
  cpu.is_cpu_device = true;
  EXPECT_EQ(Propose(16, cpu).configs, configs_);
  EXPECT_EQ(Propose(16, cpu).note, "");

  environment_.matmul_heuristics = "off";
  const ProposedConfigs off = Propose(16, h200_);
  EXPECT_EQ(off.configs, configs_);
  EXPECT_EQ(off.note, "all configs are tried: nvMatmulHeuristics is disabled by TUNEONCE_MATMUL_HEURISTICS");
  environment_.matmul_heuristics = "/nowhere/libnvMatmulHeuristics.so.0";
  EXPECT_NE(Propose(16, h200_).note.find("looked for: /nowhere/"), std::string::npos) << Propose(16, h200_).note;
  EXPECT_EQ(Propose(16, h200_).configs, configs_);
  environment_.matmul_heuristics = "libm.so.6";
  EXPECT_EQ(Propose(16, h200_).note,
            "all configs are tried: libm.so.6 is not nvMatmulHeuristics 0.1: some of its functions are missing");
}

TEST_F(ProposedConfigsTest, AKernelThatIsNoMatmulIsNotAsked) {
  KernelDefinition plain("plain");
  plain.Parameters({In("a", kFloat16, {"M", "K"}), In("b", kFloat16, {"K", "N"}), Out("c", kFloat16, {"M", "N"})})
      .Space(gemm_.space)
      .Grid(Grid::Fixed(1))
      .AddVariant(CudaCpp("extern \"C\" __global__ void gemm() {}", "gemm"));
  ASSERT_OK(plain.Validate());
  const ProposedConfigs all = ProposeConfigs(plain, problem_, h200_, configs_, std::nullopt, 16, environment_);
  EXPECT_EQ(all.configs, configs_);
  EXPECT_EQ(all.note, "");
}

TEST(MatmulPartsTest, APartThatTheKernelDoesNotHaveIsNamed) {
  auto message = [](auto change) {
    MatmulParts parts;
    change(parts);
    return Gemm().Definition(parts).Validate().message();
  };
  EXPECT_EQ(message([](MatmulParts& p) { p.a = "x"; }),
            "kernel 'gemm': Matmul names the tensor 'x', but the kernel has no such tensor");
  EXPECT_EQ(message([](MatmulParts& p) { p.k = "D"; }),
            "kernel 'gemm': Matmul names the dim 'D', but the kernel's dims are: M, K, N");
  EXPECT_EQ(message([](MatmulParts& p) { p.batch = "B"; }),
            "kernel 'gemm': Matmul names the dim 'B', but the kernel's dims are: M, K, N");
  EXPECT_EQ(message([](MatmulParts& p) { p.tile_k = "BLOCK_K"; }),
            "kernel 'gemm': Matmul names the axis 'BLOCK_K', but the search space has no such axis of integers");
  EXPECT_EQ(message([](MatmulParts&) {}), "");
}

TEST(PrecisionTest, HasTheModelsWords) {
  EXPECT_EQ(PrecisionOf(kFloat16, kFloat16, kFloat16), "HSH");
  EXPECT_EQ(PrecisionOf(kFloat16, kFloat16, kFloat32), "HSS");
  EXPECT_EQ(PrecisionOf(kBFloat16, kBFloat16, kBFloat16), "TST");
  EXPECT_EQ(PrecisionOf(kFloat32, kFloat32, kFloat32), "SFS");
  EXPECT_EQ(PrecisionOf(kFloat64, kFloat64, kFloat64), "DDD");
  EXPECT_EQ(PrecisionOf(kFloat8E4M3, kFloat8E4M3, kFloat16), "QQHSH");
  EXPECT_EQ(PrecisionOf(kFloat8E4M3, kFloat8E5M2, kFloat32), "QRSSS");
  EXPECT_EQ(PrecisionOf(kFloat8E4M3, kFloat8E4M3, kFloat8E4M3), "QQTSQ");
  EXPECT_EQ(PrecisionOf(kFloat16, kBFloat16, kFloat16), "");
  EXPECT_EQ(PrecisionOf(kFloat16, kFloat16, kBFloat16), "");
  EXPECT_EQ(PrecisionOf(DType::kInt8, DType::kInt8, DType::kInt32), "");
}

/// With the library of PyPI.
class MatmulHeuristicsTest : public ProposedConfigsTest {
 protected:
  void SetUp() override {
    if (environment_.matmul_heuristics.empty()) {
      GTEST_SKIP()
          << "TUNEONCE_MATMUL_HEURISTICS does not name nvMatmulHeuristics (scripts/install_dependencies --tests)";
    }
    Result<MatmulHeuristics> model = MatmulHeuristics::Load(environment_);
    ASSERT_OK(model);
    model_ = std::make_unique<MatmulHeuristics>(*model);
  }

  MatmulProblem Square(std::int64_t extent) const {
    MatmulProblem problem;
    problem.m = problem.n = problem.k = extent;
    problem.a = problem.b = problem.c = kFloat16;
    return problem;
  }

  std::unique_ptr<MatmulHeuristics> model_;
};

TEST_F(MatmulHeuristicsTest, ProposesTilesForEachKindOfGpu) {
  for (const DeviceIdentity& device :
       {h200_, Gpu("NVIDIA H100 PCIe", 9, 0), Gpu("NVIDIA A100-SXM4-80GB", 8, 0), Gpu("NVIDIA GeForce RTX 4090", 8, 9),
        Gpu("NVIDIA B200", 10, 0), Gpu("NVIDIA GeForce RTX 5090", 12, 0)}) {
    Result<std::vector<MatmulProposal>> proposals = model_->Propose(Square(4096), device, 16);
    ASSERT_TRUE(proposals.ok()) << device.name << ": " << proposals.status().ToString();
    EXPECT_GE(proposals->size(), 4u) << device.name;
    EXPECT_LE(proposals->size(), 16u);
    for (const MatmulProposal& each : *proposals) {
      for (std::int64_t extent : {each.tile_m, each.tile_n, each.tile_k}) {
        EXPECT_TRUE(extent >= 8 && extent <= 512) << device.name << ": " << extent;
      }
      EXPECT_TRUE(each.num_stages >= 1 && each.num_warps >= 1 && each.split_k >= 1 && each.num_ctas >= 1);
    }
    EXPECT_GE(proposals->front().tile_m * proposals->front().tile_n, 128 * 64) << "a large product, by large tiles";
  }
}

TEST_F(MatmulHeuristicsTest, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(model_->Propose(Square(4096), Gpu("Tesla V100", 7, 0), 16).status().message(),
            "nvMatmulHeuristics does not know the device Tesla V100");
  MatmulProblem mixed = Square(64);
  mixed.b = kBFloat16;
  EXPECT_EQ(model_->Propose(mixed, h200_, 16).status().message(), "nvMatmulHeuristics does not support these dtypes");
  EXPECT_EQ(model_->Propose(Square(0), h200_, 16).status().message(),
            "nvMatmulHeuristics does not support these extents");
  EXPECT_EQ(model_->Propose(Square(std::int64_t{1} << 40), h200_, 16).status().message(),
            "nvMatmulHeuristics does not support these extents");
}

TEST_F(MatmulHeuristicsTest, ASearchTriesWhatItProposesAndTheBaseline) {
  const ProposedConfigs large = Propose(16, h200_);
  const Config baseline = *definition_.space().baseline();
  ASSERT_EQ(large.configs.size(), 17u) << "its small tiles are next to no proposal";
  EXPECT_EQ(large.configs.back(), baseline);
  const std::vector<std::string> strings = Strings(large.configs);
  EXPECT_EQ(std::set<std::string>(strings.begin(), strings.end()).size(), 17u) << "none is there twice";
  EXPECT_EQ(large.note, "only 17 of 72 configs are tried: those nearest to the proposals of nvMatmulHeuristics " +
                            model_->version() + ", and the baseline (SearchOptions::max_proposed)");
  auto has_tile_m = [&](const ProposedConfigs& proposed, std::int64_t extent) {
    return std::any_of(proposed.configs.begin(), proposed.configs.end(),
                       [&](const Config& config) { return config[gemm_.m] == extent; });
  };
  EXPECT_TRUE(has_tile_m(large, 256));
  EXPECT_FALSE(has_tile_m(large, 16));

  problem_.dims = Extents({16, 4096, 4096});  // M, K, N.
  const ProposedConfigs skinny = Propose(16, h200_);
  EXPECT_TRUE(has_tile_m(skinny, 16)) << "another shape, other proposals";
}

TEST_F(MatmulHeuristicsTest, ManyThreadsMayAskIt) {
  const std::vector<Config> expected = Propose(16, h200_).configs;
  std::vector<std::thread> threads;
  std::atomic<int> same{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) same += Propose(16, h200_).configs == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 20);
}

}  // namespace
}  // namespace tuneonce
