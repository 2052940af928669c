// Prints the counters of all kernels of the process in Prometheus's text format. To build and run it:
//   g++ -std=c++17 metrics.cc $(pkg-config --cflags --libs tuneonce) && ./a.out
#include <tuneonce/tuned_kernel.h>

#include <cstdio>
#include <map>

namespace to = tuneonce;

constexpr char kCudaSource[] = R"(
__global__ void twice(float* y, int n) {
  for (int i = blockIdx.x * TILE + threadIdx.x; i < n && i < (blockIdx.x + 1) * TILE; i += 128) y[i] *= 2;
})";
constexpr char kCpuSource[] = R"(
static void twice(const tuneonce_block& block, float* y, int n) {
  for (int i = block.x * TILE; i < n && i < int(block.x + 1) * TILE; ++i) y[i] *= 2;
}
TUNEONCE_CPU_KERNEL(twice);)";

/// Returns the answer to GET /metrics, of the content type text/plain; version=0.0.4.
std::string Metrics() {
  std::map<std::string, std::string> samples;  // The format groups samples by metric.
  for (const to::KernelCounters& kernel : to::Runtime::Default()->Kernels()) {
    const auto add = [&](const std::string& name, const char* type, double value) {
      if (samples[name].empty()) samples[name] = "# TYPE tuneonce_" + name + type + "\n";
      samples[name] += "tuneonce_" + name + "{kernel=\"" + kernel.kernel + "\"} " + std::to_string(value) + "\n";
    };
    const auto add_counter = [&](const std::string& name, double value) { add(name + "_total", " counter", value); };
    const auto add_gauge = [&](const std::string& name, double value) { add(name, " gauge", value); };
    to::VisitFields(add_counter, kernel.counters);
    to::VisitFields(add_gauge, kernel.counters.now);
  }
  std::string text;
  for (const auto& [name, lines] : samples) text += lines;
  return text;
}

to::Status Run() {
  TUNEONCE_ASSIGN_OR_RETURN(to::Device device, to::OpenDevice(to::OpenDevice("cuda").ok() ? "cuda" : "cpu"));
  TUNEONCE_ASSIGN_OR_RETURN(to::Context context, to::Context::RetainPrimary(device));
  const to::ScopedContext current(context.view());
  TUNEONCE_ASSIGN_OR_RETURN(to::Stream stream, to::Stream::Create(device.api()));
  to::SearchSpace space;
  const to::IntAxis tile = space.AddAxis("TILE", {256, 1024, 4096});
  space.SetBaseline({{tile, 256}});
  to::KernelDefinition twice("twice");
  twice.Parameters({to::InOut("y", to::kFloat32, {"N"}), to::DimValue("N")});
  twice.Space(space).Grid(to::Grid::OneD({"N", tile}));
  twice.AddVariant(to::CudaCpp(kCudaSource, "twice").Block(128)).AddVariant(to::CpuCpp(kCpuSource, "twice"));
  TUNEONCE_ASSIGN_OR_RETURN(to::TunedKernel kernel, to::TunedKernel::Create(twice));
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {{{"N", 1000}}}));
  std::printf("%s", Metrics().c_str());
  return to::Runtime::Default()->Kernels().size() == 1 ? to::Status() : to::InternalError("'twice' is not listed");
}

int main() {
  const to::Status status = Run();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
