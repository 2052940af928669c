// Every exported cuTile kernel, compiled by our pool, on a GPU: outputs against a float64 reference.
// tile_kernels_gpu_test --kernels=FOLDER [--ptx=FILE] [gtest flags]; FILE is tests/data/ptx/softmax.ptx, FOLDER is what
// tests/cutile/export.py wrote.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <random>
#include <type_traits>

#include "../benchmarks/best_kernel.h"
#include "base/file.h"
#include "store/memory_store.h"
#include "testing/bundle_formulas.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

std::string kernels_folder;
std::string ptx_file = TUNEONCE_TEST_DATA "/ptx/softmax.ptx";

/// A tensor on the device and its exact values on the host.
struct Tensor {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  std::optional<DeviceBuffer> buffer;

  TensorView view() const {
    return TensorView::Contiguous(reinterpret_cast<void*>(buffer->get()), dtype, shape.data(),
                                  static_cast<int>(shape.size()));
  }
};

struct Listener : AutotuneObserver {
  explicit Listener(std::optional<TuningRecord>* its_result) : result(its_result) {}
  void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override { *result = tuned; }
  std::optional<TuningRecord>* result;
};

class TileKernelsTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (kernels_folder.empty()) GTEST_SKIP() << "NO KERNELS: give --kernels=FOLDER";
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.quiet = true;
    policy_.observer = std::make_shared<Listener>(&tuned_);
  }

  Tensor Random(DType dtype, std::vector<std::int64_t> shape) {
    Tensor tensor = Empty(dtype, std::move(shape));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (double& value : tensor.values) value = uniform(random_);
    Upload(tensor);
    return tensor;
  }
  Tensor Empty(DType dtype, std::vector<std::int64_t> shape) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.shape = std::move(shape);
    std::size_t count = 1;
    for (std::int64_t extent : tensor.shape) count *= static_cast<std::size_t>(extent);
    tensor.values.resize(count);
    tensor.buffer.emplace(*DeviceBuffer::Allocate(stream_->view(), count * DTypeBytes(dtype)));
    EXPECT_OK(tensor.buffer->Fill(0xff));  // NaNs: an element that is not written shows.
    return tensor;
  }
  Tensor Holding(DType dtype, std::vector<double> values) {
    Tensor tensor = Empty(dtype, {static_cast<std::int64_t>(values.size())});
    tensor.values = std::move(values);
    Upload(tensor);
    return tensor;
  }
  /// Rounds the values to the dtype, so that the reference starts from what the kernel sees.
  void Upload(Tensor& tensor) {
    std::vector<char> bytes(tensor.buffer->bytes(), '\xff');  // Not a number, which EncodeElement knows none of.
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      char* to = bytes.data() + i * DTypeBytes(tensor.dtype);
      ASSERT_TRUE(std::isnan(tensor.values[i]) || EncodeElement(tensor.dtype, tensor.values[i], to)) << i;
    }
    tensor.values = Decoded(tensor.dtype, bytes);
    EXPECT_OK(tensor.buffer->CopyFromHost(bytes.data(), bytes.size()));
    EXPECT_OK(stream_->view().Synchronize());
  }
  static std::vector<double> Decoded(DType dtype, const std::vector<char>& bytes) {
    std::vector<float> memory((bytes.size() + sizeof(float) - 1) / sizeof(float));
    std::memcpy(memory.data(), bytes.data(), bytes.size());
    const std::vector<float> values = testing::Unpacked(memory, dtype);
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(bytes.size() / DTypeBytes(dtype))};
  }
  std::vector<double> Read(const Tensor& tensor) {
    std::vector<char> bytes(tensor.buffer->bytes());
    EXPECT_OK(tensor.buffer->CopyToHost(bytes.data(), bytes.size()));
    EXPECT_OK(stream_->view().Synchronize());
    return Decoded(tensor.dtype, bytes);
  }

  /// Calls `run(config values, definition)` for every exported config of the kernel, with a space of `occupancy`.
  template <typename Function>
  void ForEachExport(const std::string& name, const std::vector<std::string>& dims,
                     const std::vector<Parameter>& parameters, Function run) {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(kernels_folder)) {
      std::string stem = file.path().filename().string();
      if (stem.rfind(name + ".", 0) != 0 || stem.find('@') != std::string::npos) continue;
      std::vector<std::int64_t> tile;
      std::string sizes = stem.substr(name.size() + 1);
      for (std::size_t at = 0; at < sizes.size() && std::isdigit(sizes[at]) != 0;) {
        std::size_t used = 0;
        tile.push_back(std::stoll(sizes.substr(at), &used));
        at += used + 1;
      }
      std::string bytecode = *ReadFile(file.path().string());
      SearchSpace space;
      space.AddHintAxis("occupancy", {1, 2, 4});
      KernelDefinition definition(stem);
      definition.DimsInOrder(dims).Parameters(parameters).Space(space);
      Variant variant;
      variant.name = "tile";
      variant.convention = CallingConvention::kCutilePython;
      variant.source = [=](const Config&, const Problem&) { return KernelSource::TileIr(bytecode, name); };
      SCOPED_TRACE(stem);
      run(tile, definition, variant);
      ++count;
    }
    EXPECT_GT(count, 0) << "no export of " << name << " in " << kernels_folder;
  }

  /// Sums of an attention tile that are for the GPUs that have tensor memory (attention_declared.py), or on any one for
  /// the patient: on an H200 one such kernel compiled for 36 s.
  bool IsTooLarge(std::int64_t sums) const {
    return sums > 128 * 128 && Target::Of(*device_->Identity()).capability() < 100;
  }
  /// What holds of the tensors of a call: the exports assume it of theirs.
  template <typename... Arguments>
  static std::vector<Assumption> TrueOf(const std::vector<Parameter>& parameters, const Arguments&... arguments) {
    std::vector<Assumption> assumptions;
    std::size_t next = 0;
    auto add = [&](const auto& argument) {
      while (parameters[next].kind != ParameterKind::kTensor && parameters[next].kind != ParameterKind::kScalar) ++next;
      const std::string& name = parameters[next++].name;
      if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, TensorView>) {
        assumptions.push_back(Aligned(name, 16));
        for (int d = 0; d < argument.rank; ++d) {
          const std::int64_t stride = argument.strides[static_cast<std::size_t>(d)];
          const auto in_16_bytes = static_cast<std::int64_t>(16 / DTypeBytes(argument.dtype));
          assumptions.push_back(stride == 1 ? StrideIs(name, d, 1)
                                            : StrideDivisibleBy(name, d, std::gcd(stride, in_16_bytes)));
        }
      }
    };
    (add(arguments), ...);
    return assumptions;
  }
  /// Tunes and launches, and launches the hit again.
  template <typename... Arguments>
  void Launch(KernelDefinition definition, Variant variant, Grid grid, const Arguments&... arguments) {
    variant.geometry = GeometryFn(std::move(grid));
    definition.AddVariant(variant.Assuming(TrueOf(definition.parameters(), arguments...)));
    tuned_.reset();
    policy_.store = std::make_shared<MemoryStore>();  // Each tunes, also what differs in nothing that is in a key.
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    ASSERT_OK(kernel);
    ASSERT_OK(kernel->Launch(stream_->get(), arguments...));
    ASSERT_TRUE(tuned_.has_value());
    EXPECT_TRUE(tuned_->failures().empty()) << tuned_->failures()[0].message;
    const CandidateOutcome& best = tuned_->best;
    std::printf(
        "%-36s best {%s} %8.2f us, %d same code, %3d registers, %6lld B shared, compiled in %.2f s (%.2f s wall)\n",
        definition.name().c_str(), best.config.ToString().c_str(), best.measurement.mean_us,
        static_cast<int>(tuned_->duplicates().size()), best.resources.registers,
        static_cast<long long>(best.resources.shared_bytes), tuned_->cost.compile_seconds,
        tuned_->cost.compile_wall_seconds);
    CheckResources(definition, best);
  }
  /// What we read from the cubin is what the driver says.
  void CheckResources(const KernelDefinition& definition, const CandidateOutcome& best) {
    Result<CompiledKernel> kernel = BestKernel(*device_, definition, best);
    ASSERT_OK(kernel);
    auto attribute = [&](CUfunction_attribute which) {
      Result<int> value = kernel->Attribute(which);
      EXPECT_OK(value);
      return value.ok() ? *value : -1;
    };
    EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), best.resources.registers);
    EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), best.resources.shared_bytes);
    EXPECT_EQ(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), best.resources.local_bytes);
  }
  void ExpectNear(const Tensor& output, const std::vector<double>& expected, double tolerance) {
    std::vector<double> actual = Read(output);
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double error = std::fabs(actual[i] - expected[i]) / (1 + std::fabs(expected[i]));
      if (!(error <= worst)) worst = error;  // A NaN stays.
      if (!(error <= tolerance)) {
        FAIL() << "element " << i << ": " << actual[i] << " instead of " << expected[i];
      }
    }
    std::printf("%-36s largest error %.1e\n", "", worst);
  }

  static constexpr auto kHalf = DType::kFloat16;
  static constexpr auto kFloat = DType::kFloat32;
  static constexpr double kHalfTolerance = 2e-3;      // Two roundings to 11 bits.
  static constexpr double kBfloat16Tolerance = 8e-3;  // 8 bits, and sums in 14.
  static constexpr double kFloatTolerance = 2e-6;

  AutotunePolicy policy_;
  std::optional<TuningRecord> tuned_;
  std::mt19937 random_{1};
};

TEST_F(TileKernelsTest, RmsNorm) {
  constexpr std::int64_t kRows = 300, kColumns = 1000;
  Tensor x = Random(kHalf, {kRows, kColumns}), w = Random(kHalf, {kColumns});
  float eps = 1e-5f;
  std::vector<double> expected(x.values.size());
  for (std::int64_t r = 0; r < kRows; ++r) {
    const double* row = x.values.data() + r * kColumns;
    double sum = 0;
    for (std::int64_t c = 0; c < kColumns; ++c) sum += row[c] * row[c];
    for (std::int64_t c = 0; c < kColumns; ++c) {
      expected[static_cast<std::size_t>(r * kColumns + c)] =
          row[c] / std::sqrt(sum / kColumns + eps) * w.values[static_cast<std::size_t>(c)];
    }
  }
  ForEachExport("rms_norm", {"M", "N"},
                {In("x", {"M", "N"}), In("w", {"N"}), Out("y", {"M", "N"}), Scalar("eps", kFloat)},
                [&](const auto&, const KernelDefinition& definition, const Variant& variant) {
                  Tensor y = Empty(kHalf, {kRows, kColumns});
                  Launch(definition, variant, Grid::Custom([](const Config&, const Problem& p) {
                           return Dim3{p.dims[Dim{0}], 1, 1};
                         }),
                         x.view(), w.view(), y.view(), eps);
                  ExpectNear(y, expected, kHalfTolerance);
                });
}

TEST_F(TileKernelsTest, Softmax) {
  constexpr std::int64_t kRows = 300, kColumns = 1000;
  Tensor x = Random(kFloat, {kRows, kColumns});
  std::vector<double> expected(x.values.size());
  for (std::int64_t r = 0; r < kRows; ++r) {
    const double* row = x.values.data() + r * kColumns;
    double sum = 0;
    for (std::int64_t c = 0; c < kColumns; ++c) sum += std::exp(row[c]);
    for (std::int64_t c = 0; c < kColumns; ++c)
      expected[static_cast<std::size_t>(r * kColumns + c)] = std::exp(row[c]) / sum;
  }
  ForEachExport("softmax", {"M", "N"}, {In("x", {"M", "N"}), Out("y", {"M", "N"})},
                [&](const auto&, const KernelDefinition& definition, const Variant& variant) {
                  Tensor y = Empty(kFloat, {kRows, kColumns});
                  Launch(definition, variant, Grid::Custom([](const Config&, const Problem& p) {
                           return Dim3{p.dims[Dim{0}], 1, 1};
                         }),
                         x.view(), y.view());
                  ExpectNear(y, expected, kFloatTolerance);
                });
}

/// One op by Tile IR and by PTX.
class BackendTest : public TileKernelsTest {
 protected:
  static constexpr std::int64_t kRows = 300, kColumns = 1000;

  void SetUp() override {
    TileKernelsTest::SetUp();
    if (IsSkipped()) return;
    x_ = Random(kFloat, {kRows, kColumns});
    expected_.resize(x_.values.size());
    for (std::int64_t r = 0; r < kRows; ++r) {
      const double* row = x_.values.data() + r * kColumns;
      double sum = 0;
      for (std::int64_t c = 0; c < kColumns; ++c) sum += std::exp(row[c]);
      for (std::int64_t c = 0; c < kColumns; ++c) {
        expected_[static_cast<std::size_t>(r * kColumns + c)] = std::exp(row[c]) / sum;
      }
    }
  }
  Result<TuningRecord> Search(const SearchSpace& space) {
    KernelDefinition definition("softmax");
    definition.Parameters({In("x", {"M", "N"}), Out("y", {"M", "N"})}).Space(space);
    std::string bytecode = *ReadFile(kernels_folder + "/softmax.1024x0x1.tileir");
    std::string ptx = *ReadFile(ptx_file);
    Variant tile;
    tile.name = "tile";
    tile.convention = CallingConvention::kCutilePython;
    tile.source = [=](const Config&, const Problem&) { return KernelSource::TileIr(bytecode, "softmax"); };
    tile.geometry = Grid::Fixed(kRows);
    Tensor y = Empty(kFloat, {kRows, kColumns});
    tile.Assuming(TrueOf(definition.parameters(), x_.view(), y.view()));
    Variant by_ptx;
    by_ptx.name = "ptx";
    by_ptx.source = [=](const Config&, const Problem&) { return KernelSource::Ptx(ptx, "softmax"); };
    by_ptx.hints = [](const Config&) { return Hints(); };
    by_ptx.geometry = GeometryFn(Grid::Fixed(kRows)).Block(256);
    definition.AddVariant(tile).AddVariant(by_ptx);
    tuned_.reset();
    policy_.store = std::make_shared<MemoryStore>();  // Or the search before would be remembered.
    policy_.search.compile.cache = MakeMemoryStore();
    TunedKernel kernel = *TunedKernel::Create(definition, policy_);
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), x_.view(), y.view()));
    ExpectNear(y, expected_, kFloatTolerance);
    return *tuned_;
  }

  Tensor x_;
  std::vector<double> expected_;
};

TEST_F(BackendTest, TileIrAndPtxRaceAsAnAxis) {
  SearchSpace space;
  auto backend = space.AddStringAxis("backend", {"ptx", "tile"});
  space.SetBaseline({{backend, std::string("ptx")}});
  Result<TuningRecord> result = Search(space);
  ASSERT_OK(result);
  ASSERT_EQ(result->successes().size(), 2u) << result->failures()[0].message;
  EXPECT_TRUE(result->best.passed_over.empty());
  EXPECT_TRUE(result->notes.empty()) << "the outputs were compared with each other";
  for (const CandidateOutcome& success : result->successes()) {
    std::printf("softmax {%s} by '%s': %.2f us\n", success.config.ToString().c_str(), success.variant.c_str(),
                success.measurement.mean_us);
  }
}

TEST_F(BackendTest, PtxIsUsedWhereTileIrIsSwitchedOffOrItsCompilerIsMissing) {
  EXPECT_EQ(Search(SearchSpace())->best.variant, "tile");
  for (const char* variable : {"ENABLE_TILE", "TUNEONCE_TILEIRAS"}) {
    const char* value = variable == std::string("ENABLE_TILE") ? "0" : "/nowhere/tileiras";
    policy_.search.runtime = testing::RuntimeIn({{variable, value}});
    Result<TuningRecord> result = Search(SearchSpace());
    ASSERT_OK(result);
    EXPECT_EQ(result->best.variant, "ptx");
    ASSERT_EQ(result->best.passed_over.size(), 1u);
    std::printf("softmax by '%s' instead of '%s': %s\n", result->best.variant.c_str(),
                result->best.passed_over[0].variant.c_str(), result->best.passed_over[0].reason.c_str());
  }
}

TEST_F(TileKernelsTest, SiluAndMul) {
  constexpr std::int64_t kRows = 200, kColumns = 1000;
  Tensor x = Random(kHalf, {kRows, 2 * kColumns});
  std::vector<double> expected(static_cast<std::size_t>(kRows * kColumns));
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kColumns; ++c) {
      double gate = x.values[static_cast<std::size_t>(r * 2 * kColumns + c)];
      double up = x.values[static_cast<std::size_t>(r * 2 * kColumns + kColumns + c)];
      expected[static_cast<std::size_t>(r * kColumns + c)] = gate / (1 + std::exp(-gate)) * up;
    }
  }
  ForEachExport("silu_and_mul", {"M", "N2", "N"}, {In("x", {"M", "N2"}), Out("y", {"M", "N"})},
                [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
                  Tensor y = Empty(kHalf, {kRows, kColumns});
                  Launch(definition, variant, Grid::Custom([n = tile[0]](const Config&, const Problem& p) {
                           return Dim3{p.dims[Dim{0}], (p.dims[Dim{2}] + n - 1) / n, 1};
                         }),
                         x.view(), y.view());
                  ExpectNear(y, expected, kHalfTolerance);
                });
}

TEST_F(TileKernelsTest, RopeInPlace) {
  constexpr std::int64_t kTokens = 100, kHeads = 20, kHalfDim = 64;
  Tensor cosines = Random(kFloat, {kTokens, kHalfDim}), sines = Random(kFloat, {kTokens, kHalfDim});
  Tensor start = Random(kHalf, {kTokens, kHeads, 2 * kHalfDim});
  std::vector<double> expected(start.values.size());
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t i = 0; i < kHalfDim; ++i) {
        auto low = static_cast<std::size_t>((t * kHeads + h) * 2 * kHalfDim + i);
        std::size_t high = low + kHalfDim;
        auto angle = static_cast<std::size_t>(t * kHalfDim + i);
        expected[low] = start.values[low] * cosines.values[angle] - start.values[high] * sines.values[angle];
        expected[high] = start.values[high] * cosines.values[angle] + start.values[low] * sines.values[angle];
      }
    }
  }
  ForEachExport("rope", {"M", "H", "D", "R"},
                {InOut("x", {"M", "H", "D"}), In("cos", {"M", "R"}), In("sin", {"M", "R"})},
                [&](const auto&, const KernelDefinition& definition, const Variant& variant) {
                  Tensor x = Empty(kHalf, start.shape);
                  x.values = start.values;
                  Upload(x);
                  Launch(definition, variant, Grid::Custom([](const Config&, const Problem& p) {
                           return Dim3{p.dims[Dim{0}], 1, 1};
                         }),
                         x.view(), cosines.view(), sines.view());
                  ExpectNear(x, expected, kHalfTolerance);
                });
}

class TileMatmulTest : public TileKernelsTest {
 protected:
  void Run(const std::string& name, bool is_persistent) {
    constexpr std::int64_t kM = 200, kN = 264, kK = 136;  // No multiples of any tile; rows are 16-byte aligned.
    Tensor a = Random(kHalf, {kM, kK}), b = Random(kHalf, {kK, kN});
    std::vector<double> expected(static_cast<std::size_t>(kM * kN));
    for (std::int64_t m = 0; m < kM; ++m) {
      for (std::int64_t n = 0; n < kN; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < kK; ++k) {
          sum += a.values[static_cast<std::size_t>(m * kK + k)] * b.values[static_cast<std::size_t>(k * kN + n)];
        }
        expected[static_cast<std::size_t>(m * kN + n)] = sum;
      }
    }
    ForEachExport(name, {"M", "N", "K"}, {In("a", {"M", "K"}), In("b", {"K", "N"}), Out("c", {"M", "N"})},
                  [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
                    Tensor c = Empty(kHalf, {kM, kN});
                    std::int64_t rows = (kM + tile[0] - 1) / tile[0], columns = (kN + tile[1] - 1) / tile[1];
                    // Fewer blocks than tiles, so that a persistent one takes several.
                    Grid grid = is_persistent ? Grid::Fixed(2) : Grid::Fixed(rows, columns);
                    Launch(definition, variant, grid, a.view(), b.view(), c.view());
                    ExpectNear(c, expected, kHalfTolerance);
                  });
  }
};

TEST_F(TileMatmulTest, Matmul) { Run("matmul", false); }
TEST_F(TileMatmulTest, PersistentMatmul) { Run("persistent_matmul", true); }

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

TEST_F(TileKernelsTest, LayerNorm) {
  constexpr std::int64_t kRows = 300, kColumns = 1000;
  Tensor x = Random(kHalf, {kRows, kColumns}), weight = Random(kHalf, {kColumns}), bias = Random(kHalf, {kColumns});
  testing::Tensors expected = {x.values, weight.values, bias.values, x.values};
  testing::LayerNormFormula({{"M", kRows}, {"N", kColumns}}, expected);
  ForEachExport(
      "layer_norm", {"M", "N"},
      {In("x", {"M", "N"}), In("weight", {"N"}), In("bias", {"N"}), Out("y", {"M", "N"}), Scalar("eps", kFloat)},
      [&](const auto&, const KernelDefinition& definition, const Variant& variant) {
        Tensor y = Empty(kHalf, {kRows, kColumns});
        Launch(definition, variant, Grid::Fixed(kRows), x.view(), weight.view(), bias.view(), y.view(),
               testing::kEpsilon);
        ExpectNear(y, expected[3], kHalfTolerance);
      });
}

TEST_F(TileKernelsTest, Elementwise) {
  constexpr std::int64_t kElements = 100008;
  Tensor x = Random(kHalf, {kElements}), z = Random(kHalf, {kElements});
  testing::Tensors expected = {x.values, z.values, x.values};
  testing::ElementwiseFormula({}, expected);
  ForEachExport("elementwise", {"N"}, {In("x", {"N"}), In("z", {"N"}), Out("y", {"N"})},
                [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
                  Tensor y = Empty(kHalf, {kElements});
                  Launch(definition, variant, Grid::Fixed(CeilDiv(kElements, tile[0])), x.view(), z.view(), y.view());
                  ExpectNear(y, expected[2], kHalfTolerance);
                });
}

TEST_F(TileKernelsTest, DualGemm) {
  constexpr std::int64_t kM = 200, kN = 264, kK = 136;  // No multiples of any tile; rows are 16-byte aligned.
  Tensor x = Random(kHalf, {kM, kK}), gate = Random(kHalf, {kK, kN}), up = Random(kHalf, {kK, kN});
  testing::Tensors expected = {x.values, gate.values, up.values, std::vector<double>(kM * kN)};
  testing::DualGemmFormula({{"M", kM}, {"N", kN}, {"K", kK}}, expected);
  ForEachExport("dual_gemm", {"M", "N", "K"},
                {In("x", {"M", "K"}), In("w_gate", {"K", "N"}), In("w_up", {"K", "N"}), Out("y", {"M", "N"})},
                [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
                  Tensor y = Empty(kHalf, {kM, kN});
                  Launch(definition, variant, Grid::Fixed(CeilDiv(kM, tile[0]), CeilDiv(kN, tile[1])), x.view(),
                         gate.view(), up.view(), y.view());
                  ExpectNear(y, expected[3], kHalfTolerance);
                });
}

TEST_F(TileKernelsTest, Fp8Matmul) {
  if (Target::Of(*device_->Identity()).capability() < 89) GTEST_SKIP() << "no tensor cores for 8-bit floats";
  constexpr std::int64_t kM = 200, kN = 264, kK = 400;  // No multiples of any tile; rows are 16-byte aligned.
  constexpr DType kFloat8 = DType::kFloat8E4M3;
  Tensor a = Random(kFloat8, {kM, kK}), b = Random(kFloat8, {kN, kK});
  Tensor scale_a = Holding(kFloat, {0.75}), scale_b = Holding(kFloat, {1.5});
  testing::Tensors expected = {a.values, b.values, scale_a.values, scale_b.values, std::vector<double>(kM * kN)};
  testing::Fp8MatmulFormula({{"M", kM}, {"N", kN}, {"K", kK}}, expected);
  ForEachExport(
      "fp8_matmul", {"M", "K", "N", "ONE"},
      {In("a", {"M", "K"}), In("b", {"N", "K"}), In("scale_a", {"ONE"}), In("scale_b", {"ONE"}), Out("y", {"M", "N"})},
      [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
        Tensor y = Empty(DType::kBFloat16, {kM, kN});
        Launch(definition, variant, Grid::Fixed(CeilDiv(kM, tile[0]), CeilDiv(kN, tile[1])), a.view(), b.view(),
               scale_a.view(), scale_b.view(), y.view());
        ExpectNear(y, expected[4], kBfloat16Tolerance);
      });
}

TEST_F(TileKernelsTest, Fp8BlockMatmul) {
  if (Target::Of(*device_->Identity()).capability() < 89) GTEST_SKIP() << "no tensor cores for 8-bit floats";
  constexpr std::int64_t kM = 200, kN = 264, kK = 400, kOfN = 3, kOfK = 4;
  constexpr DType kFloat8 = DType::kFloat8E4M3;
  Tensor a = Random(kFloat8, {kM, kK}), b = Random(kFloat8, {kN, kK});
  Tensor scale_a = Random(kFloat, {kM, kOfK}), scale_b = Random(kFloat, {kOfN, kOfK});
  testing::Tensors expected = {a.values, b.values, scale_a.values, scale_b.values, std::vector<double>(kM * kN)};
  testing::Fp8BlockMatmulFormula({{"M", kM}, {"N", kN}, {"K", kK}, {"KB", kOfK}}, expected);
  ForEachExport("fp8_block_matmul", {"M", "K", "N", "NB", "KB"},
                {In("a", {"M", "K"}), In("b", {"N", "K"}), In("scale_a", {"M", "KB"}), In("scale_b", {"NB", "KB"}),
                 Out("y", {"M", "N"})},
                [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
                  Tensor y = Empty(DType::kBFloat16, {kM, kN});
                  Launch(definition, variant, Grid::Fixed(CeilDiv(kM, tile[0]), CeilDiv(kN, tile[1])), a.view(),
                         b.view(), scale_a.view(), scale_b.view(), y.view());
                  ExpectNear(y, expected[4], kBfloat16Tolerance);
                });
}

TEST_F(TileKernelsTest, GroupedGemmWithEmptyGroups) {
  constexpr std::int64_t kRows = 500, kGroups = 6, kK = 136, kN = 264;
  Tensor x = Random(kHalf, {kRows, kK}), w = Random(kHalf, {kGroups, kK, kN});
  Tensor offsets = Holding(DType::kInt32, {0, 0, 1, 130, 130, 387, 500});
  testing::Tensors expected = {x.values, w.values, offsets.values, std::vector<double>(kRows * kN)};
  testing::GroupedGemmFormula({{"K", kK}, {"N", kN}}, expected);
  ForEachExport("grouped_gemm", {"T", "K", "E", "N", "OFFSETS"},
                {In("x", {"T", "K"}), In("w", {"E", "K", "N"}), In("offsets", {"OFFSETS"}), Out("y", {"T", "N"})},
                [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
                  Tensor y = Empty(kHalf, {kRows, kN});
                  Launch(definition, variant, Grid::Fixed(kRows / tile[0] + kGroups, CeilDiv(kN, tile[1])), x.view(),
                         w.view(), offsets.view(), y.view());
                  ExpectNear(y, expected[3], kHalfTolerance);
                });
}

TEST_F(TileKernelsTest, VarlenAttentionCausalAndNot) {
  constexpr std::int64_t kRows = 500, kHeads = 6, kKeyHeads = 2;
  Tensor cu_seqlens = Holding(DType::kInt32, {0, 0, 1, 130, 130, 387, 500});
  auto run = [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
    const std::int64_t width = tile[2], sequences = static_cast<std::int64_t>(cu_seqlens.values.size()) - 1;
    if (IsTooLarge(tile[0] * width)) return;
    Tensor q = Random(kHalf, {kRows, kHeads, width});
    Tensor k = Random(kHalf, {kRows, kKeyHeads, width}), v = Random(kHalf, {kRows, kKeyHeads, width});
    for (bool is_causal : {false, true}) {
      testing::Tensors expected = {q.values, k.values, v.values, cu_seqlens.values, q.values};
      const testing::Extents dims = {{"H", kHeads}, {"G", kKeyHeads}, {"D", width}};
      (is_causal ? testing::VarlenAttentionFormula<true> : testing::VarlenAttentionFormula<false>)(dims, expected);
      Tensor o = Empty(kHalf, q.shape);
      Launch(definition, variant, Grid::Fixed(kRows / tile[0] + sequences, kHeads), q.view(), k.view(), v.view(),
             cu_seqlens.view(), o.view(), testing::kAttentionScale, is_causal);
      ExpectNear(o, expected[4], kHalfTolerance);
    }
  };
  ForEachExport(
      "varlen_attention", {"T", "H", "D", "G", "OFFSETS"},
      {In("q", {"T", "H", "D"}), In("k", {"T", "G", "D"}), In("v", {"T", "G", "D"}), In("cu_seqlens", {"OFFSETS"}),
       Out("o", {"T", "H", "D"}), Scalar("scale", kFloat), Scalar("causal", DType::kBool)},
      run);
}

/// Beyond a sequence's keys its cache holds no numbers.
TEST_F(TileKernelsTest, DecodeAttentionInSplits) {
  constexpr std::int64_t kHeads = 6, kKeyHeads = 2, kCapacity = 300;
  Tensor lengths = Holding(DType::kInt32, {300, 129, 1, 0});
  const auto sequences = static_cast<std::int64_t>(lengths.values.size());
  auto run = [&](const auto& tile, KernelDefinition definition, const Variant& variant) {
    const std::int64_t width = tile[1];
    Tensor q = Random(kHalf, {sequences, kHeads, width});
    Tensor k = Empty(kHalf, {sequences, kKeyHeads, kCapacity, width}), v = Empty(kHalf, k.shape);
    for (Tensor* cache : {&k, &v}) {
      const Tensor full = Random(kHalf, k.shape);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(full.values.size()); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double length = lengths.values[at / static_cast<std::size_t>(kKeyHeads * kCapacity * width)];
        cache->values[at] = static_cast<double>(i / width % kCapacity) < length ? full.values[at] : NAN;
      }
      Upload(*cache);
    }
    testing::Tensors expected = {q.values, k.values, v.values, lengths.values, q.values};
    testing::DecodeAttentionFormula({{"H", kHeads}, {"G", kKeyHeads}, {"C", kCapacity}, {"D", width}}, expected);
    for (std::int64_t splits : {1, 3, 8}) {  // Of eight some have no keys.
      const std::int64_t rows = splits * kKeyHeads * sequences * 16;
      KernelDefinition with_workspaces = definition;
      with_workspaces.Parameters(
          {In("q", {"B", "H", "D"}), In("k", {"B", "G", "C", "D"}), In("v", {"B", "G", "C", "D"}), In("lengths", {"B"}),
           Out("o", {"B", "H", "D"}), InOut("counters", {"B", "H"}), Scalar("scale", kFloat),
           Workspace("partial_o", Term(4 * rows * width)), Derived("partial_o_extent", Term(rows * width)),
           Derived("partial_o_stride", Term(1)), Workspace("partial_lse", Term(4 * rows)),
           Derived("partial_lse_extent", Term(rows)), Derived("partial_lse_stride", Term(1))});
      Tensor o = Empty(kHalf, q.shape), counters = Empty(DType::kInt32, {sequences, kHeads});
      Upload(counters);
      Launch(with_workspaces, variant, Grid::Fixed(splits, kKeyHeads, sequences), q.view(), k.view(), v.view(),
             lengths.view(), o.view(), counters.view(), testing::kAttentionScale);
      ExpectNear(o, expected[4], kHalfTolerance);
      ExpectNear(counters, std::vector<double>(counters.values.size()), 0);
    }
  };
  ForEachExport("decode_attention", {"B", "H", "D", "G", "C"}, {}, run);
}

TEST_F(TileKernelsTest, AttentionCausalAndNot) {
  constexpr std::int64_t kBatch = 2, kHeads = 6, kKeyHeads = 2, kQueries = 150, kKeys = 203;
  auto run = [&](const auto& tile, const KernelDefinition& definition, const Variant& variant) {
    const std::int64_t width = tile[2];
    if (IsTooLarge(tile[0] * width)) return;
    Tensor q = Random(kHalf, {kBatch, kHeads, kQueries, width});
    Tensor k = Random(kHalf, {kBatch, kKeyHeads, kKeys, width}), v = Random(kHalf, {kBatch, kKeyHeads, kKeys, width});
    for (bool is_causal : {false, true}) {
      testing::Tensors expected = {q.values, k.values, v.values, q.values};
      (is_causal ? testing::AttentionFormula<true> : testing::AttentionFormula<false>)({{"B", kBatch},
                                                                                        {"H", kHeads},
                                                                                        {"G", kKeyHeads},
                                                                                        {"S", kQueries},
                                                                                        {"T", kKeys},
                                                                                        {"D", width}},
                                                                                       expected);
      Tensor o = Empty(kHalf, q.shape);
      Launch(definition, variant, Grid::Fixed(CeilDiv(kQueries, tile[0]), kHeads, kBatch), q.view(), k.view(), v.view(),
             o.view(), testing::kAttentionScale, is_causal);
      ExpectNear(o, expected[3], kHalfTolerance);
    }
  };
  ForEachExport("attention", {"B", "H", "S", "D", "G", "T"},
                {In("q", {"B", "H", "S", "D"}), In("k", {"B", "G", "T", "D"}), In("v", {"B", "G", "T", "D"}),
                 Out("o", {"B", "H", "S", "D"}), Scalar("scale", kFloat), Scalar("causal", DType::kBool)},
                run);
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("--kernels=", 0) == 0) tuneonce::kernels_folder = argument.substr(10);
    if (argument.rfind("--ptx=", 0) == 0) tuneonce::ptx_file = argument.substr(6);
  }
  return RUN_ALL_TESTS();
}
