// A test as an embedder writes it: public headers only, on the CPU device. A graph that captured two launches of a
// tuned kernel gives, at each replay, the result of two launches.
#include <cstdio>
#include <memory>
#include <vector>

#include "tuneonce/plugin/record_store.h"
#include "tuneonce/testing.h"
#include "tuneonce/tuned_kernel.h"

namespace {

namespace to = tuneonce;

/// y[i] = 2 * y[i] + 1.
to::KernelDefinition Step() {
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {4, 8});
  space.SetBaseline({{tile, 4}});
  constexpr char kSource[] =
      "static void step(const tuneonce_block& block, float* y, int n) {\n"
      "  for (long i = block.x * TILE; i < n && i < (block.x + 1) * TILE; ++i) y[i] = 2 * y[i] + 1;\n"
      "}\n"
      "TUNEONCE_CPU_KERNEL(step);";
  to::KernelDefinition definition("step");
  definition.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")})
      .Space(space)
      .AddVariant(to::Variant([=](const to::Config& config, const to::Problem&) {
                    return to::KernelSource::CpuCpp(kSource, "step").Define("TILE", config[tile]);
                  }).Grid(to::Grid::OneD({"N", tile})));
  return definition;
}

to::Status Check() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice("cpu"));
  if (!device.is_cpu_device()) return to::InternalError("another device than the CPU device was opened");
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  to::ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  constexpr int kCount = 10;
  TUNEONCE_ASSIGN_OR_RETURN(to::DeviceBuffer y, to::DeviceBuffer::Allocate(stream.view(), kCount * sizeof(float)));
  TUNEONCE_RETURN_IF_ERROR(y.Fill(0));
  const to::TensorView view = to::TensorView::Contiguous(y.data(), to::kFloat32, {kCount});

  const std::unique_ptr<to::Timer> clock = to::MakeClockTimer();
  to::AutotunePolicy policy;
  policy.store = to::MakeMemoryStore();
  policy.search.timer = clock.get();
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(Step(), policy));
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {{{"N", kCount}}}));
  kernel.Freeze();
  TUNEONCE_ASSIGN_OR_RETURN(to::GraphExec graph, to::GraphExec::Capture(stream.view(), [&](CUstream into) {
                              TUNEONCE_RETURN_IF_ERROR(kernel.Launch(into, view));
                              return kernel.Launch(into, view);
                            }));
  if (graph.num_nodes() != 2) return to::InternalError("the graph does not have one node for each launch");
  for (int replay = 0; replay < 3; ++replay) TUNEONCE_RETURN_IF_ERROR(graph.Launch(stream.get()));
  std::vector<float> got(kCount);
  TUNEONCE_RETURN_IF_ERROR(y.CopyToHost(got.data(), y.bytes()));
  TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
  if (got != std::vector<float>(kCount, 63)) return to::InternalError("the replays did not repeat the launches");
  if (kernel.counters().tunes != 1) return to::InternalError("the kernel was not tuned once");
  return to::Status();
}

}  // namespace

int main() {
  const to::Status status = Check();
  std::printf("graph: %s\n", status.ok() ? "ok" : status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
