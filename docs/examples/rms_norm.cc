#include "rms_norm.h"

#include <cmath>

#include "rms_norm_cpu_cc.h"
#include "rms_norm_cu.h"

namespace tuneonce::examples {

KernelDefinition DefineRmsNorm() {
  SearchSpace space;
  IntAxis rows = space.AddAxis("ROWS", {1, 4});
  IntAxis unroll = space.AddPowerOfTwoAxis("UNROLL", 1, 16);
  space.SetBaseline({{rows, 1}, {unroll, 1}});

  auto with_defines = [=](KernelSource source, const Config& c) {
    return source.Define("ROWS", c[rows]).Define("UNROLL", c[unroll]);
  };
  Grid grid = Grid::OneD({"M", rows});

  Variant cpu;
  cpu.name = "cpu";
  cpu.runs_on = OnCpuDevice();
  cpu.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::HostCpp(kRmsNormCpu, "rms_norm"), c);
  };
  cpu.geometry = grid;
  Variant cuda;
  cuda.name = "cuda";
  cuda.runs_on = OnGpu();
  cuda.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::CudaCpp(kRmsNormCuda, "rms_norm"), c);
  };
  cuda.geometry = GeometryFn(grid).Block(256);

  // Batches of tokens vary: all M up to the next power of two share one tune.
  return KernelDefinition("rms_norm")
      .Key(KeyOf("M").NextPow2(), KeyOf("N"))
      .Parameters({In("x", kFloat32, {"M", "N"}), In("w", kFloat32, {"N"}), Out("y", kFloat32, {"M", "N"}),
                   Scalar<float>("eps").ForWarmup(kRmsNormEpsilon), DimValue("M"), DimValue("N")})
      .Space(space)
      .AddVariant(cpu)
      .AddVariant(cuda);
}

void ReferenceRmsNorm(const Dims& dims, std::vector<std::vector<float>>& tensors) {
  const std::int64_t m = dims[Dim{0}], n = dims[Dim{1}];
  for (std::int64_t i = 0; i < m; ++i) {
    const float* x = tensors[0].data() + i * n;
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += static_cast<double>(x[j]) * x[j];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(n) + static_cast<double>(kRmsNormEpsilon));
    for (std::int64_t j = 0; j < n; ++j) {
      tensors[2][static_cast<std::size_t>(i * n + j)] =
          static_cast<float>(x[j] * scale * tensors[1][static_cast<std::size_t>(j)]);
    }
  }
}

}  // namespace tuneonce::examples
