#ifndef TUNEONCE_BENCHMARKS_KEY_SHARING_WORKLOADS_H_
#define TUNEONCE_BENCHMARKS_KEY_SHARING_WORKLOADS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device_benchmark.h"
#include "model.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

// The warm-ups of key_sharing.cc and key_sharing_mpi.cc.
namespace tuneonce {

inline constexpr int kKeys = 30;

/// Sleeps for 5 to 10 ms, depending on the config, so that the CPU time of searches does not matter. From N = 2000 on,
/// every key that has its bit in a random constant sleeps four times as long, which no estimate knows.
inline constexpr char kSleepSource[] = R"(
#include <time.h>
static void scale(const tuneonce_block& block, const float* x, float* y, float factor, int n) {
  if (block.x == 0) {
    const bool is_slow = n >= 2000 && (0x1a324602u >> (n - 2000) & 1) != 0;
    const timespec time = {0, (5000000L + BLOCK * 5000L) * (is_slow ? 4 : 1)};
    nanosleep(&time, nullptr);
  }
  const int begin = block.x * BLOCK, end = begin + BLOCK < n ? begin + BLOCK : n;
  for (int i = begin; i < end; ++i) y[i] = x[i] * factor;
}
TUNEONCE_CPU_KERNEL(scale);)";

inline KernelDefinition Sleep() {
  SearchSpace space;
  const IntAxis block = space.AddAxis("BLOCK", {64, 128, 256, 512, 1024});
  space.SetBaseline({{block, 256}});
  KernelDefinition definition("scale");
  definition
      .Parameters(
          {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
      .Space(space)
      .Grid(Grid::OneD({"N", block}))
      .AddVariant(CpuCpp(kSleepSource, "scale"));
  return definition;
}

/// One rank's part of a workload: made before the clock starts, then run.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Status WarmUp(CUstream stream) = 0;
  virtual std::vector<TunedKernel*> Kernels() = 0;
};

class OneKernel final : public Workload {
 public:
  OneKernel(TunedKernel kernel, std::vector<TunedKernel::Shape> shapes)
      : kernel_(std::move(kernel)), shapes_(std::move(shapes)) {}
  Status WarmUp(CUstream stream) override { return WarmupAll(stream, {{&kernel_, shapes_}}).status(); }
  std::vector<TunedKernel*> Kernels() override { return {&kernel_}; }

 private:
  TunedKernel kernel_;
  const std::vector<TunedKernel::Shape> shapes_;
};

class LanguageModel final : public Workload {
 public:
  explicit LanguageModel(llm::Model model) : model_(std::move(model)) {}
  Status WarmUp(CUstream stream) override { return model_.WarmUpAndFreeze(stream); }
  std::vector<TunedKernel*> Kernels() override { return model_.kernels().All(); }

 private:
  llm::Model model_;
};

inline std::unique_ptr<Workload> MakeSleepFrom(int first, const AutotunePolicy& policy) {
  std::vector<TunedKernel::Shape> shapes;
  for (int i = 1; i <= kKeys; ++i) shapes.push_back({{"N", first + i}});
  return std::make_unique<OneKernel>(OrDie(TunedKernel::Create(Sleep(), policy)), std::move(shapes));
}
inline std::unique_ptr<Workload> MakeSleep(const AutotunePolicy& policy, StreamView /*stream*/) {
  return MakeSleepFrom(1000, policy);
}
inline std::unique_ptr<Workload> MakeUneven(const AutotunePolicy& policy, StreamView /*stream*/) {
  return MakeSleepFrom(2000, policy);
}

inline std::unique_ptr<Workload> MakeMatmul(const AutotunePolicy& policy, StreamView /*stream*/) {
  std::vector<TunedKernel::Shape> shapes;
  for (std::int64_t m : {16, 64, 256, 1024, 4096}) {
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{4096, 4096},
                               {6144, 4096},
                               {1024, 4096},
                               {4096, 11008},
                               {11008, 4096},
                               {2048, 2048}}) {
      shapes.push_back({{"M", m}, {"N", n}, {"K", k}});
    }
  }
  return std::make_unique<OneKernel>(OrDie(TunedKernel::FromBundle("matmul", policy)), std::move(shapes));
}

inline std::unique_ptr<Workload> MakeModel(const AutotunePolicy& policy, StreamView stream) {
  // About 0.5e9 parameters on a GPU, as docs/examples/llm's size "small".
  const bool is_small = device_name != "cpu";
  const llm::ModelShape shape = is_small ? llm::ModelShape::Small() : llm::ModelShape();
  llm::Buckets buckets = {{16, 64}, {1, 2, 4}};
  if (is_small) buckets = {{256, 2048}, {1, 4, 16}};
  llm::Kernels kernels = OrDie(
      llm::Kernels::Make([&](const EmbeddedBundle& embedded) { return TunedKernel::FromBundle(embedded, policy); }));
  return std::make_unique<LanguageModel>(OrDie(llm::Model::Make(stream, std::move(kernels), shape, buckets)));
}

using MakeWorkload = std::unique_ptr<Workload> (*)(const AutotunePolicy& policy, StreamView stream);

/// Returns the selected config of each key in a store, by kernel and key.
inline std::map<std::string, std::string> SelectedIn(const RecordStore& store) {
  std::map<std::string, std::string> selected;
  for (const TuningRecord& record : OrDie(store.List())) {
    selected.emplace(record.key.kernel + record.key.key_text, record.best.config.ToString() + record.best.variant);
  }
  return selected;
}

}  // namespace tuneonce

#endif  // TUNEONCE_BENCHMARKS_KEY_SHARING_WORKLOADS_H_
