#include "rope.h"

#include "rope_cpu_cc.h"
#include "rope_cu.h"

namespace tuneonce::examples {

KernelDefinition DefineRope() {
  constexpr Dim kD{2}, kR{3};
  SearchSpace space;
  IntAxis heads = space.AddAxis("HEADS", {1, 4, 8});
  IntAxis chunk = space.AddAxis("CHUNK", {32, 128});
  // The kernel rotates halves: a shape for which that makes no sense is refused at each launch.
  space.AddGuard("D is twice R", [=](const Config&, const Dims& dims) { return dims[kD] == 2 * dims[kR]; });
  space.SetBaseline({{heads, 1}, {chunk, 32}});

  auto with_defines = [=](KernelSource source, const Config& c) {
    return source.Define("HEADS", c[heads]).Define("CHUNK", c[chunk]);
  };
  Grid grid = Grid::TileCoverage({{"H", heads}, {"M", 1}});

  Variant cpu;
  cpu.name = "cpu";
  cpu.runs_on = OnCpuDevice();
  cpu.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::HostCpp(kRopeCpu, "rope"), c);
  };
  cpu.geometry = grid;
  Variant cuda;
  cuda.name = "cuda";
  cuda.runs_on = OnGpu();
  cuda.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::CudaCpp(kRopeCuda, "rope"), c);
  };
  cuda.geometry = GeometryFn(grid).Block(chunk);

  return KernelDefinition("rope")
      .Parameters({InOut("x", kFloat32, {"M", "H", "D"}), In("cosines", kFloat32, {"M", "R"}),
                   In("sines", kFloat32, {"M", "R"}), DimValue("M"), DimValue("H"), DimValue("R")})
      .Space(space)
      .AddVariant(cpu)
      .AddVariant(cuda);
}

void ReferenceRope(const Dims& dims, std::vector<std::vector<float>>& tensors) {
  const std::int64_t m = dims[Dim{0}], h = dims[Dim{1}], r = dims[Dim{3}];
  for (std::int64_t token = 0; token < m; ++token) {
    for (std::int64_t head = 0; head < h; ++head) {
      float* first = tensors[0].data() + (token * h + head) * 2 * r;
      for (std::int64_t d = 0; d < r; ++d) {
        const double c = tensors[1][static_cast<std::size_t>(token * r + d)];
        const double s = tensors[2][static_cast<std::size_t>(token * r + d)];
        const double u = first[d], v = first[d + r];
        first[d] = static_cast<float>(u * c - v * s);
        first[d + r] = static_cast<float>(v * c + u * s);
      }
    }
  }
}

}  // namespace tuneonce::examples
