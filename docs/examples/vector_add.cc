#include "vector_add.h"

#include "vector_add_cpu_cc.h"
#include "vector_add_cu.h"

namespace tuneonce::examples {

KernelDefinition DefineVectorAdd() {
  SearchSpace space;
  IntAxis block = space.AddAxis("BLOCK", {1024, 8192, 65536});
  IntAxis unroll = space.AddAxis("UNROLL", {1, 4});
  space.SetBaseline({{block, 1024}, {unroll, 1}});

  auto with_defines = [=](KernelSource source, const Config& c) {
    return source.Define("BLOCK", c[block]).Define("UNROLL", c[unroll]);
  };
  Grid grid = Grid::OneD({"N", block});

  Variant cpu;
  cpu.name = "cpu";
  cpu.runs_on = OnCpuDevice();
  cpu.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::HostCpp(kVectorAddCpu, "vector_add"), c);
  };
  cpu.geometry = grid;
  Variant cuda;
  cuda.name = "cuda";
  cuda.runs_on = OnGpu();
  cuda.source = [=](const Config& c, const Problem&) {
    return with_defines(KernelSource::CudaCpp(kVectorAddCuda, "vector_add"), c);
  };
  cuda.geometry = GeometryFn(grid).Block(256);

  return KernelDefinition("vector_add")
      .Parameters(
          {In("x", kFloat32, {"N"}), In("y", kFloat32, {"N"}), Out("z", kFloat32, {"N"}), DimValue("N", DType::kInt64)})
      .Space(space)
      .AddVariant(cpu)
      .AddVariant(cuda);
}

void ReferenceVectorAdd(const Dims&, std::vector<std::vector<float>>& tensors) {
  for (std::size_t i = 0; i < tensors[2].size(); ++i) tensors[2][i] = tensors[0][i] + tensors[1][i];
}

}  // namespace tuneonce::examples
