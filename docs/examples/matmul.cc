#include "matmul.h"

#include "matmul_cpu_cc.h"
#include "matmul_cu.h"

namespace tuneonce::examples {

KernelDefinition DefineMatmul() {
  SearchSpace space;
  IntAxis tile_m = space.AddAxis("TILE_M", {16, 64});
  IntAxis tile_n = space.AddAxis("TILE_N", {64, 128});
  IntAxis tile_k = space.AddAxis("TILE_K", {16, 64});
  IntAxis unroll = space.AddAxis("UNROLL", {1, 4});
  space.SetBaseline({{tile_m, 16}, {tile_n, 64}, {tile_k, 16}, {unroll, 1}});

  auto with_defines = [=](KernelSource source, const Config& c) {
    return source.Define("TILE_M", c[tile_m])
        .Define("TILE_N", c[tile_n])
        .Define("TILE_K", c[tile_k])
        .Define("UNROLL", c[unroll]);
  };
  Grid grid = Grid::TileCoverage({{"N", tile_n}, {"M", tile_m}});

  Variant cpu;
  cpu.name = "cpu";
  cpu.runs_on = OnCpuDevice();
  cpu.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::HostCpp(kMatmulCpu, "matmul"), c);
  };
  cpu.geometry = grid;
  Variant cuda;
  cuda.name = "cuda";
  cuda.runs_on = OnGpu();
  cuda.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::CudaCpp(kMatmulCuda, "matmul"), c);
  };
  cuda.geometry = GeometryFn(grid).Block(16, 16);

  return KernelDefinition("matmul")
      .DimsInOrder({"M", "N", "K"})
      .Parameters({In("a", kFloat32, {"M", "K"}), In("b", kFloat32, {"K", "N"}), Out("c", kFloat32, {"M", "N"}),
                   DimValue("M"), DimValue("N"), DimValue("K")})
      .Space(space)
      .AddVariant(cpu)
      .AddVariant(cuda);
}

void ReferenceMatmul(const Dims& dims, std::vector<std::vector<float>>& tensors) {
  const std::int64_t m = dims[Dim{0}], n = dims[Dim{1}], k = dims[Dim{2}];
  const std::vector<float>&a = tensors[0], &b = tensors[1];
  std::vector<double> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::int64_t p = 0; p < k; ++p) {
      const double factor = a[static_cast<std::size_t>(i * k + p)];
      for (std::int64_t j = 0; j < n; ++j) {
        row[static_cast<std::size_t>(j)] += factor * b[static_cast<std::size_t>(p * n + j)];
      }
    }
    for (std::int64_t j = 0; j < n; ++j) {
      tensors[2][static_cast<std::size_t>(i * n + j)] = static_cast<float>(row[static_cast<std::size_t>(j)]);
    }
  }
}

}  // namespace tuneonce::examples
